import BelfryProviders
package import BelfryService
import Logging

extension ServerResources {
    /// The people of the dashboard, for commands beside a running server.
    package var people: PersonService { people(lifetime: SessionLifetime()) }

    func people(lifetime: SessionLifetime) -> PersonService {
        PersonService(
            store: store, passwords: passwords, vault: keyRing, hash: SecretHash.of,
            authentication: SecretHash.authentication, clock: clock, lifetime: lifetime)
    }
}

/// The link by which the first operator makes their account.
package enum SetupLink {
    /// Makes a link that works once, as long as there is no account; nil when there is one.
    static func make(with people: PersonService, by author: AuditAuthor, at address: String) async throws -> String? {
        guard try await people.store.people(within: .everything, after: nil, limit: 1).isEmpty else { return nil }
        let token = try await people.invite(nil, scope: .operator, bounds: .everything, by: author)
        return address + path(token)
    }

    /// The fields that a command prints for a link: its path on the server, and the full link where the dashboard's public URL is
    /// known.
    package static func fields(_ token: String, at publicURL: String?) -> [(String, String)] {
        [("setup_path", path(token))] + (publicURL.map { [("setup_link", $0 + path(token))] } ?? [])
    }

    /// The path of a link, below the address of the server.
    package static func path(_ token: String) -> String { "/\(Dashboard.root)/setup?token=\(token)" }
}

extension OutboundRoutes {
    /// The dashboard's calls to issuers of OpenID Connect.
    func issuerCall(logger: Logger) -> IssuerCall {
        { request in
            let form = request.form.map { fields in
                fields.map { "\($0.key.percentEncoded)=\($0.value.percentEncoded)" }.joined(separator: "&")
            }
            do {
                return try await ask(
                    request.url, form: form, authorization: request.authorization, isPrivate: request.isPrivate,
                    trustRoots: request.trustRoots)
            } catch {
                // The query may hold more than the address.
                let address = request.url.prefix { $0 != "?" }
                logger.warning(
                    "an issuer cannot be reached", metadata: ["address": "\(address)", "error": "\(error)"])
                throw SignOnFault("The issuer cannot be reached; the server's log says why.")
            }
        }
    }
}
