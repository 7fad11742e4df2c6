import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging

extension Admin {
    /// An authenticated request to the admin API.
    struct Call: Sendable {
        let request: Request
        let parameters: Parameters
        let key: AdminKey
        /// The author for the audit log.
        let author: AuditAuthor
        let bodyBytesMax: Int
        let logger: Logger

        /// The UUID in a part of the path; nil when it is not one.
        func uuid(_ part: String) -> UUID? { parameters.get(part).flatMap { UUID(text: $0) } }

        /// A part of the path, without its percent-encoding.
        func text(_ part: String) throws(InvalidInput) -> String? {
            guard let text = parameters.get(part) else { return nil }
            return try String(percentDecoding: text[...], plusIsSpace: false).storable(part)
        }

        /// Throws a 403 when the key may not do this, and a 404 when the thing is hidden from its holder.
        ///
        /// - Parameter thing: its name in error messages.
        func require(_ action: Permission.Action, on subject: Permission.Subject, called thing: String) throws {
            switch Permission.verdict(scope: key.scope, bounds: key.bounds, for: action, on: subject) {
            case .allowed: return
            case .notFound: throw APIError.missing(thing)
            case .forbidden:
                throw APIError(
                    .forbidden, "This key may not do that: its scope is \(key.scope.rawValue)\(key.bounds.inWords)")
            }
        }

        /// Throws a 403 unless the key is an operator's.
        ///
        /// - Parameter fields: what only operators may give.
        func requireOperator(for fields: String) throws {
            guard key.scope == .operator else {
                throw APIError(.forbidden, "This key may not give \(fields): only operators' keys may")
            }
        }
    }
}

extension APIError {
    /// A 404 with the same message whether the thing does not exist or the caller cannot see it.
    static func missing(_ thing: String) -> APIError { APIError(.notFound, "There is no such \(thing)") }
}

extension Optional {
    /// Returns the value, or throws a 404 that names what is missing.
    func orMissing(_ thing: String) throws(APIError) -> Wrapped {
        guard let self else { throw .missing(thing) }
        return self
    }
}

extension AdminKey.Bounds {
    fileprivate var inWords: String {
        switch self {
        case .everything: ""
        case .tenant: ", for one tenant"
        case .application: ", for one application"
        }
    }
}

extension Response {
    /// A reply of the admin API, its members in alphabetical order.
    init(status: HTTPResponse.Status = .ok, _ reply: some Encodable) throws {
        self.init(status: status, json: ByteBuffer(bytes: try WrittenJSON.encode(reply)))
    }

    /// 201 with the thing that was created.
    static func created(_ reply: some Encodable) throws -> Response { try Response(status: .created, reply) }
}
