package import FoundationEssentials

/// An accepted push request: content, audience, times.
package struct Push: Sendable, Hashable {
    package let head: PushHead
    package let content: Content
    package let audience: Audience
    /// The types of platform that its target named; nil for every type.
    package let platforms: [PlatformKind]?
    /// The types of platform that refuse it for its size, for the answer to its sender; not stored.
    package var tooLarge: [InvalidInput] = []

    /// The content of a push: text, and parts for single platforms.
    package struct Content: Sendable, Hashable {
        /// The text for every platform that has none of its own.
        package let body: String?
        /// Fields that every platform shows in its own way beside the text.
        package let shared: SharedFields
        /// The sender's parts for single platforms, by the sender's key: `ios`, `android`, `windows8`, ...
        package let custom: JSONObject
        /// The part for Apple's devices, in Apple's format; it replaces the one in `custom`.
        package let apple: ApplePush?
        /// The part for browsers; it replaces the one in `custom`.
        package let web: WebMessage?
        /// The change to the number on the app's icon, where no part for a platform has one.
        package let badge: BadgeChange?
        /// Whether its texts have placeholders, which are filled for each device; see `Placeholder`. Without it, braces are braces.
        package let isTemplate: Bool

        package init(
            body: String?, shared: SharedFields = SharedFields(), custom: JSONObject = [:],
            apple: ApplePush? = nil, web: WebMessage? = nil, badge: BadgeChange? = nil, isTemplate: Bool = false
        ) {
            self.body = body
            self.shared = shared
            self.custom = custom
            self.apple = apple
            self.web = web
            self.badge = badge
            self.isTemplate = isTemplate
        }

        /// Whether no device would get anything.
        package var isEmpty: Bool {
            body == nil && !shared.isMessage && custom.isEmpty && apple == nil && web == nil && badge == nil
        }
    }

    /// The treatment of a device when it is unknown whether it was notified.
    package enum Guarantee: Int64, Sendable, Hashable {
        /// It is notified again, with the same message id and collapse key.
        case atLeastOnce = 0
        /// It is not notified again; its answer is `unknown`.
        case atMostOnce = 1
    }

    package init(_ head: PushHead, content: Content, audience: Audience, platforms: [PlatformKind]? = nil) {
        self.head = head
        self.content = content
        self.audience = audience
        self.platforms = platforms
    }

    package init(
        key: Key<Push>, receiptID: UUID, applicationKey: Key<Application>, content: Content, audience: Audience,
        platforms: [PlatformKind]? = nil, lane: Lane, guarantee: Guarantee, acceptedAt: Instant, expiresAt: Instant?
    ) {
        self.init(
            PushHead(
                key: key, receiptID: receiptID, applicationKey: applicationKey, lane: lane, guarantee: guarantee,
                acceptedAt: acceptedAt, expiresAt: expiresAt),
            content: content, audience: audience, platforms: platforms)
    }

    package var key: Key<Push> { head.key }
    package var receiptID: UUID { head.receiptID }
    package var applicationKey: Key<Application> { head.applicationKey }
    package var lane: Lane { head.lane }
    package var guarantee: Guarantee { head.guarantee }
    package var acceptedAt: Instant { head.acceptedAt }
    package var expiresAt: Instant? { head.expiresAt }
}

/// A push without its content and audience, for receipts. It can be read even when those are damaged.
package struct PushHead: Sendable, Hashable {
    package let key: Key<Push>
    /// The id of the push's receipt.
    package let receiptID: UUID
    package let applicationKey: Key<Application>
    package let lane: Lane
    package let guarantee: Push.Guarantee
    package let acceptedAt: Instant
    /// After this time no device is notified; nil leaves expiry to the provider.
    package let expiresAt: Instant?

    package init(
        key: Key<Push>, receiptID: UUID, applicationKey: Key<Application>, lane: Lane, guarantee: Push.Guarantee,
        acceptedAt: Instant, expiresAt: Instant?
    ) {
        self.key = key
        self.receiptID = receiptID
        self.applicationKey = applicationKey
        self.lane = lane
        self.guarantee = guarantee
        self.acceptedAt = acceptedAt
        self.expiresAt = expiresAt
    }
}

/// The urgency of a push. A lane's batches go before those of all lanes after it.
package enum Lane: Int64, Sendable, Hashable, CaseIterable, Comparable, Codable {
    case urgent = 0
    case normal = 1
    case bulk = 2

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A push before it is accepted. It is validated completely, so that nothing downstream validates again.
package struct NewPush: Sendable, Hashable {
    package let receiptID: UUID
    package let applicationKey: Key<Application>
    package let content: Push.Content
    package let audience: Audience
    /// The platforms whose devices the audience is looked up on.
    package let platformKeys: [Key<Platform>]
    /// The types of platform that its target named; nil for every type.
    package let platforms: [PlatformKind]?
    package let lane: Lane
    package let guarantee: Push.Guarantee
    package let expiresAt: Instant?
    /// The devices of the audience, where few were named and they were looked up already; nil if they are still to be found.
    package let devices: DevicesByPlatform?
    /// The devices of its target that no platform has.
    package let unknownDevices: UnknownDevices
    /// The devices of the audience that the acceptance has yet to look up. Empty for any other push.
    package let named: [UUID]
    /// The content as it is stored.
    package let storedContent: String
    /// The types of platform that refuse it for its size.
    package let tooLarge: [InvalidInput]

    /// The most devices that are looked up with the acceptance, since other pushes wait meanwhile. Fewer than make a push less urgent.
    package static let namedMax = 16

    package init(
        receiptID: UUID, applicationKey: Key<Application>, content: Push.Content, audience: Audience,
        platformKeys: [Key<Platform>], platforms: [PlatformKind]? = nil, lane: Lane,
        guarantee: Push.Guarantee = .atLeastOnce, expiresAt: Instant? = nil, devices: DevicesByPlatform? = nil,
        unknownDevices: UnknownDevices = UnknownDevices(), named: [UUID] = [], storedContent: String? = nil,
        tooLarge: [InvalidInput] = []
    ) {
        self.receiptID = receiptID
        self.applicationKey = applicationKey
        self.content = content
        self.audience = audience
        self.platformKeys = platformKeys
        self.platforms = platforms
        self.lane = lane
        self.guarantee = guarantee
        self.expiresAt = expiresAt
        self.devices = devices
        self.unknownDevices = unknownDevices
        self.named = named
        self.storedContent = storedContent ?? content.storedText
        self.tooLarge = tooLarge
    }

    /// The push after its named devices were looked up.
    package func finding(_ devices: DevicesByPlatform, unknown: UnknownDevices) -> NewPush {
        NewPush(
            receiptID: receiptID, applicationKey: applicationKey, content: content,
            audience: .devices(devices.values.joined()), platformKeys: platformKeys, platforms: platforms, lane: lane,
            guarantee: guarantee, expiresAt: expiresAt, devices: devices, unknownDevices: unknown,
            storedContent: storedContent)
    }
}

/// Devices by their platform, ascending on each.
package typealias DevicesByPlatform = [Key<Platform>: [Key<Device>]]

extension DevicesByPlatform {
    /// Whether the devices of each platform fit into one batch.
    package var isShort: Bool { values.allSatisfy { $0.count <= Batch.devicesMax } }
}
