import HTTP2Client
import Outbound

/// Batches of different messages as the requests of one HTTP/2 batch.
struct FCMBurst {
    private let messages: [FCMMessage]
    private let requests: [Request]

    private struct Request {
        let message: Int
        let token: [UInt8]
        /// nil for that of the message.
        let tail: [UInt8]?
    }

    init(_ batches: [FCMBatch]) {
        messages = batches.map(\.message)
        requests = batches.enumerated().flatMap { message, batch in
            batch.tokens.enumerated().map { Request(message: message, token: $1, tail: batch.tails?[$0]) }
        }
    }

    private init(messages: [FCMMessage], requests: [Request]) {
        self.messages = messages
        self.requests = requests
    }

    var count: Int { requests.count }

    /// Makes requests that share all but their bodies.
    func requests(project: String) -> HTTP2Batch {
        var batch = HTTP2Batch(headers: [HTTP2Header("content-type", "application/json")], body: .own)
        let path = "/v1/projects/\(project)/messages:send"
        if let first = requests.first {
            let message = messages[first.message]
            let bodyBytes = Self.tokenHead.count + first.token.count + 2 + message.tail.count
            batch.reserve(requests: requests.count, bytesPerRequest: path.utf8.count + bodyBytes)
        }
        for request in requests {
            batch.append { fields in
                fields.write(path)
                fields.end()
                fields.write(request.token.isFCMInstallationID ? Self.installationHead : Self.tokenHead)
                fields.write(JSONText.quoted(request.token))
                fields.write(request.tail ?? messages[request.message].tail)
                fields.end()
            }
        }
        return batch
    }

    /// The JSON before an address of either kind.
    private static let tokenHead = Array(#"{"message":{"token":"#.utf8)
    private static let installationHead = Array(#"{"message":{"fid":"#.utf8)

    /// The requests at these places, to be sent again.
    func picking(_ indices: [Int]) -> FCMBurst {
        FCMBurst(messages: messages, requests: indices.map { requests[$0] })
    }
}
