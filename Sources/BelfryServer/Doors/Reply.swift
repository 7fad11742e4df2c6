import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTPTypes

/// Writes an answer to a connection.
struct Reply: ResponseBodyWriter {
    let channel: any Channel
    /// Whether the client takes each part of the body before the next is made, as where its length is not known yet.
    let isStream: Bool

    func begin(_ head: HTTPResponse) {
        channel.write(HTTPResponsePart.head(head), promise: nil)
        if isStream { channel.flush() }
    }

    func write(_ buffer: ByteBuffer) async throws {
        guard isStream else { return channel.write(HTTPResponsePart.body(buffer), promise: nil) }
        try await channel.writeAndFlush(HTTPResponsePart.body(buffer))
    }

    func finish(_ trailers: HTTPFields?) async throws {
        channel.writeAndFlush(HTTPResponsePart.end(trailers), promise: nil)
    }
}
