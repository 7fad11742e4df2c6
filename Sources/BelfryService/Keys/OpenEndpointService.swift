import FoundationEssentials

/// Opens and closes paths without credentials, each with its line in the audit log.
package struct OpenEndpointService: Sendable {
    let store: any Store

    /// Opens an endpoint. Returns the key too: it is shown once.
    ///
    /// - Parameter isPlain: see `OpenEndpoint.isPlain`; only operators may set it, since all applications share the path.
    package func create(
        _ kind: OpenEndpoint.Kind, of application: Application, allowed: [String] = [],
        options: [String: String] = [:], isPlain: Bool = false, by author: AuditAuthor
    ) async throws -> (endpoint: OpenEndpoint, key: String) {
        let options = kind.takesTokens ? try await platforms(options, of: application, kind) : options
        let key = UUID().lowercased.replacing("-", with: "")
        let new = try NewOpenEndpoint(
            kind: kind, application: application.key, keyHash: SecretHash.of(key), allowed: allowed, options: options,
            isPlain: isPlain)
        var details = ["kind": kind.rawValue, "allowed": allowed.joined(separator: ", ")]
        if isPlain { details["plain_path"] = "true" }
        let change = AuditedChange(by: author, "open_endpoint.create", application, details)
        return (try await store.audited(change) { try await store.create(new) }, key)
    }

    package func delete(
        _ endpoint: Key<OpenEndpoint>, of application: Application, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(by: author, "open_endpoint.delete", application, ["endpoint": "\(endpoint)"])
        try await store.audited(change) {
            guard try await store.delete(endpoint, of: application.key) else {
                throw StoreError.unknown("such open endpoint")
            }
        }
    }

    /// The endpoint that a request names by its key.
    package func endpoint(_ kind: OpenEndpoint.Kind, key: String) async throws -> OpenEndpoint? {
        try await store.openEndpoint(kind, keyHash: SecretHash.of(key))
    }
}
