import NIOHTTP1
import Outbound

/// Whatever comes from an OAuth server, there is a token that can go into a header, or a reason that can go into a log.
func tokenAnswers(_ bytes: [UInt8]) {
    for status in [200, 301, 400, 401, 403, 429, 500] {
        let text = String(decoding: bytes.prefix(64), as: UTF8.self)
        let response = OutboundResponse(status: status, headers: ["retry-after": text], body: bytes)
        switch Outbound.grant(.response(response), from: "https://oauth.example") {
        case .success(let grant):
            precondition(status == 200 && Outbound.isWord(grant.token))
            precondition(.zero...Duration.seconds(86_400) ~= grant.lifetime)
        case .failure(let error):
            precondition(error.reason.utf8.allSatisfy { 0x20...0x7E ~= $0 })
            precondition(error.retryAfter ?? .zero >= .zero)
        }
    }
}
