/// Who gets a push: an expression over posting lists, walked platform by platform.
package indirect enum Audience: Sendable, Hashable {
    case list(PostingList)
    /// Devices in at least one; nobody when empty.
    case any([Audience])
    /// Devices in every one. Never empty.
    case all([Audience])
    /// Devices of the first that are not in the second.
    case except(Audience, Audience)
}

/// An ascending list of the devices of one platform that have something in common.
package enum PostingList: Sendable, Hashable {
    /// All active devices.
    case active
    /// Active devices whose system shows notifications with buttons.
    case interactive
    /// All devices ever registered, dead ones too: those get an answer instead of silence.
    case registered
    /// Active devices subscribed to a topic, by its lower-case name.
    case topic(String)
    /// Active devices of one custom user id, with case.
    case customUser(String)
    /// These, in ascending order. Those of other platforms are not in the list.
    case devices([Key<Device>])
}

extension Audience: Codable {}
extension PostingList: Codable {}
