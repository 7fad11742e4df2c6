import BelfryAPI
import BelfryCore
import BelfryServer
import FoundationEssentials

/// Works on the database of this machine, beside a running server.
struct LocalBackend: AdminBackend {
    let service: OperatorService

    private var store: any Store { service.store }

    func createApplication(name: String) async throws -> CreatedApplicationRow {
        let created = try await service.createApplication(name: name)
        return CreatedApplicationRow(
            app_uuid: created.application.uuid.lowercased, api_key: created.apiKey, shared_secret: created.sharedSecret)
    }

    func applications() async throws -> [ApplicationRow] { try await store.applications().map { ApplicationRow($0) } }

    func application(_ uuid: UUID) async throws -> ApplicationDetails {
        let application = try await service.application(uuid)
        var platforms: [PlatformRow] = []
        for platform in try await store.platforms(of: application.key) {
            platforms.append(try await row(of: platform))
        }
        return ApplicationDetails(application: ApplicationRow(application), platforms: platforms)
    }

    func platform(_ uuid: UUID) async throws -> PlatformRow {
        try await row(of: try await service.platform(uuid))
    }

    private func row(of platform: Platform) async throws -> PlatformRow {
        PlatformRow(
            platform, devices: try await store.deviceCount(on: platform.key),
            public: service.admin.published(of: platform), expiry: service.admin.credentialsExpiry(of: platform))
    }

    func deleteApplication(_ uuid: UUID, force: Bool) async throws {
        try await service.deleteApplication(uuid, force: force)
    }

    func createPlatform(_ platform: PlatformDraft, of application: UUID) async throws -> CreatedPlatformRow {
        let created = try await service.createPlatform(
            of: try await service.application(application), kind: platform.kind, mode: platform.mode,
            name: platform.name, credentials: platform.credentials)
        return CreatedPlatformRow(
            platform_uuid: created.platform.uuid.lowercased, platform_secret: created.secret,
            public: service.admin.published(of: created.platform))
    }

    func replaceCredentials(of platform: UUID, with credentials: [String: JSONValue]) async throws {
        try await service.replaceCredentials(of: try await service.platform(platform), with: credentials)
    }

    func testCredentials(of platform: UUID) async throws -> CredentialsTestRow {
        let test = try await service.testCredentials(of: try await service.platform(platform))
        return CredentialsTestRow(result: test.name, detail: test.detail)
    }

    func resume(_ platform: UUID) async throws {
        try await service.resume(try await service.platform(platform))
    }

    func createChannel(_ storage: String, on platform: UUID) async throws -> CreatedChannelRow {
        guard let storage = BroadcastChannel.Storage(rawValue: storage) else {
            throw InvalidInput(field: "storage", "is '\(storage)', it has to be one of nothing, latest")
        }
        let platform = try await service.platform(platform)
        let (channel, device) = try await service.createChannel(storage, on: platform)
        return CreatedChannelRow(
            channel_id: channel.id, storage: channel.storage.rawValue, device_uuid: device.uuid.lowercased)
    }

    func channels(on platform: UUID) async throws -> [String] {
        try await service.channels.channels(on: try await service.platform(platform))
    }

    func channel(_ id: String, on platform: UUID) async throws -> ChannelRow {
        let platform = try await service.platform(platform)
        let channel = try await service.channels.channel(id, on: platform)
        return ChannelRow(channel_id: channel.id, storage: channel.storage.rawValue)
    }

    func deleteChannel(_ id: String, on platform: UUID) async throws {
        let platform = try await service.platform(platform)
        try await service.deleteChannel(id, on: platform)
    }

    func push(_ draft: PushDraft, of application: UUID) async throws -> UUID {
        let application = try await service.application(application)
        let content = Push.Content(body: draft.body, apple: try draft.apns.map { try ApplePush($0) })
        let pushRequest = PushRequest(content: content, target: try await target(draft.to, of: application))
        return try await service.send(pushRequest, for: application).receiptID
    }

    private func target(_ recipients: PushDraft.Recipients, of application: Application) async throws -> Target {
        switch recipients {
        case .everyone: return .everyone
        case .topics(let topics): return try Target(topics: topics)
        case .devices(let devices): return try Target(devices: devices)
        case .channels(let channels):
            return try Target(devices: try await service.channels.devices(of: channels, of: application.key))
        }
    }

    func receipt(_ id: UUID) async throws -> ReceiptDetails {
        let receipt = try await service.receipt(id)
        return ReceiptDetails(receipt, try await store.connectionFaults(of: receipt.push.key))
    }

    func answer(of device: UUID, in receipt: UUID) async throws -> String {
        let push = try await service.receipt(receipt).push
        let platforms = try await store.platforms(of: push.applicationKey).map(\.key)
        guard let key = try await store.deviceKeys([device], on: platforms).first,
            let answer = try await store.answer(of: key, in: push.key)
        else { throw StoreError.unknown("device \(device.lowercased) in this push") }
        return answer.name
    }

    func writeOff(_ receipt: UUID) async throws -> WriteOff {
        try await service.writeOffDamage(of: receipt)
    }

    func nodes() async throws -> [NodeRow] { try await store.nodes().map { NodeRow($0) } }

}

extension NodeRow {
    fileprivate init(_ node: Node) {
        self.init(
            node_uuid: node.uuid.lowercased, host: node.host, version: node.version, state: node.state.rawValue,
            batches_in_flight: node.batchesInFlight, since: node.since.text, last_seen_at: node.lastSeenAt.text)
    }
}

extension ApplicationRow {
    fileprivate init(_ application: Application) {
        self.init(
            app_uuid: application.uuid.lowercased, name: application.name, created_at: application.createdAt.text)
    }
}

extension PlatformRow {
    fileprivate init(_ platform: Platform, devices: Int, public: [String: String], expiry: Instant?) {
        self.init(
            platform_uuid: platform.uuid.lowercased, type: platform.kind.rawValue, mode: platform.mode.rawValue,
            name: platform.name, devices: devices,
            state: platform.parked.map { "parked (\($0.cause)): \($0.detail)" } ?? "active", public: `public`,
            credentials_expire_at: expiry?.text)
    }
}

extension ReceiptDetails {
    fileprivate init(_ receipt: Receipt, _ faults: [PlatformFault]) {
        let counts = receipt.counts.filter { $0.value > 0 }.map { ($0.key.name, $0.value) }
        self.init(
            receipt_id: receipt.push.receiptID.lowercased, state: receipt.state.rawValue, devices: receipt.devices,
            counts: Dictionary(uniqueKeysWithValues: counts), accepted_at: receipt.push.acceptedAt.text,
            first_answer_at: receipt.firstAnswerAt?.text, settled_at: receipt.settledAt?.text,
            parked: receipt.parked.map { "\($0.cause): \($0.detail)" },
            connection_faults: faults.map { "\($0.fault.kind): \($0.fault.detail)" },
            damaged_batches: receipt.damagedBatches,
            damaged_fan_outs: receipt.damagedFanOuts)
    }
}
