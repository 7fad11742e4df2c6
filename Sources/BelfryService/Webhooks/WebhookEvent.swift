package import FoundationEssentials

/// Something that happened in an application, for the systems beside it: for webhooks and for the feed.
///
/// It is written in the transaction of what it tells of, and numbered afterwards.
package struct WebhookEvent: Sendable, Hashable {
    package let key: Key<WebhookEvent>
    package let applicationKey: Key<Application>
    package let kind: Kind
    /// The thing that it is about, by the id that callers know. Events of one subject are delivered in order.
    package let subject: String
    /// A JSON object, without the application.
    package let data: String
    package let createdAt: Instant
    /// Its place among the events of the application, from 1, without gaps. Receivers and the feed go by it.
    package let position: Int64

    /// The order is stored: see `bit`.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case pushSettled = "push.settled"
        case pushReceived = "push.received"
        case pushOpened = "push.opened"
        case deviceRegistered = "device.registered"
        case deviceGone = "device.gone"
        case userCreated = "user.created"
        case userChanged = "user.changed"
        case userDeleted = "user.deleted"
        case platformParked = "platform.parked"
        case platformResumed = "platform.resumed"
        case credentialsExpiring = "credentials.expiring"
        case importFinished = "import.finished"
        case campaignStarted = "campaign.started"
        case campaignFinished = "campaign.finished"
    }

    /// Events are kept for so long; see docs/Webhooks.md.
    package static let lifetime = Duration.seconds(3 * 86_400)
    /// The most devices of an event that lists them.
    static let devicesMax = 100
    /// The id by which receivers know repetitions.
    package var id: String { Self.id(key) }

    private static let idPrefix = "evt_"

    package static func id(_ key: Key<WebhookEvent>) -> String { "\(idPrefix)\(key)" }

    package static func key(_ id: String) -> Key<WebhookEvent>? {
        guard id.hasPrefix(idPrefix) else { return nil }
        return Int64(id.dropFirst(idPrefix.count)).map { Key($0) }
    }

    /// The body that is posted, and an element of the feed without its id.
    package func message(of application: UUID) -> String {
        Self.message(kind.rawValue, at: createdAt, of: application, data: data)
    }

    /// - Parameter data: a JSON object.
    static func message(_ type: String, at time: Instant, of application: UUID, data: String = "{}") -> String {
        let members = data.dropFirst()
        let comma = members == "}" ? "" : ","
        return #"{"type":"\#(type)","timestamp":"\#(time.text)","data":{"application":"\#(application.lowercased)""#
            + "\(comma)\(members)}"
    }
}

/// Kinds of events, as the store has them.
package typealias WebhookKinds = Set<WebhookEvent.Kind>

extension WebhookEvent.Kind {
    /// The number of a kind never changes.
    private static let bits = Dictionary(
        uniqueKeysWithValues: allCases.enumerated().map { ($1, Int64(1) << Int64($0)) })

    fileprivate var bit: Int64 { Self.bits[self] ?? 0 }
}

extension WebhookKinds {
    init(bits: Int64) { self = Set(WebhookEvent.Kind.allCases.filter { $0.bit & bits != 0 }) }

    var bits: Int64 { reduce(0) { $0 | $1.bit } }

    /// In the order of their declaration.
    package var names: [String] { WebhookEvent.Kind.allCases.filter(contains).map(\.rawValue) }

    /// Names as callers give them; `*` stands for all.
    package init(_ names: [String], field: String) throws(InvalidInput) {
        self = []
        for name in names {
            if name == "*" {
                formUnion(WebhookEvent.Kind.allCases)
            } else if let kind = WebhookEvent.Kind(rawValue: name) {
                insert(kind)
            } else {
                throw .choice(field, name, of: WebhookEvent.Kind.allCases.map(\.rawValue) + ["*"])
            }
        }
    }
}
