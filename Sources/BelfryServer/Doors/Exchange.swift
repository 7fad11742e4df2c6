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

    /// Returns whether it is the last of its connection.
    func run() async -> Bool {
        let context = Responder.Context(source: ApplicationRequestContextSource(channel: channel, logger: logger))
        var response: Response
        do {
            response = try await responder.respond(to: request, context: context)
        } catch is HTTPParserError {
            // The conversation knows what came of the body, and refuses it.
            return false
        } catch {
            response = Response(status: .internalServerError)
        }
        let isLast = request.isLast
        response.headers[.date] = dates.now
        if isLast { response.headers[.connection] = "close" }
        do {
            let isStream = response.body.contentLength == nil
            try await response.body.write(Reply(response.head, on: channel, isStream: isStream))
        } catch {
            channel.close(promise: nil)
            return true
        }
        return isLast
    }
}

extension Request {
    /// Whether the client wants no answer behind this one. Source: RFC 9110 §7.6.1, a list whose words know no case.
    fileprivate var isLast: Bool {
        guard let options = headers[.connection] else { return false }
        return options.lowercased().split { $0 == "," || $0.isWhitespace }.contains("close")
    }
}
