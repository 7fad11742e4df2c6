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
        } catch is CancellationError {
            channel.close(promise: nil)
        } catch is ChannelError {
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
