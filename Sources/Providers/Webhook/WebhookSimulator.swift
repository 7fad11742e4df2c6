import Crypto
import FoundationEssentials

/// A receiver of webhooks: checks the signature and accepts a batch of devices at once.
package final class WebhookService: SimulatedService {
    package static let habits = HTTPHabits(speaksHTTP2: true)

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
}

/// A receiver of webhooks on this machine, on any path.
package typealias WebhookSimulator = ServiceSimulator<WebhookService>

/// How a simulated receiver of webhooks listens and what it requires.
package struct WebhookConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// The secret that sender and receiver share.
    package var secret = Array("belfry simulated webhook secret".utf8)
    package var signature = Signature.standardWebhooks
    /// The largest difference of the sender's clock, in seconds.
    package var skewMaxSeconds: Int64 = 300
    /// The key of the devices in the JSON body: an array of tokens, or of objects with a `token`.
    package var devicesKey = "devices"

    /// How a message is signed with HMAC-SHA256.
    package enum Signature: Sendable {
        /// `webhook-id`, `webhook-timestamp` and `webhook-signature: v1,<base64>` over id, timestamp and body,
        /// separated by dots. Source: standardwebhooks.com, specification.
        case standardWebhooks
        /// A field with a prefix and the signature in hex, over the timestamp of another field, a dot, and the body; or
        /// over the body alone where no timestamp is named.
        case hex(field: String, prefix: String, timestampField: String?)
    }

    package init() {}
}

/// Verifies the signature of a webhook.
struct WebhookSignature {
    let configuration: WebhookConfiguration

    /// The fault; nil when the signature is valid and recent.
    func complaint(about request: ServiceRequest, at now: Int64) -> String? {
        switch configuration.signature {
        case .standardWebhooks: complaintByStandard(request, at: now)
        case .hex(let field, let prefix, let timestampField):
            complaintByHex(request, field: field, prefix: prefix, timestampField: timestampField, at: now)
        }
    }

    private func complaintByStandard(_ request: ServiceRequest, at now: Int64) -> String? {
        guard let id = request.field("webhook-id"), let timestamp = request.field("webhook-timestamp"),
            let signatures = request.field("webhook-signature")
        else { return "MissingSignature" }
        guard isFresh(timestamp, at: now) else { return "StaleSignature" }
        let code = Data(sign(Array("\(id).\(timestamp).".utf8) + request.body)).base64EncodedString()
        return signatures.split(separator: " ").contains { $0 == "v1,\(code)" } ? nil : "BadSignature"
    }

    private func complaintByHex(
        _ request: ServiceRequest, field: String, prefix: String, timestampField: String?, at now: Int64
    ) -> String? {
        guard let signature = request.field(field.lowercased()) else { return "MissingSignature" }
        var signed = request.body
        if let timestampField {
            guard let timestamp = request.field(timestampField.lowercased()) else { return "MissingSignature" }
            guard isFresh(timestamp, at: now) else { return "StaleSignature" }
            signed = Array("\(timestamp).".utf8) + signed
        }
        return signature == prefix + Hex.encode(sign(signed)) ? nil : "BadSignature"
    }

    private func isFresh(_ timestamp: String, at now: Int64) -> Bool {
        guard let seconds = Int64(timestamp) else { return false }
        return abs(now - seconds) <= configuration.skewMaxSeconds
    }

    private func sign(_ bytes: [UInt8]) -> [UInt8] { HMACText.sign(bytes, key: configuration.secret) }
}
