import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// A request, and how it is answered.
struct Exchange<Responder: HTTPResponder>: Sendable
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    let request: Request
    let responder: Responder
    let dates: HTTPDates
    let channel: any Channel
    let logger: Logger

    /// Returns how the connection is to end; nil when the client may ask for more.
    func run() async -> Ending? {
        let context = Responder.Context(source: ApplicationRequestContextSource(channel: channel, logger: logger))
        var response: Response
        do {
            response = try await responder.respond(to: request, context: context)
        } catch is HTTPParserError {
            return .refuse
        } catch {
            response = Response(status: .internalServerError)
        }
        response.headers[.date] = dates.now
        do {
            let reply = Reply(response.head, isStream: response.body.contentLength == nil, on: channel)
            try await response.body.write(reply)
        } catch {
            channel.close(promise: nil)
            return .close
        }
        return request.headers[.connection]?.lowercased() == "close" ? .close : nil
    }
}

/// How a connection ends.
enum Ending {
    /// The client wants no more, or its answer could not be ended.
    case close
    /// What the client sends is no HTTP.
    case refuse
}
