import BelfryCore
import Foundation

/// Works through the admin API of a server somewhere else.
struct RemoteDesk: Desk {
    let client: AdminClient

    func createApplication(name: String) async throws -> CreatedApplicationRow {
        try await client.send("POST", "apps", ["name": .string(name)])
    }

    func applications() async throws -> [ApplicationRow] {
        struct Reply: Decodable {
            let apps: [ApplicationRow]
            let next_cursor: String?
        }
        var rows: [ApplicationRow] = []
        var query = "limit=200"
        while true {
            let reply: Reply = try await client.send("GET", "apps?\(query)")
            rows += reply.apps
            guard let cursor = reply.next_cursor else { return rows }
            query = "limit=200&cursor=\(cursor)"
        }
    }

    func application(_ uuid: UUID) async throws -> ApplicationPage {
        struct Reply: Decodable { let platforms: [PlatformReply] }
        let application: ApplicationRow = try await client.send("GET", "apps/\(uuid.lowercased)")
        let reply: Reply = try await client.send("GET", "apps/\(uuid.lowercased)/platforms")
        return ApplicationPage(application: application, platforms: reply.platforms.map(\.row))
    }

    func deleteApplication(_ uuid: UUID, force: Bool) async throws {
        try await client.order("DELETE", "apps/\(uuid.lowercased)?force=\(force)")
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
        let reply: PlatformReply = try await client.send("GET", "platforms/\(uuid.lowercased)")
        return reply.row
    }

    func replaceCredentials(of platform: UUID, with credentials: [String: JSONValue]) async throws {
        try await client.order(
            "PUT", "platforms/\(platform.lowercased)/credentials", ["credentials": .object(credentials)])
    }

    func testCredentials(of platform: UUID) async throws -> CredentialsTestRow {
        try await client.send("POST", "platforms/\(platform.lowercased)/credentials/test")
    }

    func resume(_ platform: UUID) async throws {
        try await client.order("POST", "platforms/\(platform.lowercased)/resume")
    }

    func createChannel(_ storage: String, on platform: UUID) async throws -> CreatedChannelRow {
        try await client.send("POST", "platforms/\(platform.lowercased)/channels", ["storage": .string(storage)])
    }

    func channels(on platform: UUID) async throws -> [String] {
        struct Reply: Decodable { let channels: [String] }
        let reply: Reply = try await client.send("GET", "platforms/\(platform.lowercased)/channels")
        return reply.channels
    }

    func channel(_ id: String, on platform: UUID) async throws -> ChannelRow {
        try await client.send("GET", "platforms/\(platform.lowercased)/channels/\(id.inPath)")
    }

    func deleteChannel(_ id: String, on platform: UUID) async throws {
        try await client.order("DELETE", "platforms/\(platform.lowercased)/channels/\(id.inPath)")
    }

    func push(_ draft: PushDraft, of application: UUID) async throws -> UUID {
        struct Reply: Decodable { let receipt_id: UUID }
        var message: [String: JSONValue] = [:]
        message["body"] = draft.body.map(JSONValue.string)
        message["apns"] = draft.apns
        let reply: Reply = try await client.send(
            "POST", "apps/\(application.lowercased)/pushes",
            ["message": .object(message), "target": .object(draft.to.target)])
        return reply.receipt_id
    }

    func receipt(_ id: UUID) async throws -> ReceiptPage {
        let reply: ReceiptReply = try await client.send("GET", "pushes/\(id.lowercased)")
        return reply.page
    }

    func answer(of device: UUID, in receipt: UUID) async throws -> String {
        struct Reply: Decodable { let answer: String }
        let reply: Reply = try await client.send("GET", "pushes/\(receipt.lowercased)/devices/\(device.lowercased)")
        return reply.answer
    }

    func writeOff(_ receipt: UUID) async throws -> WriteOff {
        struct Reply: Decodable { let devices, walks: Int }
        let reply: Reply = try await client.send("POST", "pushes/\(receipt.lowercased)/write-off")
        return WriteOff(devices: reply.devices, walks: reply.walks)
    }

    func nodes() async throws -> [NodeRow] {
        struct Reply: Decodable { let nodes: [NodeRow] }
        let reply: Reply = try await client.send("GET", "nodes")
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

private struct ParkingReply: Decodable {
    let cause: String
    let detail: String
}

private struct FaultReply: Decodable {
    let fault: String
    let detail: String
}

private struct PlatformReply: Decodable {
    let platform_uuid: String
    let type: String
    let mode: String
    let name: String
    let devices: Int
    let state: String
    let parked: [ParkingReply]
    let `public`: [String: String]
    let credentials_expire_at: String?

    var row: PlatformRow {
        PlatformRow(
            platform_uuid: platform_uuid, type: type, mode: mode, name: name, devices: devices,
            state: parked.first.map { "parked (\($0.cause)): \($0.detail)" } ?? state, public: `public`,
            credentials_expire_at: credentials_expire_at)
    }
}

private struct ReceiptReply: Decodable {
    let receipt_id: String
    let state: String
    let devices: Int
    let counts: [String: Int]
    let accepted_at: String
    let first_answer_at: String?
    let settled_at: String?
    let parked: [ParkingReply]
    let connection_faults: [FaultReply]
    let damaged_pages: Int
    let damaged_walks: Int

    var page: ReceiptPage {
        ReceiptPage(
            receipt_id: receipt_id, state: state, devices: devices, counts: counts, accepted_at: accepted_at,
            first_answer_at: first_answer_at, settled_at: settled_at,
            parked: parked.map { "\($0.cause): \($0.detail)" },
            connection_faults: connection_faults.map { "\($0.fault): \($0.detail)" }, damaged_pages: damaged_pages,
            damaged_walks: damaged_walks)
    }
}
