package import FoundationEssentials
import KeyFiles

/// An address of an application's owner to which its events are posted.
package struct Webhook: Sendable, Hashable {
    package let key: Key<Webhook>
    package let uuid: UUID
    package let applicationKey: Key<Application>
    package let name: String
    package let url: String
    package let kinds: WebhookKinds
    let secrets: Sealed
    /// Until when the former secret signs as well.
    package let formerUntil: Instant?
    /// Events up to it were delivered, or wait for a retry.
    let position: Int64
    package let paused: Pause?
    /// When its receiver began to fail, if it took nothing since.
    package let failingSince: Instant?
    /// The next attempt; nil where nothing is to be sent.
    package let dueAt: Instant?
    let lease: Int64
    /// Events that it never got, because they were too old or too many; those of other kinds count.
    package let dropped: Int64
    package let createdAt: Instant
    /// Events that it has not been offered yet, those of other kinds included.
    package let pending: Int64
    /// Events that were refused, or follow one that was.
    package let retries: Int

    /// Why nothing is sent.
    package enum Pause: String, Sendable, Hashable, CaseIterable {
        /// A person has asked for it.
        case asked
        /// Its receiver took nothing for three days.
        case failing
        /// Its receiver answered 410 Gone.
        case gone
    }

    package static let perApplicationMax = 20
    package static let nameMax = 100
    package static let urlMax = 2_048
    /// How long the former secret signs beside a new one, unless its owner says otherwise.
    package static let overlap = Duration.seconds(86_400)
    package static let overlapMax = Duration.seconds(7 * 86_400)
}

/// A new webhook as its owner writes it, or a change of one: nil leaves a field as it is.
package struct WebhookEdit: Sendable {
    package var name: String?
    package var url: String?
    package var kinds: WebhookKinds?

    /// The edit with its name as it is stored. Operators may name addresses without TLS.
    func checked(by author: AuditAuthor) throws(InvalidInput) -> WebhookEdit {
        var edit = self
        edit.name = try name?.asName(field: "name", bytesMax: Webhook.nameMax)
        if let kinds, kinds.isEmpty { throw InvalidInput(field: "kinds", "is empty") }
        guard let url else { return edit }
        let schemes = author.credentials == .operator ? ["https", "http"] : ["https"]
        guard url.utf8.count <= Webhook.urlMax, url.utf8.allSatisfy({ 0x21...0x7E ~= $0 }),
            let parts = URL(string: url), schemes.contains(parts.scheme?.lowercased() ?? ""),
            parts.host()?.isEmpty == false, parts.user() == nil, 1...65_535 ~= parts.port ?? 443
        else {
            throw InvalidInput(
                field: "url", "has to begin with https://, name a host, and have at most \(Webhook.urlMax) bytes")
        }
        return edit
    }
}

/// The secret by which a receiver knows that a message is ours. Source: standardwebhooks.com, "Symmetric signature scheme".
package struct WebhookSecret: Sendable, Hashable {
    /// `whsec_` with Base64 behind it.
    package let text: String

    private static let prefix = "whsec_"
    private static let bytes = 24...64

    /// A random one.
    package init() { text = Self.prefix + Data([UInt8].random(count: 32)).base64EncodedString() }

    package init(_ text: String, field: String) throws(InvalidInput) {
        guard text.hasPrefix(Self.prefix), let key = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))),
            Self.bytes.contains(key.count)
        else {
            throw InvalidInput(
                field: field,
                "has to be whsec_ with the Base64 of \(Self.bytes.lowerBound) to \(Self.bytes.upperBound) bytes behind it"
            )
        }
        self.text = text
    }
}

/// One attempt to deliver a message.
package struct WebhookAttempt: Sendable, Hashable {
    package let key: Key<WebhookAttempt>
    /// nil for a test.
    package let event: Key<WebhookEvent>?
    /// The type of the message.
    package let type: String
    /// From 1.
    package let number: Int
    package let at: Instant
    package let answer: ReceiverAnswer

    package static let lifetime = Duration.seconds(86_400)
    /// The most attempts of a webhook that are kept.
    package static let keptMax = 1_000
}

/// The answer of a receiver, or the reason why there was none.
package struct ReceiverAnswer: Sendable, Hashable {
    package let status: Int?
    /// Why there is no status; nil where there is one.
    package let fault: String?
    package let milliseconds: Int
    /// The beginning of the answer's body.
    package let body: String
    package let retryAfter: Duration?

    package var isDelivered: Bool { status.map { 200..<300 ~= $0 } ?? false }
    package var isGone: Bool { status == 410 }

    package static let bodyBytesMax = 1_024
    /// For connecting and the answer.
    package static let deadline = Duration.seconds(15)

    package init(
        status: Int?, fault: String? = nil, milliseconds: Int, body: String = "", retryAfter: Duration? = nil
    ) {
        self.status = status
        self.fault = fault
        self.milliseconds = milliseconds
        self.body = body
        self.retryAfter = retryAfter
    }
}

/// A message to a receiver.
package struct WebhookMessage: Sendable {
    package let url: String
    /// The receiver knows repetitions by it.
    package let id: String
    package let body: String
    /// Each signs.
    package let secrets: [String]
    package let sentAt: Instant
}

/// Posts messages: connects to public addresses alone, and to those that the operator allows.
package protocol WebhookPoster: Sendable {
    /// Never throws, and returns within `ReceiverAnswer.deadline`.
    func post(_ message: WebhookMessage) async -> ReceiverAnswer
}

/// For processes that send nothing.
package struct NoWebhookPoster: WebhookPoster {
    package init() {}

    package func post(_ message: WebhookMessage) async -> ReceiverAnswer {
        ReceiverAnswer(status: nil, fault: "this process sends no messages", milliseconds: 0)
    }
}

/// A page of the feed.
package struct WebhookFeedPage: Sendable {
    /// Events between the caller's position and the first of the page, which are no longer kept.
    package let dropped: Int64
    package let events: [WebhookEvent]
    /// The position to ask after next.
    package let next: Int64

    package static let limitMax = 1_000
    package static let waitMax = Duration.seconds(30)
}
