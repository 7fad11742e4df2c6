/// Paths without credentials; see `OpenEndpoint`.
package protocol OpenEndpointStore: Sendable {
    /// Throws `StoreError.conflict` as `OpenEndpoint.check` says.
    func create(_ endpoint: NewOpenEndpoint) async throws -> OpenEndpoint
    /// The endpoint of this kind whose key has the hash.
    func openEndpoint(_ kind: OpenEndpoint.Kind, keyHash: [UInt8]) async throws -> OpenEndpoint?
    /// The endpoints of one kind, of all applications, to which the path without a key leads.
    func plainOpenEndpoints(_ kind: OpenEndpoint.Kind) async throws -> [OpenEndpoint]
    /// All of one application.
    func openEndpoints(of application: Key<Application>) async throws -> [OpenEndpoint]
    /// Returns false when there is none.
    func delete(_ endpoint: Key<OpenEndpoint>, of application: Key<Application>) async throws -> Bool
}
