package import FoundationEssentials

/// An account on a softphone, and the device by which it is reached with one app id. Back ends name it when they send.
package struct AcrobitsRegistration: Sendable, Hashable {
    package let applicationKey: Key<Application>
    package let appID: String
    /// The account on a device, as the softphone names it.
    package let selector: String
    /// As it was received: back ends send it back.
    package let token: String
    package let platformKey: Key<Platform>
    package let device: UUID
    package let account: String?
    package let seenAt: Instant

    /// Source: the schema of SIPIS has 64; with room to spare.
    package static let selectorBytesMax = 255
    /// The most selectors of one device: those seen last are kept.
    package static let perDevice = 64

    package init(
        applicationKey: Key<Application>, appID: String, selector: String, token: String, platformKey: Key<Platform>,
        device: UUID, account: String?, seenAt: Instant = .zero
    ) {
        self.applicationKey = applicationKey
        self.appID = appID
        self.selector = selector
        self.token = token
        self.platformKey = platformKey
        self.device = device
        self.account = account
        self.seenAt = seenAt
    }
}
