/// A receiver of webhooks: checks the signature and accepts a batch of devices at once.
package final class WebhookService: SimulatedService {
    package static let habits = {
        var habits = HTTPHabits()
        habits.speaksHTTP2 = true
        return habits
    }()

    private let configuration: WebhookConfiguration

    package init(_ configuration: WebhookConfiguration) {
        self.configuration = configuration
    }

    private static let statuses = [
        "BadRequest": 400, "MissingSignature": 401, "BadSignature": 401, "StaleSignature": 401, "Forbidden": 403,
        "NotFound": 404, "MethodNotAllowed": 405, "Gone": 410, "TooLarge": 413, "UnsupportedMediaType": 415,
        "TooMany": 429, "InternalServerError": 500, "BadGateway": 502, "ServiceUnavailable": 503,
    ]

    package func answer(for reason: String) -> ServiceAnswer? {
        Self.statuses[reason].map { .json($0, #"{"error":"\#(reason)"}"#, reason: reason) }
    }

    package func reply(to request: ServiceRequest, context: inout ServiceContext) -> ServiceReply {
        guard request.method == "POST" else { return refuse("MethodNotAllowed") }
        guard request.mediaType == "application/json" else { return refuse("UnsupportedMediaType") }
        let signature = WebhookSignature(configuration: configuration)
        if let complaint = signature.complaint(about: request, at: context.seconds) { return refuse(complaint) }
        guard let tokens = tokens(in: request.body) else { return refuse("BadRequest") }
        let payload = context.keepsPayloads ? String(decoding: request.body, as: UTF8.self) : ""
        let id = request.field("webhook-id")
        var reply = ServiceReply(
            ServiceAnswer(204), deliveries: tokens.map { ServiceDelivery(token: $0, payload: payload, messageID: id) })
        for token in tokens {
            guard let scripted = context.scripted(for: token) else { continue }
            reply.replace(by: scripted.answer(by: self))
            break
        }
        return reply
    }

    private func tokens(in body: [UInt8]) -> [String]? {
        guard let devices = JSON(body)?[configuration.devicesKey]?.array, !devices.isEmpty else { return nil }
        let tokens = devices.compactMap { $0.string ?? $0["token"]?.string }
        return tokens.count == devices.count ? tokens : nil
    }

    private func refuse(_ reason: String) -> ServiceReply {
        ServiceReply(answer(for: reason) ?? ServiceAnswer(500, reason: reason))
    }
}
