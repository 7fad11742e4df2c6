import BelfryCore
import FoundationEssentials
import Hummingbird
import Logging

extension Admin {
    /// A request to the admin API, whose key is known.
    struct Call: Sendable {
        let request: Request
        let parameters: Parameters
        let key: AdminKey
        /// Where the request came from, as far as it is known.
        let address: String?
        let bodyBytesMax: Int
        let logger: Logger

        /// The UUID in a part of the path; nil when it is no UUID.
        func uuid(_ part: String) -> UUID? { parameters.get(part).flatMap(UUID.init(uuidString:)) }

        /// A part of the path, without its percent-encoding.
        func text(_ part: String) -> String? {
            parameters.get(part).map { String(percentDecoding: $0[...], plusIsSpace: false) }
        }

        /// Throws a 403 when the key may not do this, and a 404 when to its holder the thing does not exist.
        ///
        /// - Parameter thing: what it is called where it exists.
        func require(_ action: Permission.Action, on subject: Permission.Subject, called thing: String) throws {
            switch Permission.verdict(scope: key.scope, bounds: key.bounds, for: action, on: subject) {
            case .allowed: return
            case .hidden: throw APIError.missing(thing)
            case .forbidden:
                throw APIError(
                    .forbidden, "This key may not do that: its scope is \(key.scope.rawValue)\(key.bounds.inWords)")
            }
        }

        var author: AuditAuthor { AuditAuthor(key, address: address) }
    }
}

extension APIError {
    /// The same words whether there is none, or one that the caller cannot see.
    static func missing(_ thing: String) -> APIError { APIError(.notFound, "There is no such \(thing)") }
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
