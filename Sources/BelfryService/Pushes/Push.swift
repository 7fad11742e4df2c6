package import FoundationEssentials
import Synchronization

/// An accepted push request: content, audience, times.
package struct Push: Sendable, Hashable {
    package let head: PushHead
    package var content: Content {
        get { shared.value }
        set { shared = Shared(newValue) }
    }
    private var shared: Shared<Content>
    package let audience: Audience
    /// The types of platform that its target named; nil for every type.
    package let platforms: [PlatformKind]?
    /// The types of platform that refuse it for its size, for the answer to its sender; not stored.
    package var tooLarge: [InvalidInput] = []

    /// The content of a push: text, and parts for single platforms.
    package struct Content: Sendable, Hashable {
        /// The text for every platform that has none of its own.
        package var body: String?
        /// Fields that every platform shows in its own way beside the text.
        package var shared: SharedFields
        /// The sender's parts for single platforms, by the sender's key: `ios`, `android`, `windows8`, ...
        package var custom: JSONObject
        /// The part for Apple's devices, in Apple's format; it replaces the one in `custom`.
        package var apple: ApplePush?
        /// The part for browsers; it replaces the one in `custom`.
        package var web: WebMessage?
        /// The change to the number on the app's icon, where no part for a platform has one.
        package var badge: BadgeChange?
        /// Whether its texts have placeholders, which are filled for each device; see `Placeholder`. Without it, braces are braces.
        package var isTemplate: Bool
        private var rare: Shared<Rare>?

        /// The fields that most contents lack.
        private struct Rare: Sendable, Hashable {
            var translations = Translations()
            var pacing = Pacing()
            var language: String?
            var template: TemplateReference?
            var values: [String: UserAttribute] = [:]
            var follows: FollowedPush?
            var ciphertext: Ciphertext?
            var encrypted: EncryptedContent?
        }

        private mutating func changeRare(_ change: (inout Rare) -> Void) {
            var fields = rare?.value ?? Rare()
            change(&fields)
            rare = fields == Rare() ? nil : Shared(fields)
        }

        package var translations: Translations {
            get { rare?.value.translations ?? Translations() }
            set { changeRare { $0.translations = newValue } }
        }

        package var pacing: Pacing {
            get { rare?.value.pacing ?? Pacing() }
            set { changeRare { $0.pacing = newValue } }
        }

        /// The language of its own texts, for the forms of their placeholders.
        package var language: String? {
            get { rare?.value.language }
            set { changeRare { $0.language = newValue } }
        }

        /// The saved template that a schedule takes as it sends; nil for a message that is whole. See `over`.
        package var template: TemplateReference? {
            get { rare?.value.template }
            set { changeRare { $0.template = newValue } }
        }

        /// The values of its placeholders that are the same for all devices.
        package var values: [String: UserAttribute] {
            get { rare?.value.values ?? [:] }
            set { changeRare { $0.values = newValue } }
        }

        /// The push that it updates or retracts; nil for most.
        package var follows: FollowedPush? {
            get { rare?.value.follows }
            set { changeRare { $0.follows = newValue } }
        }

        /// A message that one browser alone can read, in the place of all else; nil for most.
        package var ciphertext: Ciphertext? {
            get { rare?.value.ciphertext }
            set { changeRare { $0.ciphertext = newValue } }
        }

        /// The message where its sender encrypted it for each device; nil for most.
        package var encrypted: EncryptedContent? {
            get { rare?.value.encrypted }
            set { changeRare { $0.encrypted = newValue } }
        }

        package init(
            body: String? = nil, shared: SharedFields = SharedFields(), custom: JSONObject = [:],
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
                && encrypted == nil
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
        self.shared = Shared(content)
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

/// A value of many references, which each of its copies would retain: the copies share it.
private final class Shared<Value: Sendable & Hashable>: Sendable, Hashable {
    let value: Value

    init(_ value: Value) { self.value = value }

    static func == (one: Shared, other: Shared) -> Bool { one === other || one.value == other.value }

    func hash(into hasher: inout Hasher) { hasher.combine(value) }
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
}

/// The pushes used last. A push never changes once it is accepted, and its content is expensive to decode.
///
/// A database that lost its last commits, such as a standby that took over, gives their keys again: the receipt id tells pushes apart.
package final class PushCache: Sendable {
    private let pushes = Mutex(BoundedCache<Key<Push>, Push>(countMax: bytesMax))

    /// The limit on their stored forms: some ten thousand small pushes, or the last thirty of the largest.
    private static let bytesMax = 8 << 20

    /// nil when there is no such push.
    func push(_ key: Key<Push>, in db: some SQLConnection) throws -> Push? {
        if let push = pushes.withLock({ $0.value(for: key) }) {
            guard let receipt = try db.prepared(PushStatements.receiptOf).first(key, as: { $0.uuid(0) }) else {
                return nil
            }
            if receipt == push.receiptID { return push }
        }
        return try db.prepared(PushStatements.byKey).first(key) { row in
            let push = try Push(row)
            keep(push, bytes: row.pushBytes)
            return push
        }
    }

    /// The push of each batch, in order. It stops, after one at least, when those that it read have so many bytes that no
    /// more are to be held at once.
    func pushes(of batches: [Batch], in db: some SQLConnection) throws -> [PushLoading] {
        let known = pushes.withLock { pushes in batches.map { pushes.value(for: $0.pushKey) } }
        return try db.pushes(batches.map(\.pushKey), known: known) { keep($0, bytes: $1) }
    }

    /// - Parameter bytes: how long it is as it is stored.
    func keep(_ push: Push, bytes: Int) {
        pushes.withLock { $0.set(push, for: push.key, weight: bytes) }
    }

    /// Called where a push was rolled back and its key may be assigned to another.
    func clear() { pushes.withLock { $0 = BoundedCache(countMax: Self.bytesMax) } }
}

extension SQLRow {
    /// How long a push is as it is stored, from the columns of `PushStatements.byKey`.
    var pushBytes: Int { withBlob(7) { $0.count } + withBlob(8) { $0.count } }
}

extension Push {
    /// From the columns of `PushStatements.byKey`.
    init(_ row: some SQLRow) throws {
        let head = try PushHead(row)
        self = try StoreError.reading("push \(head.key)") {
            Push(
                head, content: try Content(stored: row.blob(7)), audience: try Audience(stored: row.blob(8)),
                platforms: try row.textIfAny(9).map { try [PlatformKind](stored: $0) })
        }
    }
}

extension PushHead {
    /// From the first columns of `PushStatements.byKey`, which `headByReceipt` has as well.
    init(_ row: some SQLRow) throws {
        guard
            let receiptID = row.uuid(1),
            let lane = Lane(rawValue: row.integer(3)),
            let guarantee = Push.Guarantee(rawValue: row.integer(4))
        else { throw StoreError.damaged("push \(row.integer(0))") }
        self.init(
            key: Key(row.integer(0)), receiptID: receiptID, applicationKey: Key(row.integer(2)), lane: lane,
            guarantee: guarantee, acceptedAt: Instant(milliseconds: row.integer(5)),
            expiresAt: row.integerIfAny(6).map(Instant.init(milliseconds:)))
    }
}

/// The urgency of a push. A lane's batches go before those of all lanes after it.
package enum Lane: Int64, Sendable, Hashable, CaseIterable, Comparable, Codable {
    case urgent = 0
    case normal = 1
    case bulk = 2

    package var word: String { "\(self)" }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
