import BelfryService
import HTTPTypes
import Hummingbird
import NIOCore

/// An answer of the mediator: a code and a message, as JSON.
///
/// Some senders read only the code in the body, others only the HTTP status, so both say whether to send again or to forget. Source:
/// docs/compatibility/acrobits.md.
struct MediatorAnswer: Sendable, Hashable {
    let status: Int
    let code: Int
    private let words: String

    static let codes = [200, 400, 404, 500, 502]

    static let sent = MediatorAnswer(200, 200, "Your message was sent.")
    static let unknownAppID = MediatorAnswer(400, 400, "AppId is unknown, or takes no token like this one")

    /// - Parameter isStrict: whether the status of HTTP is 404 too. Otherwise it is 200, as documented.
    static func dead(isStrict: Bool) -> MediatorAnswer {
        MediatorAnswer(isStrict ? 404 : 200, 404, "404: the device token is not registered any more")
    }

    private init(_ status: Int, _ code: Int, _ words: String) {
        self.status = status
        self.code = code
        self.words = words
    }

    init(_ error: InvalidInput) { self.init(400, 400, error.description) }

    /// Passes on the answer of another mediator.
    init(_ relayed: RelayedAnswer) {
        switch relayed {
        case .answered(let status, let code, let words): self.init(status, code, words)
        case .unreachable: self.init(502, 500, "The mediator that this message is for cannot be reached")
        }
    }

    var json: JSONValue { .object(["code": .integer(Int64(code)), "response": .string(words)]) }

    func response() -> Response {
        Response(status: HTTPResponse.Status(code: status), json: ByteBuffer(bytes: json.encoded))
    }
}
