/// The purpose for which an Apple device gave out a token.
///
/// An app asks its device for each separately, and APNs takes no push of one use for a token of another. So each is a
/// type of platform, whose devices are tokens of that use. See
/// docs/decisions/0008-a-platform-for-each-use-of-a-token.md.
package enum AppleTokenUse: String, Sendable, Hashable, CaseIterable {
    /// Notifications and background updates of the app.
    case app
    /// Incoming calls, by PushKit.
    case voip
    case complication
    case fileProvider = "fileprovider"
    case location
    case mdm
    /// Updates and the end of one Live Activity.
    case liveActivity = "liveactivity"
    /// The start of Live Activities of one sort.
    case liveActivityStart = "liveactivity-start"
    case pushToTalk = "pushtotalk"
    case widgets
    case controls
    /// Not a device: a broadcast channel, which the devices themselves subscribed to. Its token is the channel's id.
    case broadcast
}
