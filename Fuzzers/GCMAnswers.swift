import GCM
import NIOHTTP1
import Outbound

/// Whatever comes from a gateway, each device has an answer; what cannot be understood is taken for delivered.
func gcmAnswers(_ bytes: [UInt8]) {
    for status in [200, 302, 400, 401, 413, 429, 503] {
        let text = String(decoding: bytes.prefix(64), as: UTF8.self)
        let response = OutboundResponse(status: status, headers: ["retry-after": text], body: bytes)
        for count in [0, 1, 6] {
            let answers = GCMAnswer.answers(.response(response), count: count)
            precondition(answers.count == count)
            for answer in answers {
                if case .rejected(let error, _) = answer {
                    precondition(error.text.utf8.allSatisfy { 0x21...0x7E ~= $0 })
                }
                if case .refused = answer { precondition(status != 200) }
            }
        }
    }
}
