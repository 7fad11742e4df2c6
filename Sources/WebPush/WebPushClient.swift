import HTTP2Client
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
