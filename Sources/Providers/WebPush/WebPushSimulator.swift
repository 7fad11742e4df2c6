import Synchronization

/// The push service's side, and its browsers': checks what RFC 8030 and RFC 8292 require of a message, then decrypts it
/// with the receiver's key.
package final class WebPushService: SimulatedService {
    package static let habits = HTTPHabits(speaksHTTP2: true)

    let configuration: WebPushConfiguration
    let subscribers: Subscribers
    private let vapid = VAPIDCheck()
    private let quota: Quota?
    private let senderQuota: Quota?
    private let messages = Atomic<UInt64>(0)

    package init(_ configuration: WebPushConfiguration) {
        self.configuration = configuration
        self.subscribers = Subscribers(receivers: configuration.receivers)
        self.quota = configuration.messagesPerMinute.map { Quota($0, per: .seconds(60)) }
        self.senderQuota = configuration.messagesPerMinuteOfSender.map { Quota($0, per: .seconds(60)) }
    }

    package func answer(for reason: String) -> ServiceAnswer? {
        WebPushProblem(rawValue: reason).map { configuration.dialect.answer($0) }
    }

    package func reply(to request: ServiceRequest, context: inout ServiceContext) -> ServiceReply {
        let parts = request.segments
        guard parts.count == 2, parts[0] == "wp" else { return refuse(.notFound) }
        let id = parts[1]
        guard request.method == "POST" else { return refuse(.methodNotAllowed) }
        let headers = WebPushHeaders(request)
        if let problem = headers.complaint(configuration) { return refuse(problem, id) }
        guard let subscriber = subscribers.find(id) else { return refuse(.notFound, id) }
        if let problem = complaint(aboutSenderOf: request, to: subscriber, at: context.seconds) {
            return refuse(problem, id)
        }
        if let scripted = context.scripted(for: id) { return ServiceReply(scripted.answer(by: self), token: id) }
        let sender = request.credentials(of: "vapid").flatMap(VAPIDHeader.init)?.key ?? ""
        if let wait = quota?.take(id, at: context.now) ?? senderQuota?.take(sender, at: context.now) {
            var answer = configuration.dialect.answer(.tooMany)
            answer.fields.append(("retry-after", "\(wait.secondsUp)"))
            return ServiceReply(answer, token: id)
        }
        return deliver(request, headers, to: subscriber, id)
    }

    private func deliver(
        _ request: ServiceRequest, _ headers: WebPushHeaders, to subscriber: Subscribers.Subscriber, _ id: String
    ) -> ServiceReply {
        var payload = ""
        if !request.body.isEmpty, configuration.opensMessages {
            do {
                payload = String(decoding: try subscriber.receiver.open(request.body), as: UTF8.self)
            } catch {
                if configuration.refusesUndecryptable { return refuse(.undecryptable, id) }
            }
        }
        let number = messages.add(1, ordering: .relaxed).newValue
        let answer = configuration.dialect.accepted(
            id: "m\(number)", ttl: min(headers.ttl ?? 0, configuration.ttlSecondsMax),
            location: "https://\(request.authority ?? "localhost")/m/m\(number)")
        return ServiceReply(answer, token: id, payload: payload)
    }

    /// Source: RFC 8292 §4.2: 401 without credentials, 403 with wrong ones.
    private func complaint(
        aboutSenderOf request: ServiceRequest, to subscriber: Subscribers.Subscriber, at now: Int64
    ) -> WebPushProblem? {
        guard let credentials = request.credentials(of: "vapid") else {
            let isNeeded = configuration.requiresVAPID || subscriber.applicationServerKey != nil
            return isNeeded || request.field("authorization") != nil ? .missingAuthorization : nil
        }
        let origin = "\(configuration.listening.isSecure ? "https" : "http")://\(request.authority ?? "")"
        guard let header = VAPIDHeader(credentials), let claims = vapid.claims(of: header),
            claims.complaint(origin: origin, at: now, requiresSubject: requiresSubject) == nil
        else { return .badVAPID }
        guard let only = subscriber.applicationServerKey else { return nil }
        return Base64URL.decode(header.key[...]) == only ? nil : .keyMismatch
    }

    private var requiresSubject: Bool {
        configuration.requiresSubject ?? [.apple, .mozilla].contains(configuration.dialect)
    }

    private func refuse(_ problem: WebPushProblem, _ id: String? = nil) -> ServiceReply {
        let answer = configuration.dialect.answer(problem)
        return id.map { ServiceReply(answer, token: $0) } ?? ServiceReply(answer)
    }
}

/// A Web Push service on this machine, with its browsers.
package typealias WebPushSimulator = ServiceSimulator<WebPushService>

extension ServiceSimulator where S == WebPushService {
    /// Makes a subscription, as a browser does when a page asks for one.
    ///
    /// - Parameter applicationServerKey: the VAPID key of the page; only its owner may push then. nil accepts any
    ///   sender.
    package func subscribe(applicationServerKey: String? = nil) -> WebPushSubscription {
        subscribe(1, applicationServerKey: applicationServerKey)[0]
    }

    /// Makes many subscriptions. They are cheap: receivers' keys are shared between them.
    package func subscribe(_ count: Int, applicationServerKey: String? = nil) -> [WebPushSubscription] {
        service.subscribers.add(count, applicationServerKey: applicationServerKey)
            .map { service.subscribers.subscription($0, at: url) }
    }
}

/// How a simulated Web Push service listens and what it requires.
package struct WebPushConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// The service whose answers it imitates.
    package var dialect = WebPushDialect.plain
    /// Whether messages without VAPID are refused, whatever their subscription.
    package var requiresVAPID = true
    /// Whether a VAPID token must name a contact; nil follows the dialect's service.
    package var requiresSubject: Bool?
    /// Source: RFC 8030 §7.2: a service need not accept more than 4096 octets.
    package var bodyBytesMax = 4096
    /// A longer TTL is reduced to this, and the answer says so.
    package var ttlSecondsMax: Int64 = 2_592_000
    /// Answers 400 `Undecryptable` to what the receiver cannot decrypt. A real service cannot tell and answers 201.
    package var refusesUndecryptable = true
    /// Whether messages are opened at all, which costs more than all else; without it the ledger has no payloads.
    package var opensMessages = true
    /// The receivers' keys, assigned to subscriptions in turn; empty makes eight.
    package var receivers: [WebPushReceiver] = []
    /// Messages to one subscription in a minute; nil for no limit.
    package var messagesPerMinute: Int?
    /// Messages of one sender in a minute, to all subscriptions together, as a service limits what comes from an origin's key;
    /// nil is without end.
    package var messagesPerMinuteOfSender: Int?

    package init() {}
}

/// The push services whose answers a simulator can imitate.
package enum WebPushDialect: String, Sendable, CaseIterable {
    /// Bare status codes, as RFC 8030 has them.
    case plain
    case mozilla
    case google
    case apple
    case microsoft
}

/// A subscription, as a browser gives it to a page.
package struct WebPushSubscription: Sendable, Equatable {
    /// The name for the script and the ledger.
    package var id: String
    package var endpoint: String
    /// The receiver's public key, uncompressed, in base64url.
    package var p256dh: String
    /// The receiver's secret, in base64url.
    package var auth: String

    /// The subscription in the form of `PushSubscription.toJSON()`.
    package var json: String {
        #"{"endpoint":\#(endpoint.quoted),"expirationTime":null,"keys":{"p256dh":"\#(p256dh)","auth":"\#(auth)"}}"#
    }
}

/// Formats a refusal as each of the big services does.
///
/// Sources: autopush, `docs/src/errors.md`; Apple, "Sending web push notifications in web apps and browsers"; reports
/// by users of the other services. Where a service publishes no text of its own, the answer is the bare status.
extension WebPushDialect {
    func answer(_ problem: WebPushProblem) -> ServiceAnswer {
        switch self {
        case .plain: ServiceAnswer(problem.status, reason: problem.rawValue)
        case .mozilla: mozilla(problem)
        case .google: google(problem)
        case .apple: apple(problem)
        case .microsoft: microsoft(problem)
        }
    }

    /// The answer to an accepted message.
    func accepted(id: String, ttl: Int64, location: String) -> ServiceAnswer {
        let common = [("location", location), ("ttl", "\(ttl)")]
        switch self {
        case .plain, .mozilla, .google: return ServiceAnswer(201, fields: common)
        case .apple: return ServiceAnswer(201, fields: [("apns-id", id)])
        case .microsoft:
            return ServiceAnswer(
                201,
                fields: common + [
                    ("x-wns-status", "received"), ("x-wns-notificationstatus", "received"), ("x-wns-msg-id", id),
                ])
        }
    }

    private func mozilla(_ problem: WebPushProblem) -> ServiceAnswer {
        let isRefusedSender = problem == .badVAPID || problem == .keyMismatch
        let status = isRefusedSender ? 401 : problem.status
        guard let errno = Self.errno(problem) else { return ServiceAnswer(status, reason: problem.rawValue) }
        let body =
            #"{"code":\#(status),"errno":\#(errno),"error":"\#(problem.rawValue)","message":"\#(problem.rawValue)","#
        return .json(
            status, body + #""more_info":"http://autopush.readthedocs.io/en/latest/http.html#error-codes"}"#,
            reason: problem.rawValue)
    }

    private static func errno(_ problem: WebPushProblem) -> Int? {
        switch problem {
        case .missingAuthorization, .badVAPID, .keyMismatch: 109
        case .missingTTL: 111
        case .badTTL: 112
        case .badTopic: 113
        case .badEncoding, .undecryptable: 110
        case .notFound: 102
        case .gone: 106
        case .tooLarge: 104
        case .internalError: 999
        case .badGateway: 900
        case .unavailable: 201
        case .badUrgency, .methodNotAllowed, .lengthRequired, .cachePolicyConflict, .throttled, .tooMany: nil
        }
    }

    private func google(_ problem: WebPushProblem) -> ServiceAnswer {
        let text: String? =
            switch problem {
            case .keyMismatch:
                "the VAPID credentials in the authorization header do not correspond to the credentials used to create "
                    + "the subscriptions.\n"
            case .missingAuthorization, .badVAPID: "crypto-key or authorization header had invalid format.\n"
            case .gone: "push subscription has unsubscribed or expired.\n"
            default: nil
            }
        return text.map { .text(problem.status, $0, reason: problem.rawValue) }
            ?? ServiceAnswer(problem.status, reason: problem.rawValue)
    }

    private func apple(_ problem: WebPushProblem) -> ServiceAnswer {
        let (status, word): (Int, String?) =
            switch problem {
            case .badVAPID, .missingAuthorization: (403, "BadJwtToken")
            case .keyMismatch: (400, "VapidPkHashMismatch")
            case .badUrgency: (400, "BadUrgency")
            case .gone: (410, "Unregistered")
            case .tooMany: (429, "TooManyRequests")
            default: (problem.status, nil)
            }
        guard let word else { return ServiceAnswer(status, reason: problem.rawValue) }
        return .json(status, #"{"reason":"\#(word)"}"#, reason: problem.rawValue)
    }

    private func microsoft(_ problem: WebPushProblem) -> ServiceAnswer {
        let text =
            problem == .cachePolicyConflict
            ? "Ttl value conflicts with X-WNS-Cache-Policy." : problem.rawValue
        let word = problem == .throttled ? "channelthrottled" : "dropped"
        return ServiceAnswer(
            problem.status, reason: problem.rawValue,
            fields: [("x-wns-status", word), ("x-wns-error-description", text)])
    }
}

/// Why a Web Push service refuses a message. Scripts use the same names.
enum WebPushProblem: String, CaseIterable {
    case missingAuthorization = "MissingAuthorization"
    /// The token is malformed, not signed by its key, for another origin, or expired.
    case badVAPID = "BadVAPID"
    /// The subscription belongs to another key.
    case keyMismatch = "KeyMismatch"
    case missingTTL = "MissingTTL"
    case badTTL = "BadTTL"
    case badUrgency = "BadUrgency"
    case badTopic = "BadTopic"
    case badEncoding = "BadEncoding"
    /// Only a simulator can detect it.
    case undecryptable = "Undecryptable"
    case methodNotAllowed = "MethodNotAllowed"
    case lengthRequired = "LengthRequired"
    case cachePolicyConflict = "CachePolicyConflict"
    case notFound = "NotFound"
    case gone = "Gone"
    case tooLarge = "TooLarge"
    /// 406, which means this at Microsoft alone.
    case throttled = "Throttled"
    case tooMany = "TooMany"
    case internalError = "InternalServerError"
    case badGateway = "BadGateway"
    case unavailable = "ServiceUnavailable"

    /// Source: RFC 8030 §5, §7.3; RFC 8292 §4.2.
    var status: Int {
        switch self {
        case .missingTTL, .badTTL, .badUrgency, .badTopic, .badEncoding, .undecryptable, .cachePolicyConflict: 400
        case .missingAuthorization: 401
        case .badVAPID, .keyMismatch: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .throttled: 406
        case .gone: 410
        case .lengthRequired: 411
        case .tooLarge: 413
        case .tooMany: 429
        case .internalError: 500
        case .badGateway: 502
        case .unavailable: 503
        }
    }
}

/// The subscriptions of a simulated service: their ids, and the senders that may push to them.
package final class Subscribers: Sendable {
    private struct Batch {
        var first: Int
        var applicationServerKey: [UInt8]?
    }

    private struct Held {
        var count = 0
        var batches: [Batch] = []
    }

    struct Subscriber {
        var receiver: WebPushReceiver
        /// The only VAPID key that may push; nil for any.
        var applicationServerKey: [UInt8]?
    }

    private let receivers: [WebPushReceiver]
    private let held = Mutex(Held())

    init(receivers: [WebPushReceiver]) {
        self.receivers = receivers.isEmpty ? (0..<8).map { _ in WebPushReceiver() } : receivers
    }

    func add(_ count: Int, applicationServerKey: String?) -> Range<Int> {
        held.withLock { held in
            let key = applicationServerKey.flatMap { Base64URL.decode($0[...]) }
            held.batches.append(Batch(first: held.count, applicationServerKey: key))
            held.count += count
            return held.count - count..<held.count
        }
    }

    func subscription(_ number: Int, at url: String) -> WebPushSubscription {
        let receiver = receivers[number % receivers.count]
        return WebPushSubscription(
            id: "s\(number)", endpoint: "\(url)/wp/s\(number)", p256dh: Base64URL.encode(receiver.publicKey),
            auth: Base64URL.encode(receiver.auth))
    }

    func find(_ id: String) -> Subscriber? {
        guard id.hasPrefix("s"), let number = Int(id.dropFirst()), number >= 0 else { return nil }
        return held.withLock { held in
            guard number < held.count, let batch = held.batches.last(where: { $0.first <= number }) else { return nil }
            return Subscriber(
                receiver: receivers[number % receivers.count], applicationServerKey: batch.applicationServerKey)
        }
    }
}
