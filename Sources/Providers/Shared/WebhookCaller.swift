package import BelfryService
import HTTP2Client
import Outbound
import Webhook

/// Posts messages to webhooks by the route of webhook platforms: to public addresses alone, and to those that the operator allows.
///
/// The addresses are looked up and judged for each message. No redirect is followed.
package struct WebhookCaller: WebhookPoster {
    private let outbound: Outbound

    package init(_ routes: OutboundRoutes) { outbound = routes.guarded(for: .webhook) }

    package func post(_ message: WebhookMessage) async -> ReceiverAnswer {
        let body = Array(message.body.utf8)
        let signatures = message.secrets.compactMap { WebhookSignature(secret: $0) }
        let headers = WebhookSignature.headers(
            of: body, id: message.id, time: message.sentAt.milliseconds / 1_000, by: signatures)
        let request = OutboundRequest(
            "POST", message.url,
            headers: [HTTP2Header("content-type", "application/json"), HTTP2Header("user-agent", "Belfry")]
                + headers.map { HTTP2Header($0.name, $0.value) },
            body: body, answerBytesMax: ReceiverAnswer.bodyBytesMax)
        let start = ContinuousClock.now
        let answer = await outbound.ask(request, deadline: ReceiverAnswer.deadline)
        let milliseconds = Int(start.duration(to: .now).milliseconds)
        switch answer {
        case .response(let response):
            return ReceiverAnswer(
                status: response.status, milliseconds: milliseconds,
                body: String(decoding: response.body, as: UTF8.self).withoutControls(keepsLines: true),
                retryAfter: response.headers.retryAfter())
        case .unprocessed(let fault), .unknown(let fault):
            return ReceiverAnswer(status: nil, fault: "\(fault)", milliseconds: milliseconds)
        }
    }
}
