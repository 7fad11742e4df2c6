import BelfryAPI
import BelfryService
import Foundation

/// Works through the admin API of another server.
struct RemoteBackend: AdminBackend {
    let client: AdminClient

    func ask(_ method: String, _ path: String, _ body: JSONObject?) async throws -> JSONValue? {
        try await client.ask(method, path, body)
    }

    func createApplication(_ draft: ApplicationDraft) async throws -> Admin.ApplicationReply {
        try await client.send(
            "POST", "apps",
            .given([
                "name": draft.name, "description": draft.description, "tenant_uuid": draft.tenant?.lowercased,
                "app_uuid": draft.uuid?.lowercased, "api_key": draft.apiKey, "shared_secret": draft.sharedSecret,
            ]))
    }

    func edit(_ application: UUID, _ edit: ApplicationEdit) async throws -> Admin.ApplicationReply {
        var given: JSONObject = .given(["name": edit.name?.text, "description": edit.description?.text])
        given["ignores_unknown_fields"] = edit.ignoresUnknownFields.map(JSONValue.bool)
        return try await client.send("PATCH", "apps/\(application.lowercased)", given)
    }

    func replaceAPIKey(of application: UUID, grace: Duration) async throws -> Admin.ApplicationReply {
        try await client.send("POST", "apps/\(application.lowercased)/api-key", .grace(grace))
    }

    func replaceSharedSecret(of application: UUID, grace: Duration) async throws -> Admin.ApplicationReply {
        try await client.send("POST", "apps/\(application.lowercased)/shared-secret", .grace(grace))
    }

    func edit(_ platform: UUID, _ edit: PlatformEdit) async throws -> Admin.PlatformReply {
        try await client.send(
            "PATCH", "platforms/\(platform.lowercased)",
            .given([
                "name": edit.name?.text, "description": edit.description?.text, "mode": edit.mode?.rawValue,
            ]))
    }

    func applications() async throws -> [Admin.ApplicationReply] {
        var applications: [Admin.ApplicationReply] = []
        var query = "limit=200"
        while true {
            let reply: Admin.ApplicationsReply = try await client.send("GET", "apps?\(query)")
            applications += reply.apps
            guard let cursor = reply.next_cursor else { return applications }
            query = "limit=200&cursor=\(cursor)"
        }
    }

    func application(_ uuid: UUID) async throws -> ApplicationDetails {
        let application: Admin.ApplicationReply = try await client.send("GET", "apps/\(uuid.lowercased)")
        let reply: Admin.PlatformsReply = try await client.send("GET", "apps/\(uuid.lowercased)/platforms")
        return ApplicationDetails(application: application, platforms: reply.platforms)
    }

    func deleteApplication(_ uuid: UUID, force: Bool) async throws {
        try await client.perform("DELETE", "apps/\(uuid.lowercased)?force=\(force)")
    }

    func createPlatform(_ platform: PlatformDraft, of application: UUID) async throws -> Admin.PlatformReply {
        let given: JSONObject = .given([
            "type": platform.kind.rawValue, "mode": platform.mode?.rawValue, "name": platform.name,
            "description": platform.description, "platform_uuid": platform.uuid?.lowercased,
            "platform_secret": platform.secret,
        ])
        return try await client.send(
            "POST", "apps/\(application.lowercased)/platforms",
            given.merging(["credentials": .object(JSONObject(platform.credentials))]) { _, new in new })
    }

    func platform(_ uuid: UUID) async throws -> Admin.PlatformReply {
        try await client.send("GET", "platforms/\(uuid.lowercased)")
    }

    func replaceCredentials(of platform: UUID, with credentials: [String: JSONValue]) async throws -> [String] {
        let reply: Admin.PlatformReply = try await client.send(
            "PUT", "platforms/\(platform.lowercased)/credentials", ["credentials": .object(JSONObject(credentials))])
        return reply.kept_credentials ?? []
    }

    func testCredentials(of platform: UUID) async throws -> Admin.CredentialsTestReply {
        try await client.send("POST", "platforms/\(platform.lowercased)/credentials/test")
    }

    func setWebAccess(of platform: UUID, _ edit: WebAccessEdit) async throws -> Admin.PlatformReply {
        var members: JSONObject = ["new_key": .bool(edit.replacesKey)]
        members["origins"] = edit.origins.map { .strings($0.map(\.text)) }
        members["proof"] = edit.provesRegistrations.map(JSONValue.bool)
        return try await client.send("PUT", "platforms/\(platform.lowercased)/web", members)
    }

    func endWebAccess(of platform: UUID) async throws {
        try await client.perform("DELETE", "platforms/\(platform.lowercased)/web")
    }

    func resume(_ platform: UUID) async throws {
        try await client.perform("POST", "platforms/\(platform.lowercased)/resume")
    }

    func createChannel(_ storage: String, on platform: UUID) async throws -> Admin.ChannelReply {
        try await client.send("POST", "platforms/\(platform.lowercased)/channels", ["storage": .string(storage)])
    }

    func channels(on platform: UUID) async throws -> [String] {
        let reply: Admin.ChannelsReply = try await client.send("GET", "platforms/\(platform.lowercased)/channels")
        return reply.channels
    }

    func channel(_ id: String, on platform: UUID) async throws -> Admin.ChannelReply {
        try await client.send("GET", "platforms/\(platform.lowercased)/channels/\(id.inPath)")
    }

    func deleteChannel(_ id: String, on platform: UUID) async throws {
        try await client.perform("DELETE", "platforms/\(platform.lowercased)/channels/\(id.inPath)")
    }

    func push(_ draft: PushDraft, of application: UUID) async throws -> CreatedPush {
        try await client.send("POST", "apps/\(application.lowercased)/pushes", draft)
    }

    func writeOff(_ receipt: UUID) async throws -> Admin.WriteOffReply {
        try await client.send("POST", "pushes/\(receipt.lowercased)/write-off")
    }

    /// It answers.
    func serverAbsence() async throws -> String? { nil }

    func nodes() async throws -> [Admin.NodeReply] {
        let reply: Admin.NodesReply = try await client.send("GET", "nodes")
        return reply.nodes
    }
}

extension JSONObject {
    /// Makes an object of the fields that have a value.
    fileprivate static func given(_ fields: [String: String?]) -> Self {
        JSONObject(fields.compactMapValues(\.self))
    }

    fileprivate static func grace(_ grace: Duration) -> Self {
        ["grace_seconds": .integer(grace.components.seconds)]
    }
}

extension String {
    /// The text as one part of a path: ids are Base64, which contains slashes.
    fileprivate var inPath: String {
        addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? self
    }
}
