package import FoundationEssentials

/// The operator's commands on the server's own machine: creates and mends applications and platforms, sends, and reads.
///
/// It works on the store directly, beside a running server; the server sees the change within a moment. The author of
/// its changes is the local operator, with the system user's name.
package struct OperatorService: Sendable {
    package let services: Services
    package let author: AuditAuthor

    package var store: any Store { services.store }
    package var admin: AdminService { services.admin }
    package var channels: ChannelService { services.channels }
    package var pushes: PushService { services.pushes }

    package init(_ services: Services, systemUser: String) {
        self.services = services
        author = .local(systemUser: systemUser)
    }

    /// Makes a change outside the store, such as one of the key ring, and leaves its line in the audit log.
    package func audited<Value: Sendable>(
        _ action: String, _ subject: String, _ details: [String: String] = [:], _ work: () async throws -> Value
    ) async throws -> Value {
        try await store.audited(AuditedChange(by: author, action, subject, of: .everything, details), work)
    }

    // MARK: Applications and platforms

    package func createApplication(name: String) async throws -> CreatedApplication {
        try await admin.createApplication(name: try Name(name), of: Tenant.first, by: author)
    }

    package func createPlatform(
        of application: Application, kind: PlatformKind, mode: Platform.Mode?, name: String,
        description: String? = nil, identity: PlatformIdentity? = nil, credentials: [String: JSONValue]
    ) async throws -> CreatedPlatform {
        try await admin.createPlatform(
            of: application, kind: kind, mode: mode, name: try Name(name),
            description: try description.map { try Description($0) }, identity: identity, credentials: credentials,
            by: author)
    }

    @discardableResult package func replaceCredentials(
        of platform: Platform, with credentials: [String: JSONValue]
    ) async throws -> [String] {
        try await admin.replaceCredentials(
            of: platform, of: try await owner(of: platform), with: credentials, by: author)
    }

    // MARK: Imports

    /// The platforms for the rows of a list: the named ones, or all of the application.
    package func platforms(_ named: [UUID], of application: Application) async throws -> [Platform] {
        let all = try await store.platforms(of: application.key)
        return try named.isEmpty
            ? all
            : named.map { uuid in
                guard let platform = all.first(where: { $0.uuid == uuid }) else {
                    throw StoreError.unknown("platform \(uuid.lowercased) of this application")
                }
                return platform
            }
    }

    package func beginImport(
        of application: Application, to platforms: [Platform], from source: String, isDryRun: Bool
    ) async throws -> ImportService {
        try await admin.beginImport(
            of: application, to: platforms, from: source, isDryRun: isDryRun, by: author)
    }

    /// Waits until the running servers have seen this command's changes: each looks with its next heartbeat, within five seconds.
    /// Servers that are silent for longer are not waited for.
    package func awaitServers() async throws {
        func living() async throws -> [UUID: Instant] {
            let nodes = try await store.nodes().filter { $0.silence < .seconds(15) }
            return Dictionary(nodes.map { ($0.uuid, $0.lastSeenAt) }, uniquingKeysWith: max)
        }
        // Each clock is compared with itself only.
        let before = try await living()
        for _ in 0..<80 {
            if try await living().allSatisfy({ before[$0.key] != $0.value }) { return }
            try await admin.clock.sleep(for: .milliseconds(100))
        }
    }

    // MARK: Reading

    package func application(_ uuid: UUID) async throws -> Application {
        guard let application = try await store.application(uuid) else {
            throw StoreError.unknown("application \(uuid.lowercased)")
        }
        return application
    }

    package func platform(_ uuid: UUID) async throws -> Platform {
        guard let platform = try await store.platform(uuid) else {
            throw StoreError.unknown("platform \(uuid.lowercased)")
        }
        return platform
    }

    package func receipt(_ id: UUID) async throws -> Receipt {
        guard let receipt = try await store.receipt(id) else { throw StoreError.unknown("receipt \(id.lowercased)") }
        return receipt
    }

    private func owner(of platform: Platform) async throws -> Application {
        guard let application = try await store.application(platform.applicationKey) else {
            throw StoreError.unknown("application of this platform")
        }
        return application
    }
}
