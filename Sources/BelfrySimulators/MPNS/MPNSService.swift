/// Microsoft's side for Windows Phone: channels, whose answer is in three header fields.
package final class MPNSService: SimulatedService {
    package static let habits = HTTPHabits()

    private let configuration: MPNSConfiguration
    private let quota: Quota?

    package init(_ configuration: MPNSConfiguration) {
        self.configuration = configuration
        self.quota = configuration.messagesPerDay.map { Quota($0, per: .seconds(86_400)) }
    }

    /// The answers by their notification status, and the others by name.
    ///
    /// Source: Microsoft, "Push notification service response codes for Windows Phone".
    package func answer(for reason: String) -> ServiceAnswer? {
        switch reason {
        case "QueueFull": Self.answer(200, "QueueFull", "Connected", "Active", reason)
        case "Suppressed": Self.answer(200, "Suppressed", "Connected", "Active", reason)
        case "BadRequest": Self.answer(400, nil, nil, nil, reason)
        case "Unauthorized": Self.answer(401, "Dropped", "N/A", "Active", reason)
        case "Forbidden": Self.answer(403, nil, nil, nil, reason)
        case "Expired": Self.answer(404, "Dropped", "N/A", "Expired", reason)
        case "MethodNotAllowed": Self.answer(405, nil, nil, nil, reason)
        case "Throttled": Self.answer(406, "Dropped", "Connected", "Active", reason)
        case "InActive": Self.answer(412, "Dropped", "InActive", "N/A", reason)
        case "ServiceUnavailable": Self.answer(503, "N/A", "N/A", "N/A", reason)
        default: nil
        }
    }

    package func reply(to request: ServiceRequest, context: inout ServiceContext) -> ServiceReply {
        let parts = request.segments
        guard parts.count >= 3, ["throttledthirdparty", "unthrottledthirdparty"].contains(parts[0]),
            let token = parts.last
        else { return refuse("Expired") }
        guard request.method == "POST" else { return refuse("MethodNotAllowed", token) }
        guard MPNSNotification(request).isGood(configuration) else { return refuse("BadRequest", token) }
        if let scripted = context.scripted(for: token) { return ServiceReply(scripted.answer(by: self), token: token) }
        if parts[0] == "throttledthirdparty", quota?.take(token, at: context.now) != nil {
            return refuse("Throttled", token)
        }
        var answer = Self.answer(200, "Received", "Connected", "Active", nil)
        let id = request.field("x-messageid")
        if let id { answer.fields.append(("x-messageid", id)) }
        let payload = context.keepsPayloads ? String(decoding: request.body, as: UTF8.self) : ""
        return ServiceReply(answer, token: token, payload: payload, messageID: id)
    }

    private func refuse(_ reason: String, _ token: String? = nil) -> ServiceReply {
        let answer = answer(for: reason) ?? ServiceAnswer(500, reason: reason)
        return token.map { ServiceReply(answer, token: $0) } ?? ServiceReply(answer)
    }

    private static func answer(
        _ status: Int, _ notification: String?, _ device: String?, _ subscription: String?, _ reason: String?
    ) -> ServiceAnswer {
        let fields = [
            ("x-notificationstatus", notification), ("x-deviceconnectionstatus", device),
            ("x-subscriptionstatus", subscription),
        ]
        return ServiceAnswer(
            status, reason: reason, fields: fields.compactMap { name, value in value.map { (name, $0) } })
    }
}
