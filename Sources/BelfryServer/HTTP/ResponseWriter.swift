import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

/// Writes a response to a connection: in one piece, or part by part where its length is not known yet.
struct ResponseWriter: ResponseBodyWriter {
    private let channel: any Channel
    /// Set while nothing was written; nil once the head was.
    private var whole: (head: HTTPResponse, body: ByteBuffer)?

    init(_ head: HTTPResponse, on channel: any Channel, isStream: Bool) {
        self.channel = channel
        whole = isStream ? nil : (head, ByteBuffer())
        if isStream { channel.writeAndFlush(ResponsePart.head(head), promise: nil) }
    }

    /// Returns when the client has read the part, before the next is made.
    mutating func write(_ buffer: ByteBuffer) async throws {
        guard whole == nil else { return whole?.body.append(buffer) ?? () }
        try await channel.writeAndFlush(ResponsePart.body(buffer))
    }

    /// - Parameter trailers: ignored; no response has any.
    consuming func finish(_ trailers: HTTPFields?) async throws {
        if let (head, body) = whole {
            channel.writeAndFlush(ResponsePart.whole(head, body), promise: nil)
        } else {
            channel.writeAndFlush(ResponsePart.end, promise: nil)
        }
    }
}

extension ByteBuffer {
    /// Stores the first bytes without copying; most bodies are written whole.
    mutating func append(_ bytes: ByteBuffer) {
        if readableBytes == 0 { self = bytes } else { writeImmutableBuffer(bytes) }
    }
}
