import NIOCore
import NIOHTTP1
public import NIOSSL
public import Outbound
import Synchronization

/// Sends messages to browsers through the push service that each of them named.
///
/// Source: RFC 8030, RFC 8291, RFC 8292.
public struct WebPushClient: Sendable {
    public struct Configuration: Sendable {
        /// The number of concurrent requests.
        public var width = 64
        /// The deadline of one request. A service that hangs delays other requests no longer.
        public var requestDeadline = Duration.seconds(10)
        /// In place of the HTTP client's own, for simulators.
        public var tls: TLSConfiguration?
        /// Unix seconds.
        public var now: @Sendable () -> Int64 = { Outbound.now() }

        public init() {}
    }

    private let outbound: Outbound
    private let vapid: VAPID
    private let configuration: Configuration

    /// - Parameter outbound: uses a client with an `AddressGuard`, because subscriptions may name any host.
    public init(_ outbound: Outbound, vapid: VAPID, configuration: Configuration = Configuration()) {
        self.outbound = outbound
        self.vapid = vapid
        self.configuration = configuration
    }

    /// Answers in the order of the subscriptions. Never throws and always returns by its deadline.
    public func send(
        _ message: WebPushMessage, to subscriptions: [WebPushSubscription], within deadline: Duration
    ) async -> [WebPushAnswer] {
        let silent = SilentHosts()
        return await Outbound.fanOut(
            subscriptions, width: configuration.width, within: deadline, untried: .unprocessed(.notBegun),
            lane: \.origin
        ) { subscription in
            guard !silent.contains(subscription.origin) else { return .unprocessed(.notBegun) }
            let answer = await send(message, to: subscription)
            if answer.isSilence { silent.insert(subscription.origin) }
            return answer
        }
    }

    private func send(_ message: WebPushMessage, to subscription: WebPushSubscription) async -> WebPushAnswer {
        guard let body = try? WebPushCipher(for: subscription).seal(message.payload) else { return .unusableKey }
        let first = await attempt(message, body, subscription)
        // A token that is stale by the service's clock is made anew, once.
        guard case .rejected(let rejection) = first.answer, rejection.status == 401, let header = first.authorization
        else { return first.answer }
        vapid.forget(header, for: subscription.origin)
        return await attempt(message, body, subscription).answer
    }

    private func attempt(
        _ message: WebPushMessage, _ body: [UInt8], _ subscription: WebPushSubscription
    ) async -> (answer: WebPushAnswer, authorization: String?) {
        guard let header = try? vapid.header(for: subscription.origin, now: configuration.now()) else {
            return (.unprocessed(OutboundFault(.broken, "the VAPID token could not be signed")), nil)
        }
        let request = OutboundRequest(
            url: subscription.endpoint, headers: Self.headers(message, subscription, authorization: header),
            body: ByteBuffer(bytes: body), tls: configuration.tls)
        return (WebPushAnswer(await outbound.post(request, deadline: configuration.requestDeadline)), header)
    }

    static func headers(
        _ message: WebPushMessage, _ subscription: WebPushSubscription, authorization: String
    ) -> HTTPHeaders {
        var headers: HTTPHeaders = [
            "authorization": authorization, "ttl": "\(message.ttl)", "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
        ]
        // The default goes unsaid. Source: RFC 8030 §5.3.
        if message.urgency != .normal { headers.add(name: "urgency", value: message.urgency.rawValue) }
        if let topic = message.topic { headers.add(name: "topic", value: topic) }
        // Microsoft's service refuses a TTL that contradicts its own header (pywebpush #162).
        if subscription.origin.hasSuffix(".notify.windows.com") {
            headers.add(name: "x-wns-cache-policy", value: message.ttl == 0 ? "no-cache" : "cache")
        }
        return headers
    }
}

/// The push services that did not answer a request of the batch: their other requests are not waited for.
private final class SilentHosts: Sendable {
    private let origins = Mutex<Set<String>>([])

    func contains(_ origin: String) -> Bool { origins.withLock { $0.contains(origin) } }

    func insert(_ origin: String) { origins.withLock { _ = $0.insert(origin) } }
}

extension WebPushAnswer {
    /// No connection, or no answer, in time.
    fileprivate var isSilence: Bool {
        switch self {
        case .unprocessed(let fault), .unknown(let fault): fault.code == .deadline || fault.code == .connect
        default: false
        }
    }
}

/// Encryption alone, for measurements and for callers that post by other means.
extension WebPushMessage {
    /// The body of the request: the payload, encrypted for one browser with a fresh key pair.
    public func body(for subscription: WebPushSubscription) throws(WebPushError) -> [UInt8] {
        do {
            return try WebPushCipher(for: subscription).seal(payload)
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
