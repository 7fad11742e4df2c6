import FoundationEssentials
import HTTP2Client
import MessageEncryption
import NIOCore
import NIOHTTP1
import NIOPosix
public import NIOSSL
public import Outbound

/// Sends messages to browsers through the push service that each of them named.
///
/// Source: RFC 8030, RFC 8291, RFC 8292.
public struct WebPushClient: Sendable {
    public struct Configuration: Sendable {
        /// A service that gives no answer for so long holds the others of a batch up no longer.
        public var silenceLimit = Outbound.silenceLimit
        /// Instead of the standard, for simulators.
        public var tls: TLSConfiguration?
        /// Unix seconds.
        public var now: @Sendable () -> Int64 = { Outbound.now() }

        public init() {}
    }

    private let outbound: Outbound
    private let vapid: VAPID
    private let configuration: Configuration

    /// - Parameter outbound: with an `AddressGuard`: subscriptions name any host they like.
    public init(_ outbound: Outbound, vapid: VAPID, configuration: Configuration = Configuration()) {
        self.outbound = outbound
        self.vapid = vapid
        self.configuration = configuration
    }

    /// Answers in the order of the subscriptions. Never throws and always returns by its deadline.
    public func send(
        _ message: WebPushMessage, to subscriptions: [WebPushSubscription], urgent: Bool = false,
        within deadline: Duration
    ) async -> [WebPushAnswer] {
        await send(message, to: subscriptions, payloads: nil, urgent: urgent, within: deadline)
    }

    /// - Parameter payloads: one for each subscription, in the place of the message's own.
    package func send(
        _ message: WebPushMessage, to subscriptions: [WebPushSubscription], payloads: [[UInt8]]?, urgent: Bool,
        within deadline: Duration
    ) async -> [WebPushAnswer] {
        let lapsesAt = ContinuousClock.now + deadline
        let parts = Outbound.parts(of: subscriptions, count: WebPushSealer.partSize)
        guard parts.count > 1 else {
            return await send(message, to: parts.first ?? [], payloads, urgent, until: lapsesAt)
        }
        return await withTaskGroup(of: (Int, [WebPushAnswer]).self) { group in
            for (number, part) in parts.enumerated() {
                group.addTask { (number, await send(message, to: part, payloads, urgent, until: lapsesAt)) }
            }
            var answers = Array(repeating: [WebPushAnswer](), count: parts.count)
            for await (number, own) in group { answers[number] = own }
            return answers.flatMap(\.self)
        }
    }

    private func send(
        _ message: WebPushMessage, to subscriptions: ArraySlice<WebPushSubscription>, _ payloads: [[UInt8]]?,
        _ urgent: Bool, until lapsesAt: ContinuousClock.Instant
    ) async -> [WebPushAnswer] {
        let (vapid, now, tls) = (vapid, configuration.now(), configuration.tls)
        let made = await WebPushSealer.run {
            try? WebPushRequests(message, to: subscriptions, payloads: payloads, tls: tls, signedBy: vapid, now: now)
        }
        guard let requests = made ?? nil else { return subscriptions.map { _ in .unprocessed(.notSigned) } }
        var answers = Array(repeating: WebPushAnswer.unusableKey, count: subscriptions.count)
        var found = await post(requests, urgent, until: lapsesAt)
        // A token that is stale by the service's clock is made anew, once.
        if let again = try? requests.renewed(after: found, by: vapid, now: now) {
            let later = await post(again, urgent, until: lapsesAt)
            for place in again.batch.parts.flatMap(\.places) { found[place] = later[place] }
        }
        requests.tell(found, to: &answers)
        return answers
    }

    private func post(
        _ requests: WebPushRequests, _ urgent: Bool, until lapsesAt: ContinuousClock.Instant
    ) async -> [OutboundAnswer] {
        await outbound.post(
            requests.batch, urgent: urgent, silence: configuration.silenceLimit, within: lapsesAt - .now)
    }
}

extension OutboundFault {
    fileprivate static let notSigned = OutboundFault(.broken, "the VAPID token could not be signed")
}

/// Encryption alone, for measurements and for callers that post by other means.
extension WebPushMessage {
    /// The body of the request: the payload, encrypted for one browser with a fresh key pair.
    public func body(for subscription: WebPushSubscription) throws(WebPushError) -> [UInt8] {
        do {
            return try MessageCipher(publicKey: subscription.publicKey, secret: subscription.authSecret).seal(payload)
        } catch {
            throw WebPushError("p256dh is not a point of P-256")
        }
    }
}

extension VAPID {
    /// The `Authorization` header for a push service, signed or remembered.
    ///
    /// - Parameter now: Unix seconds.
    public func authorization(for subscription: WebPushSubscription, now: Int64) throws(WebPushError) -> String {
        do {
            return try header(for: subscription.origin, now: now)
        } catch {
            throw WebPushError("the VAPID token could not be signed")
        }
    }
}

/// One message, encrypted for each of some browsers and signed for each push service, ready to be sent.
struct WebPushRequests: Sendable {
    private(set) var batch: OutboundBatch
    /// The place of each request of the batch among the subscriptions; a subscription with an invalid key has no request.
    private let places: [Int]
    private var authorizations: [PostOrigin: String] = [:]

    /// Takes long: about 80 µs for each subscription.
    ///
    /// - Parameter payloads: one for each of all subscriptions, by their indices; nil where all get the message's own.
    init(
        _ message: WebPushMessage, to subscriptions: ArraySlice<WebPushSubscription>, payloads: [[UInt8]]? = nil,
        tls: TLSConfiguration?, signedBy vapid: VAPID, now: Int64
    ) throws {
        batch = OutboundBatch(
            OutboundBatch.Shape(
                headers: message.headers, body: .own, keptHeaders: WebPushAnswer.headers, tls: tls))
        var places: [Int] = []
        for (place, subscription) in subscriptions.enumerated() {
            let payload = payloads?[subscriptions.startIndex + place] ?? message.payload
            guard
                let body = message.sealed?.bytes
                    ?? (try? MessageCipher(publicKey: subscription.publicKey, secret: subscription.authSecret).seal(
                        payload))
            else {
                continue
            }
            batch.append(url: subscription.endpoint, body: body)
            places.append(place)
        }
        self.places = places
        for index in batch.parts.indices where batch.parts[index].origin.isMicrosoft {
            batch.parts[index].requests.headers.append(message.cachePolicy)
        }
        try sign(by: vapid, now: now)
    }

    /// Puts answers, one for each request, where their subscriptions stand.
    func tell(_ found: [OutboundAnswer], to answers: inout [WebPushAnswer]) {
        for (place, answer) in zip(places, found) { answers[place] = answer.result { WebPushAnswer($0) } }
    }

    /// The requests that were refused for their token, with another one; nil when there are none.
    func renewed(after found: [OutboundAnswer], by vapid: VAPID, now: Int64) throws -> WebPushRequests? {
        let refused = found.indices.filter {
            if case .response(let response) = found[$0] { response.status == 401 } else { false }
        }
        guard !refused.isEmpty else { return nil }
        var again = self
        again.batch = batch.picking(refused)
        for part in again.batch.parts {
            authorizations[part.origin].map { vapid.forget($0, for: part.origin.text) }
        }
        try again.sign(by: vapid, now: now)
        return again
    }

    private mutating func sign(by vapid: VAPID, now: Int64) throws {
        for index in batch.parts.indices {
            let origin = batch.parts[index].origin
            let header = HTTP2Header("authorization", try vapid.header(for: origin.text, now: now))
            authorizations[origin] = String(decoding: header.value, as: UTF8.self)
            batch.parts[index].requests.headers.removeAll { $0.name == header.name }
            batch.parts[index].requests.headers.append(header)
        }
    }
}

extension WebPushMessage {
    var headers: [HTTP2Header] {
        var headers = [HTTP2Header("ttl", "\(ttl)"), HTTP2Header("content-type", "application/octet-stream")]
        headers += sealed?.headers ?? [HTTP2Header("content-encoding", "aes128gcm")]
        // The default goes unsaid. Source: RFC 8030 §5.3.
        if urgency != .normal { headers.append(HTTP2Header("urgency", urgency.rawValue)) }
        if let topic { headers.append(HTTP2Header("topic", topic)) }
        return headers
    }

    /// Microsoft's service refuses a TTL that contradicts its own header (pywebpush #162).
    var cachePolicy: HTTP2Header { HTTP2Header("x-wns-cache-policy", ttl == 0 ? "no-cache" : "cache") }
}

extension PostOrigin {
    var isMicrosoft: Bool { host.hasSuffix(".notify.windows.com") }
}

/// Encrypts and signs on threads of its own, one for each core: a message costs as much as twenty requests, and an event loop, or
/// a thread that tasks share, would hold others up meanwhile.
enum WebPushSealer {
    private static let threads = {
        let threads = NIOThreadPool(numberOfThreads: System.coreCount)
        threads.start()
        return threads
    }()

    /// Messages made in one step. While one part is being sent the next is being made.
    static let partSize = 64

    /// Does something on one of the threads; nil when the process ends.
    static func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result? {
        try? await threads.runIfActive(work)
    }
}

/// The result of one message.
public enum WebPushAnswer: Sendable, Hashable, OutboundResult {
    /// The push service accepted it. The browser may still never show it.
    case accepted
    /// Microsoft's service accepted and discarded it: the device is offline, or its user wants none. What it says of it.
    case dropped(String?)
    /// The service answered, and did not accept it.
    case rejected(WebPushRejection)
    /// The subscription's key is invalid; nothing was sent.
    case unusableKey
    /// Certainly not sent.
    case unprocessed(OutboundFault)
    /// It may have been sent, and no answer came.
    case unknown(OutboundFault)
}

public struct WebPushRejection: Sendable, Hashable {
    public let status: Int
    /// The service's reason, as far as its form is known.
    public let reason: WebPushReason?
    /// The wait that the answer asks for.
    public let retryAfter: Duration?
    /// The service's sentence for people, where it says more than the reason; visible ASCII.
    public var words: String?
}

extension WebPushAnswer {
    /// The headers that an answer is read from. Microsoft's service answers in those of WNS.
    static let headers = ["retry-after", "x-wns-status", "x-wns-deviceconnectionstatus", "x-wns-error-description"]

    /// Reads an answer of any bytes and never fails: what is not understood is left out and the status decides.
    public init(_ response: OutboundResponse) {
        guard ![200, 201, 202, 204].contains(response.status) else {
            self = Self.answer(toTaken: response)
            return
        }
        let reason = WebPushReason(body: response.body)
        let words =
            response.headers.first(name: "x-wns-error-description").flatMap { Outbound.words($0) }
            ?? Outbound.words(in: response.body)
        self = .rejected(
            WebPushRejection(
                status: response.status, reason: reason, retryAfter: response.headers.retryAfter(),
                words: words.flatMap { reason == .word($0) ? nil : $0 }))
    }

    /// Source: Microsoft, "Push notification service request and response headers", `X-WNS-Status`.
    private static func answer(toTaken response: OutboundResponse) -> WebPushAnswer {
        switch response.headers.first(name: "x-wns-status")?.lowercased() {
        case "dropped":
            .dropped(
                response.headers.first(name: "x-wns-deviceconnectionstatus").flatMap {
                    Outbound.words("the device is \($0)")
                })
        case "channelthrottled":
            .rejected(
                WebPushRejection(
                    status: 429, reason: .word("channelthrottled"), retryAfter: response.headers.retryAfter()))
        default: .accepted
        }
    }
}

/// Why a push service refuses, in its own term. Each vendor has others; those with a meaning of their own are named.
public enum WebPushReason: Sendable, Hashable {
    /// Apple's term, such as `BadJwtToken`.
    case word(String)
    /// Mozilla's number. Source: autopush, "Error Codes".
    case number(Int)

    /// Apple: the subscription was made for another key pair.
    public static let keyMismatch = WebPushReason.word("VapidPkHashMismatch")
    /// Apple: signature, audience, subject or time of the token.
    public static let badToken = WebPushReason.word("BadJwtToken")

    /// Reads `{"reason":"…"}` or `{"errno":…}`; nil for any other bytes.
    init?(body: [UInt8]) {
        guard let written = try? JSONDecoder().decode(Written.self, from: Data(body)) else { return nil }
        if let word = written.reason, 1...64 ~= word.utf8.count, word.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) {
            self = .word(word)
        } else if let number = written.errno {
            self = .number(number)
        } else {
            return nil
        }
    }

    private struct Written: Decodable {
        let reason: String?
        let errno: Int?
    }
}
