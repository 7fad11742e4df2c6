import ADM
import KeyFiles
import MPNS
import NIOHTTP1
import Outbound
import PAP
import WNS
import WebPush
import Webhook

/// Whatever comes from a provider that is posted to, there is an answer; and whatever a device registers as its address
/// either leads to the provider or is refused.
///
/// The first byte chooses the status, what follows is the body, a header and an address at once.
func postedAnswers(_ bytes: [UInt8]) {
    let statuses = [200, 201, 204, 301, 400, 401, 403, 404, 406, 410, 412, 413, 429, 500, 503]
    let status = statuses[Int(bytes.first ?? 0) % statuses.count]
    let body = Array(bytes.dropFirst())
    let text = String(decoding: body, as: UTF8.self)
    let response = OutboundResponse(
        status: status,
        headers: [
            "retry-after": text, "x-wns-status": text, "x-wns-error-description": text, "x-notificationstatus": text,
        ], body: body)
    answers(response)
    addresses(text, body)
}

private func answers(_ response: OutboundResponse) {
    if case .accepted = WebPushAnswer(response) { precondition(200..<300 ~= response.status) }
    if case .received = WNSAnswer(response) { precondition(response.status == 200) }
    if case .accepted = ADMAnswer(response, of: "r") { precondition(response.status == 200) }
    if case .result = PAPAnswer(response) { precondition(response.status == 200) }
    if case .verdicts(let verdicts) = WebhookAnswer(response, devices: 3) {
        precondition(verdicts.count == 3 && 200..<300 ~= response.status)
    }
    if case .rejected(let rejection) = WNSAnswer(response), let words = rejection.description {
        precondition(words.utf8.allSatisfy { 0x20...0x7E ~= $0 })
    }
    precondition(MPNSVerdict(response).status == response.status)
    precondition(response.headers.retryAfter(now: 0) ?? .zero >= .zero)
}

private func addresses(_ text: String, _ body: [UInt8]) {
    if let channel = try? WNSChannel(text) { precondition(channel.uri.lowercased().contains(".notify.windows.com")) }
    if let channel = try? MPNSChannel(text) { precondition(channel.uri.lowercased().contains(".notify.live.net")) }
    if let subscription = try? WebPushSubscription(json: body) {
        precondition(subscription.origin.hasPrefix("https://") && subscription.publicKey.count == 65)
    }
    if let decoded = Base64.decode(body, isExact: true) { precondition(decoded.count <= body.count) }
}
