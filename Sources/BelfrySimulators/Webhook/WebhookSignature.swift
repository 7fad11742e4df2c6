import Crypto
import FoundationEssentials

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
