package import FoundationEssentials

/// What a back end posted: content, audience, times.
package struct Push: Sendable, Hashable {
    package let head: PushHead
    package let content: Content
    package let audience: Audience
    /// The kinds of platform that its target named; nil for every kind.
    package let platforms: [PlatformKind]?

    /// The words of a push, and each platform's own.
    package struct Content: Sendable, Hashable {
        /// The text for every platform that has none of its own.
        package let body: String?
        /// What the sender wrote for a platform, by the sender's key: `ios`, `android`, `windows8`, ...
        package let custom: [String: JSONValue]
        /// What Apple's devices get, in Apple's own words, instead of what `custom` says for them.
        package let apple: ApplePush?

        package init(body: String?, custom: [String: JSONValue] = [:], apple: ApplePush? = nil) {
            self.body = body
            self.custom = custom
            self.apple = apple
        }
    }

    /// What happens to a device of whom it is not known whether it was told.
    package enum Guarantee: Int64, Sendable, Hashable {
        /// It is told again, with the same message id and collapse key.
        case atLeastOnce = 0
        /// It is not told again; its answer is `unknown`.
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

/// A push without its content and audience: what its receipt tells of it. It can be read where those are damaged.
package struct PushHead: Sendable, Hashable {
    package let key: Key<Push>
    /// How the caller follows the push.
    package let receiptID: UUID
    package let applicationKey: Key<Application>
    package let lane: Lane
    package let guarantee: Push.Guarantee
    package let acceptedAt: Instant
    /// From then on no device is told any more; nil leaves it to the provider.
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

/// An order of urgency. A lane's batches go before those of all lanes after it.
package enum Lane: Int64, Sendable, Hashable, CaseIterable, Comparable, Codable {
    case urgent = 0
    case normal = 1
    case bulk = 2

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A push before it is accepted. What it holds is checked, so that nothing downstream checks again.
package struct NewPush: Sendable, Hashable {
    package let receiptID: UUID
    package let applicationKey: Key<Application>
    package let content: Push.Content
    package let audience: Audience
    /// The platforms whose devices the audience is looked for in.
    package let platformKeys: [Key<Platform>]
    /// The kinds of platform that its target named; nil for every kind.
    package let platforms: [PlatformKind]?
    package let lane: Lane
    package let guarantee: Push.Guarantee
    package let expiresAt: Instant?

    package init(
        receiptID: UUID, applicationKey: Key<Application>, content: Push.Content, audience: Audience,
        platformKeys: [Key<Platform>], platforms: [PlatformKind]? = nil, lane: Lane,
        guarantee: Push.Guarantee = .atLeastOnce, expiresAt: Instant? = nil
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
    }
}
