package import BelfryService

extension WrappedStore {
    package func user(_ id: String, of application: Key<Application>) async throws -> User? {
        try await base.user(id, of: application)
    }
    package func users(
        of application: Key<Application>, beginning prefix: IDPrefix, after id: String?, limit: Int
    ) async throws -> [User] {
        try await base.users(of: application, beginning: prefix, after: id, limit: limit)
    }
    package func users(
        of application: Key<Application>, containing text: String?, after id: String?, limit: Int
    ) async throws -> [User] {
        try await base.users(of: application, containing: text, after: id, limit: limit)
    }
    package func users(
        of application: Key<Application>, after: Key<User>?, limit: Int
    ) async throws -> [FoundUser]? { try await base.users(of: application, after: after, limit: limit) }
    package func setUser(
        _ id: String, of application: Key<Application>,
        change: @escaping @Sendable (UserProfile) throws -> UserProfile
    ) async throws -> User { try await base.setUser(id, of: application, change: change) }
    package func deleteUser(_ id: String, of application: Key<Application>) async throws -> Bool {
        try await base.deleteUser(id, of: application)
    }
    package func devices(ofUser id: String, on platforms: [Key<Platform>], limit: Int) async throws -> [Device] {
        try await base.devices(ofUser: id, on: platforms, limit: limit)
    }
    package func forgetUser(of devices: [Key<Device>]) async throws { try await base.forgetUser(of: devices) }

    package func create(_ endpoint: NewOpenEndpoint) async throws -> OpenEndpoint { try await base.create(endpoint) }
    package func openEndpoint(_ kind: OpenEndpoint.Kind, keyHash: [UInt8]) async throws -> OpenEndpoint? {
        try await base.openEndpoint(kind, keyHash: keyHash)
    }
    package func plainOpenEndpoints(_ kind: OpenEndpoint.Kind) async throws -> [OpenEndpoint] {
        try await base.plainOpenEndpoints(kind)
    }
    package func openEndpoints(of application: Key<Application>) async throws -> [OpenEndpoint] {
        try await base.openEndpoints(of: application)
    }
    package func delete(_ endpoint: Key<OpenEndpoint>, of application: Key<Application>) async throws -> Bool {
        try await base.delete(endpoint, of: application)
    }

    package func createGatewayCredential(
        _ fingerprint: [UInt8], expiresAt: Instant?, on platform: Key<Platform>
    ) async throws -> GatewayCredential {
        try await base.createGatewayCredential(fingerprint, expiresAt: expiresAt, on: platform)
    }
    package func gatewayCredential(_ fingerprint: [UInt8]) async throws -> GatewayCredential? {
        try await base.gatewayCredential(fingerprint)
    }
    package func gatewayCredentials(of platform: Key<Platform>) async throws -> [GatewayCredential] {
        try await base.gatewayCredentials(of: platform)
    }
    package func delete(_ credential: Key<GatewayCredential>, of platform: Key<Platform>) async throws -> Bool {
        try await base.delete(credential, of: platform)
    }

    package func feedback(of platform: Key<Platform>, after: Feedback?, limit: Int) async throws -> [Feedback] {
        try await base.feedback(of: platform, after: after, limit: limit)
    }
    package func deleteFeedback(of platform: Key<Platform>, upTo last: Feedback) async throws {
        try await base.deleteFeedback(of: platform, upTo: last)
    }
    package func generoTokens(
        of application: Key<Application>, after id: Int64, limit: Int
    ) async throws -> [GeneroToken] { try await base.generoTokens(of: application, after: id, limit: limit) }

    package func holders(
        of tokens: [DeviceToken], on platform: Key<Platform>
    ) async throws -> [DeviceToken: TokenHolder] { try await base.holders(of: tokens, on: platform) }
    package func detail(of device: Key<Device>, on platform: Key<Platform>) async throws -> DeviceDetail? {
        try await base.detail(of: device, on: platform)
    }
    package func setDetail(
        of device: Key<Device>, on platform: Key<Platform>, _ change: DeviceDetail.Change
    ) async throws { try await base.setDetail(of: device, on: platform, change) }
    package func users(
        of application: Key<Application>, having name: String, _ value: UserAttribute, after: Key<User>?, limit: Int
    ) async throws -> [FoundUser] {
        try await base.users(of: application, having: name, value, after: after, limit: limit)
    }
}
