import BelfryService
import HTTP2Client
import Outbound

/// Posts messages to another mediator as the senders post them here.
struct MediatorClient: MediatorRelay {
    let url: String
    let outbound: Outbound

    /// A call is worth nothing later.
    private static let deadline = Duration.seconds(10)
    private static let replyBytesMax = 16_384

    func relay(_ body: [UInt8], isForm: Bool) async throws -> RelayedAnswer {
        let type = isForm ? "application/x-www-form-urlencoded" : "application/json"
        var request = OutboundRequest(
            "POST", isForm ? "\(url)/pnm2" : "\(url)/pnm2/send", headers: [HTTP2Header("content-type", type)],
            body: body)
        request.answerBytesMax = Self.replyBytesMax
        let answer = await outbound.ask(request, deadline: Self.deadline)
        try Task.checkCancellation()
        guard case .response(let response) = answer else { return .unreachable }
        return Self.answer(response.status, try? JSONValue(json: response.body))
    }

    private static func answer(_ status: Int, _ body: JSONValue?) -> RelayedAnswer {
        let code: Int = if case .integer(let code)? = body?["code"] { Int(clamping: code) } else { status }
        return .answered(status: status, code: code, words: body?["response"]?.stringValue ?? "")
    }
}
