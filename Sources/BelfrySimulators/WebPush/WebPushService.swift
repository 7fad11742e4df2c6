import Synchronization

/// The push service's side, and its browsers': checks what RFC 8030 and RFC 8292 require of a message, then decrypts it
/// with the receiver's key.
package final class WebPushService: SimulatedService {
    package static let habits = {
        var habits = HTTPHabits()
        habits.speaksHTTP2 = true
        return habits
    }()

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
