import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// Runs one request, and writes the response.
struct RequestRunner<Responder: HTTPResponder>: Sendable
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    let request: Request
    let responder: Responder
    let dates: HTTPDates
    let channel: any Channel
    let logger: Logger

    func run() async {
        let context = Responder.Context(source: ApplicationRequestContextSource(channel: channel, logger: logger))
        do {
            try await write(try await responder.respond(to: request, context: context))
        } catch is HTTPParserError {
            // The connection's state responds to a body that could not be read.
        } catch is CancellationError, is ChannelError {
            channel.close(promise: nil)
        } catch {
            try? await write(Response(status: .internalServerError))
        }
    }

    /// A stream that fails in the middle can only be cut off.
    private func write(_ response: Response) async throws {
        var response = response
        response.headers[.date] = dates.now
        do {
            guard request.method != .head else { return writeHead(of: response) }
            let isStream = response.body.contentLength == nil
            try await response.body.write(ResponseWriter(response.head, on: channel, isStream: isStream))
        } catch {
            channel.close(promise: nil)
        }
    }

    /// The head of the response to GET, without a body. Source: RFC 9110 §9.3.2.
    private func writeHead(of response: Response) {
        var head = response.head
        if head.headerFields[.contentLength] == nil, let length = response.body.contentLength {
            head.headerFields[.contentLength] = String(length)
        }
        channel.writeAndFlush(ResponsePart.bodiless(head), promise: nil)
    }
}

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

/// A response on its way to a connection: in one piece, or begun, continued and ended.
enum ResponsePart: Sendable {
    case whole(HTTPResponse, ByteBuffer)
    /// A complete response to HEAD.
    case bodiless(HTTPResponse)
    case head(HTTPResponse)
    case body(ByteBuffer)
    case end
}
