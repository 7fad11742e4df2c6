import BelfryCore
import Foundation

/// Works through the admin API of a server somewhere else.
struct RemoteBackend: AdminBackend {
    let client: AdminClient

    func createApplication(name: String) async throws -> CreatedApplicationRow {
        try await client.send("POST", "apps", ["name": .string(name)])
    }

    func applications() async throws -> [ApplicationRow] {
        struct Body: Decodable {
            let apps: [ApplicationRow]
            let next_cursor: String?
        }
        var rows: [ApplicationRow] = []
        var query = "limit=200"
        while true {
            let reply: Body = try await client.send("GET", "apps?\(query)")
            rows += reply.apps
            guard let cursor = reply.next_cursor else { return rows }
            query = "limit=200&cursor=\(cursor)"
        }
    }

    func application(_ uuid: UUID) async throws -> ApplicationDetails {
        struct Body: Decodable { let platforms: [PlatformBody] }
        let application: ApplicationRow = try await client.send("GET", "apps/\(uuid.lowercased)")
        let reply: Body = try await client.send("GET", "apps/\(uuid.lowercased)/platforms")
        return ApplicationDetails(application: application, platforms: reply.platforms.map(\.row))
    }

    func deleteApplication(_ uuid: UUID, force: Bool) async throws {
        try await client.perform("DELETE", "apps/\(uuid.lowercased)?force=\(force)")
    }

    func createPlatform(_ platform: PlatformDraft, of application: UUID) async throws -> CreatedPlatformRow {
        try await client.send(
            "POST", "apps/\(application.lowercased)/platforms",
            [
                "type": .string(platform.kind.rawValue), "mode": .string(platform.mode.rawValue),
                "name": .string(platform.name), "credentials": .object(platform.credentials),
            ])
    }

    func platform(_ uuid: UUID) async throws -> PlatformRow {
        let reply: PlatformBody = try await client.send("GET", "platforms/\(uuid.lowercased)")
        return reply.row
    }

    func replaceCredentials(of platform: UUID, with credentials: [String: JSONValue]) async throws {
        try await client.perform(
            "PUT", "platforms/\(platform.lowercased)/credentials", ["credentials": .object(credentials)])
    }

    func testCredentials(of platform: UUID) async throws -> CredentialsTestRow {
        try await client.send("POST", "platforms/\(platform.lowercased)/credentials/test")
    }

    func resume(_ platform: UUID) async throws {
        try await client.perform("POST", "platforms/\(platform.lowercased)/resume")
    }

    func createChannel(_ storage: String, on platform: UUID) async throws -> CreatedChannelRow {
        try await client.send("POST", "platforms/\(platform.lowercased)/channels", ["storage": .string(storage)])
    }

    func channels(on platform: UUID) async throws -> [String] {
        struct Body: Decodable { let channels: [String] }
        let reply: Body = try await client.send("GET", "platforms/\(platform.lowercased)/channels")
        return reply.channels
    }

    func channel(_ id: String, on platform: UUID) async throws -> ChannelRow {
        try await client.send("GET", "platforms/\(platform.lowercased)/channels/\(id.inPath)")
    }

    func deleteChannel(_ id: String, on platform: UUID) async throws {
        try await client.perform("DELETE", "platforms/\(platform.lowercased)/channels/\(id.inPath)")
    }

    func push(_ draft: PushDraft, of application: UUID) async throws -> UUID {
        struct Body: Decodable { let receipt_id: UUID }
        var message: [String: JSONValue] = [:]
        message["body"] = draft.body.map(JSONValue.string)
        message["apns"] = draft.apns
        let reply: Body = try await client.send(
            "POST", "apps/\(application.lowercased)/pushes",
            ["message": .object(message), "target": .object(draft.to.target)])
        return reply.receipt_id
    }

    func receipt(_ id: UUID) async throws -> ReceiptDetails {
        let reply: ReceiptBody = try await client.send("GET", "pushes/\(id.lowercased)")
        return reply.details
    }

    func answer(of device: UUID, in receipt: UUID) async throws -> String {
        struct Body: Decodable { let answer: String }
        let reply: Body = try await client.send("GET", "pushes/\(receipt.lowercased)/devices/\(device.lowercased)")
        return reply.answer
    }

    func writeOff(_ receipt: UUID) async throws -> WriteOff {
        struct Body: Decodable { let devices, fanOuts: Int }
        let reply: Body = try await client.send("POST", "pushes/\(receipt.lowercased)/write-off")
        return WriteOff(devices: reply.devices, fanOuts: reply.fanOuts)
    }

    func nodes() async throws -> [NodeRow] {
        struct Body: Decodable { let nodes: [NodeRow] }
        let reply: Body = try await client.send("GET", "nodes")
        return reply.nodes
    }
}

extension PushDraft.Recipients {
    fileprivate var target: [String: JSONValue] {
        switch self {
        case .everyone: ["everyone": .bool(true)]
        case .topics(let topics): ["topics": .array(topics.map(JSONValue.string))]
        case .devices(let devices): ["devices": .array(devices.map { .string($0.lowercased) })]
        case .channels(let channels): ["channels": .array(channels.map(JSONValue.string))]
        }
    }
}

extension String {
    /// As one part of a path, for ids are Base64, which has slashes.
    fileprivate var inPath: String {
        addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? self
    }
}

private struct ParkingBody: Decodable {
    let cause: String
    let detail: String
}

private struct FaultReply: Decodable {
    let fault: String
    let detail: String
}

private struct PlatformBody: Decodable {
    let platform_uuid: String
    let type: String
    let mode: String
    let name: String
    let devices: Int
    let state: String
    let parked: [ParkingBody]
    let `public`: [String: String]
    let credentials_expire_at: String?

    var row: PlatformRow {
        PlatformRow(
            platform_uuid: platform_uuid, type: type, mode: mode, name: name, devices: devices,
            state: parked.first.map { "parked (\($0.cause)): \($0.detail)" } ?? state, public: `public`,
            credentials_expire_at: credentials_expire_at)
    }
}

private struct ReceiptBody: Decodable {
    let receipt_id: String
    let state: String
    let devices: Int
    let counts: [String: Int]
    let accepted_at: String
    let first_answer_at: String?
    let settled_at: String?
    let parked: [ParkingBody]
    let connection_faults: [FaultReply]
    let damaged_batches: Int
    let damaged_fan_outs: Int

    var details: ReceiptDetails {
        ReceiptDetails(
            receipt_id: receipt_id, state: state, devices: devices, counts: counts, accepted_at: accepted_at,
            first_answer_at: first_answer_at, settled_at: settled_at,
            parked: parked.map { "\($0.cause): \($0.detail)" },
            connection_faults: connection_faults.map { "\($0.fault): \($0.detail)" }, damaged_batches: damaged_batches,
            damaged_fan_outs: damaged_fan_outs)
    }
}
