import HMS
import NIOHTTP1
import Outbound

/// Whatever comes from Push Kit, each device has an answer, and only what says so in its code is accepted.
func hmsAnswers(_ bytes: [UInt8]) {
    let tokens = ["a", "b", "c"].map { Array($0.utf8) }
    for status in [200, 400, 401, 404, 500, 503] {
        let text = String(decoding: bytes.prefix(64), as: UTF8.self)
        let response = OutboundResponse(status: status, headers: ["retry-after": text], body: bytes)
        let answers = HMSAnswer.answers(.response(response), tokens: tokens)
        precondition(answers.count == tokens.count)
        for answer in answers {
            guard case .accepted = answer else { continue }
            let written = String(decoding: bytes, as: UTF8.self)
            // A digit may be escaped, but not left out.
            precondition(written.contains("code") || written.contains("\\u"))
        }
    }
}
