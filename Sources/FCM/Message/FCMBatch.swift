import HTTP2Client
import Outbound

/// One message and the devices it goes to.
public struct FCMBatch: Sendable {
    public let message: FCMMessage
    /// Registration tokens, as the apps gave them.
    public let tokens: [[UInt8]]

    public init(message: FCMMessage, tokens: [[UInt8]]) {
        self.message = message
        self.tokens = tokens
    }

    /// The batch as requests that share all but the token in the body.
    func requests(project: String) -> HTTP2Batch {
        var batch = HTTP2Batch(
            headers: [HTTP2Header("content-type", "application/json")], body: .own)
        let path = "/v1/projects/\(project)/messages:send"
        let tokenBytes = (tokens.first?.count ?? 0) + 2
        batch.reserve(
            requests: tokens.count,
            bytesPerRequest: path.utf8.count + message.head.count + tokenBytes + message.tail.count)
        for token in tokens {
            batch.append { fields in
                fields.write(path)
                fields.end()
                fields.write(message.head)
                fields.write(JSONText.quoted(token))
                fields.write(message.tail)
                fields.end()
            }
        }
        return batch
    }

    func picking(_ indices: [Int]) -> FCMBatch {
        FCMBatch(message: message, tokens: indices.map { tokens[$0] })
    }
}
