import BelfryCore
import FoundationEssentials
import Hummingbird

extension Admin {
    /// Platforms: `/admin/v1/apps/:app_uuid/platforms` and `/admin/v1/platforms`. Their credentials go in and never come
    /// out.
    struct Platforms: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/platforms", .read, list),
                factory.application(.post, "apps/:app_uuid/platforms", .change, create),
                factory.platform(.get, "platforms/:platform_uuid", .read, show),
                factory.platform(.patch, "platforms/:platform_uuid", .change, update),
                factory.platform(.delete, "platforms/:platform_uuid", .change, delete),
                factory.platform(.put, "platforms/:platform_uuid/credentials", .change, replaceCredentials),
                factory.platform(.post, "platforms/:platform_uuid/credentials/test", .change, test).repeatable,
                factory.platform(.post, "platforms/:platform_uuid/park", .change, park).repeatable,
                factory.platform(.post, "platforms/:platform_uuid/resume", .change, resume).repeatable,
            ]
        }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let platforms = try await factory.store.platforms(of: application.key)
            var counts: [Key<Platform>: Int] = [:]
            try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                for platform in platforms {
                    counts[platform.key] = try await factory.store.deviceCount(on: platform.key)
                }
            }
            var json = JSONWriter()
            json.object { json in
                json.array("platforms", platforms) { json, platform in
                    json.object {
                        $0.platform(
                            platform, of: application, devices: counts[platform.key] ?? 0,
                            expiry: factory.admin.credentialsExpiry(of: platform),
                            published: factory.admin.published(of: platform))
                    }
                }
            }
            return Response(json: json.buffer)
        }

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: NewPlatformBody.self)
            let (kind, mode, name) = try body.required()
            let created = try await factory.admin.createPlatform(
                of: application, kind: kind, mode: mode, name: name, credentials: body.credentials, by: call.author)
            return .created(json(created.platform, application, devices: 0, secret: created.secret))
        }

        private func show(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            try await reply(platform.key, application)
        }

        private func update(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            let name = try await call.body(as: NameBody.self).required()
            try await factory.admin.rename(platform, of: application, to: name, by: call.author)
            return try await reply(platform.key, application)
        }

        private func delete(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            let force = try Query(call, ["force"]).bool("force")
            try await factory.admin.delete(platform, of: application, force: force, by: call.author)
            return Response(status: .noContent)
        }

        private func replaceCredentials(
            _ call: Call, _ platform: Platform, _ application: Application
        ) async throws -> Response {
            let entered = try await call.body(as: CredentialsBody.self).credentials
            try await factory.admin.replaceCredentials(of: platform, of: application, with: entered, by: call.author)
            return try await reply(platform.key, application)
        }

        private func test(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            let result = try await factory.shares.holding(.tests, for: ShareHolder(call.key, application)) {
                try await factory.admin.testCredentials(of: platform, of: application, by: call.author)
            }
            var json = JSONWriter()
            json.object { json in
                json.string("result", result.name)
                json.string("detail", result.detail)
            }
            return Response(json: json.buffer)
        }

        private func park(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            let reason = try await call.bodyIfAny(as: ParkBody.self).reason ?? "parked by hand"
            try await factory.admin.park(platform, of: application, because: reason, by: call.author)
            return try await reply(platform.key, application)
        }

        private func resume(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            try await factory.admin.resume(platform, of: application, by: call.author)
            return try await reply(platform.key, application)
        }

        /// The platform as it is now.
        private func reply(_ key: Key<Platform>, _ application: Application) async throws -> Response {
            guard let platform = try await factory.store.platform(key) else { throw APIError.missing("platform") }
            return Response(
                json: json(platform, application, devices: try await factory.store.deviceCount(on: key), secret: nil))
        }

        private func json(
            _ platform: Platform, _ application: Application, devices: Int, secret: String?
        ) -> ByteBuffer {
            var json = JSONWriter()
            json.object { json in
                json.platform(
                    platform, of: application, devices: devices, expiry: factory.admin.credentialsExpiry(of: platform),
                    published: factory.admin.published(of: platform))
                if let secret { json.string("platform_secret", secret) }
            }
            return json.buffer
        }
    }

    private struct NewPlatformBody: Body {
        static let fields = ["type", "mode", "name", "credentials"]
        private var kind: PlatformKind?
        private var mode: Platform.Mode?
        private var name: String?
        private(set) var credentials: [String: JSONValue] = [:]

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "type": kind = try reader.choice(field)
            case "mode": mode = try reader.choice(field)
            case "name": name = try reader.string(field)
            default: credentials = try reader.members(field) ?? [:]
            }
        }

        func required() throws(InvalidInput) -> (PlatformKind, Platform.Mode, Name) {
            guard let kind else { throw InvalidInput.missing("type") }
            guard let mode else { throw InvalidInput.missing("mode") }
            guard let name else { throw InvalidInput.missing("name") }
            return (kind, mode, try Name(name))
        }
    }

    private struct CredentialsBody: Body {
        static let fields = ["credentials"]
        private(set) var credentials: [String: JSONValue] = [:]

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            credentials = try reader.members(field) ?? [:]
        }
    }

    private struct ParkBody: Body {
        static let fields = ["reason"]
        private(set) var reason: String?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            guard let text = try reader.string(field) else { return }
            reason = try Name(text, field: field).text
        }
    }
}

extension JSONWriter {
    fileprivate mutating func platform(
        _ platform: Platform, of application: Application, devices: Int, expiry: Instant?, published: [String: String]
    ) {
        uuid("platform_uuid", platform.uuid)
        uuid("app_uuid", application.uuid)
        string("type", platform.kind.rawValue)
        string("mode", platform.mode.rawValue)
        string("name", platform.name)
        integer("devices", Int64(devices))
        string("state", platform.parked == nil ? "active" : "parked")
        array("parked", platform.parked.map { [$0] } ?? []) { $0.parking($1) }
        strings("public", published.map { ($0, $1) }.sorted { $0.0 < $1.0 })
        string("credentials_expire_at", expiry?.text)
        string("created_at", platform.createdAt.text)
    }

    mutating func parking(_ parking: Parking) {
        object { json in
            json.string("cause", parking.cause.rawValue)
            json.string("detail", parking.detail)
            json.string("since", parking.since.text)
        }
    }
}
