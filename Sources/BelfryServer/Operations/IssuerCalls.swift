import BelfryProviders
import BelfryService
import Logging

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
