import BelfryService
import HTTPTypes
import Hummingbird

extension Broker {
    /// An answer other than the one hoped for.
    struct Refusal: Error {
        let status: HTTPResponse.Status
        /// One of the specification's codes; nil where it has none.
        var code: String?
        let description: String

        init(_ status: HTTPResponse.Status, code: String? = nil, _ description: String) {
            self.status = status
            self.code = code
            self.description = description
        }

        /// The reply that an error becomes.
        init(cause: any Error, isDeletion: Bool) {
            switch cause {
            case let refusal as Refusal: self = refusal
            case BrokerError.gone:
                self.init(isDeletion ? .gone : .notFound, "There is no such service instance or binding")
            case BrokerError.conflict(let words): self.init(.conflict, words)
            case BrokerError.busy:
                self.init(
                    .unprocessableContent, code: "ConcurrencyError",
                    "What belongs to the service instance is still being cleared away; try again")
            default:
                let error = APIError(cause: cause)
                self.init(error.status, error.message)
            }
        }

        var response: Response {
            var members: JSONObject = ["description": .string(description)]
            members["error"] = code.map(JSONValue.string)
            return Response(status: status, broker: .object(members))
        }
    }
}

extension Response {
    init(status: HTTPResponse.Status = .ok, broker body: JSONValue) {
        self.init(status: status, json: ByteBuffer(bytes: body.encoded))
    }
}
