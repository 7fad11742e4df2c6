import BelfryAPI
import BelfryServer
import BelfryService
import FoundationEssentials
import Logging

/// Works on the database of this machine, beside a running server.
struct LocalBackend: AdminBackend {
    let service: OperatorService
    /// Why nothing is sent at present; the demo's own server works.
    var absence: @Sendable () async throws -> String? = { nil }

    private var store: any Store { service.store }

    func createApplication(_ draft: ApplicationDraft) async throws -> Admin.ApplicationReply {
        let created = try await service.createApplication(
            name: draft.name, description: draft.description,
            identity: try ApplicationIdentity(
                uuid: draft.uuid, apiKey: draft.apiKey, sharedSecret: draft.sharedSecret), tenant: draft.tenant)
        return try await reply(created.application, apiKey: created.apiKey, sharedSecret: created.sharedSecret)
    }

    func applications() async throws -> [Admin.ApplicationReply] {
        var replies: [Admin.ApplicationReply] = []
        for application in try await store.applications() { replies.append(try await reply(application)) }
        return replies
    }

    private func reply(
        _ application: Application, apiKey: String? = nil, sharedSecret: String? = nil, graceEndedEarly: Instant? = nil
    ) async throws -> Admin.ApplicationReply {
        Admin.ApplicationReply(
            application, tenant: try await store.tenant(application.tenantKey)?.uuid, apiKey: apiKey,
            sharedSecret: sharedSecret, graceEndedEarly: graceEndedEarly)
    }

    func application(_ uuid: UUID) async throws -> ApplicationDetails {
        let application = try await service.application(uuid)
        var platforms: [Admin.PlatformReply] = []
        for platform in try await store.platforms(of: application.key) {
            platforms.append(try await reply(platform, of: application))
        }
        return ApplicationDetails(application: try await reply(application), platforms: platforms)
    }

    func platform(_ uuid: UUID) async throws -> Admin.PlatformReply {
        let platform = try await service.platform(uuid)
        return try await reply(platform, of: try await owner(platform.applicationKey))
    }

    private func owner(_ key: Key<Application>) async throws -> Application {
        guard let application = try await store.application(key) else { throw StoreError.unknown("application") }
        return application
    }

    private func reply(
        _ platform: Platform, of application: Application, secret: String? = nil
    ) async throws -> Admin.PlatformReply {
        let facts = try? await service.admin.facts(of: platform)
        return Admin.PlatformReply(
            platform, of: application, devices: try await store.deviceCount(on: platform.key),
            inactive: try await store.inactiveDeviceCount(on: platform.key),
            unseen: platform.hasImports ? try await store.unseenDeviceCount(on: [platform.key]) : 0,
            expiry: facts?.expiresAt, published: facts?.published ?? [:], secret: secret)
    }

    func edit(_ application: UUID, _ edit: ApplicationEdit) async throws -> Admin.ApplicationReply {
        try await service.edit(try await service.application(application), edit)
        return try await reply(try await service.application(application))
    }

    func replaceAPIKey(of application: UUID, grace: Duration) async throws -> Admin.ApplicationReply {
        let application = try await service.application(application)
        return try await reply(
            application, apiKey: try await service.replaceAPIKey(of: application, grace: grace),
            graceEndedEarly: service.admin.graceEndedEarly(application.previousAPIKey?.validUntil))
    }

    func replaceSharedSecret(of application: UUID, grace: Duration) async throws -> Admin.ApplicationReply {
        let application = try await service.application(application)
        let secret = try await service.replaceSharedSecret(of: application, grace: grace)
        return try await reply(
            application, sharedSecret: secret,
            graceEndedEarly: service.admin.graceEndedEarly(application.previousSharedSecret?.validUntil))
    }

    func edit(_ platform: UUID, _ edit: PlatformEdit) async throws -> Admin.PlatformReply {
        try await service.edit(try await service.platform(platform), edit)
        return try await self.platform(platform)
    }

    func deleteApplication(_ uuid: UUID, force: Bool) async throws {
        try await service.deleteApplication(uuid, force: force)
    }

    func createPlatform(_ platform: PlatformDraft, of application: UUID) async throws -> Admin.PlatformReply {
        let application = try await service.application(application)
        let created = try await service.createPlatform(
            of: application, kind: platform.kind, mode: platform.mode, name: platform.name,
            description: platform.description,
            identity: try PlatformIdentity(uuid: platform.uuid, secret: platform.secret),
            credentials: platform.credentials)
        return try await reply(created.platform, of: application, secret: created.secret)
    }

    func replaceCredentials(of platform: UUID, with credentials: [String: JSONValue]) async throws -> [String] {
        try await service.replaceCredentials(of: try await service.platform(platform), with: credentials)
    }

    func testCredentials(of platform: UUID) async throws -> Admin.CredentialsTestReply {
        Admin.CredentialsTestReply(try await service.testCredentials(of: try await service.platform(platform)))
    }

    func setWebAccess(of platform: UUID, _ edit: WebAccessEdit) async throws -> Admin.PlatformReply {
        try await service.setWebAccess(of: try await service.platform(platform), edit)
        return try await self.platform(platform)
    }

    func endWebAccess(of platform: UUID) async throws {
        try await service.endWebAccess(of: try await service.platform(platform))
    }

    func resume(_ platform: UUID) async throws {
        try await service.resume(try await service.platform(platform))
    }

    func createChannel(_ storage: String, on platform: UUID) async throws -> Admin.ChannelReply {
        guard let storage = BroadcastChannel.Storage(rawValue: storage) else {
            throw InvalidInput(field: "storage", "is '\(storage)', it has to be one of nothing, latest")
        }
        let platform = try await service.platform(platform)
        let (channel, device) = try await service.createChannel(storage, on: platform)
        return Admin.ChannelReply(channel, device: device.uuid)
    }

    func channels(on platform: UUID) async throws -> [String] {
        try await service.channels.channels(on: try await service.platform(platform))
    }

    func channel(_ id: String, on platform: UUID) async throws -> Admin.ChannelReply {
        let platform = try await service.platform(platform)
        return Admin.ChannelReply(try await service.channels.channel(id, on: platform))
    }

    func deleteChannel(_ id: String, on platform: UUID) async throws {
        let platform = try await service.platform(platform)
        try await service.deleteChannel(id, on: platform)
    }

    func push(_ draft: PushDraft, of application: UUID) async throws -> CreatedPush {
        try await answer("POST", "apps/\(application.lowercased)/pushes", draft)
    }

    func writeOff(_ receipt: UUID) async throws -> Admin.WriteOffReply {
        Admin.WriteOffReply(try await service.writeOffDamage(of: receipt))
    }

    func ask(_ method: String, _ path: String, _ body: JSONObject?) async throws -> JSONValue? {
        let api = LocalAdminAPI(
            service: service, clock: SystemClock(), logger: Logger(label: "belfry"), absence: absence)
        return try await api.answer(method, path, body.map { JSONValue.object($0).encoded } ?? [])
    }

    func nodes() async throws -> [Admin.NodeReply] {
        let isServed = try await absence() == nil
        return try await store.nodes().withoutReplaced.map { Admin.NodeReply($0, isServed: isServed) }
    }

    func serverAbsence() async throws -> String? { try await absence() }
}
