import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTPTypes

/// Writes an answer to a connection.
struct Reply: ResponseBodyWriter {
    let channel: any Channel
    /// Whether the client takes each part of the body before the next is made.
    let isStream: Bool

    /// - Parameter isStream: for a body whose length is not known yet.
    init(_ head: HTTPResponse, isStream: Bool, on channel: any Channel) {
        self.channel = channel
        self.isStream = isStream
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
