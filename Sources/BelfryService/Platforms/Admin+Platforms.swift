import FoundationEssentials
import Hummingbird

extension Admin {
    /// Platforms: `/admin/v1/apps/:app_uuid/platforms` and `/admin/v1/platforms`. Their credentials can be written and
    /// never read.
    struct Platforms: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/platforms", .read, list),
                factory.application(.post, "apps/:app_uuid/platforms", .change, create),
                factory.platform(.get, "platforms/:platform_uuid", .read, show),
                factory.platform(.patch, "platforms/:platform_uuid", .change, update),
                factory.platform(.delete, "platforms/:platform_uuid", .change, delete).withParameters,
                factory.platform(.put, "platforms/:platform_uuid/credentials", .change, replaceCredentials),
                factory.platform(.post, "platforms/:platform_uuid/credentials/test", .change, test).repeatable,
                factory.platform(.put, "platforms/:platform_uuid/web", .change, setWebAccess),
                factory.platform(.delete, "platforms/:platform_uuid/web", .change, endWebAccess),
                factory.platform(.post, "platforms/:platform_uuid/park", .change, park).repeatable,
                factory.platform(.post, "platforms/:platform_uuid/resume", .change, resume).repeatable,
            ]
        }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let platforms = try await factory.store.platforms(of: application.key)
            var replies: [PlatformReply] = []
            try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                for platform in platforms { replies.append(try await counted(platform, application)) }
            }
            return try Response(PlatformsReply(platforms: replies))
        }

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: NewPlatformBody.self)
            let (kind, mode, name) = try body.required()
            let identity = try body.identity()
            if !identity.isEmpty { try call.requireOperator(for: "platform_uuid and platform_secret") }
            let created = try await factory.admin.createPlatform(
                of: application, kind: kind, mode: mode, name: name,
                description: body.description, identity: identity,
                credentials: body.credentials, by: call.author)
            return try .created(reply(created, application))
        }

        private func show(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            try await reply(platform.key, application)
        }

        private func update(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            let edit = try await call.body(as: EditedPlatform.self).required()
            try await factory.admin.edit(platform, of: application, edit, by: call.author)
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
            let kept = try await factory.admin.replaceCredentials(
                of: platform, of: application, with: entered, by: call.author)
            return try await reply(platform.key, application, kept: kept)
        }

        private func test(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            let result = try await factory.shares.holding(.tests, for: ShareHolder(call.key, application)) {
                try await factory.admin.testCredentials(of: platform, of: application, by: call.author)
            }
            return try Response(CredentialsTestReply(result))
        }

        private func setWebAccess(
            _ call: Call, _ platform: Platform, _ application: Application
        ) async throws -> Response {
            let edit = try await call.body(as: WebAccessBody.self).edit()
            _ = try await factory.admin.setWebAccess(of: platform, of: application, edit, by: call.author)
            return try await reply(platform.key, application)
        }

        private func endWebAccess(
            _ call: Call, _ platform: Platform, _ application: Application
        ) async throws -> Response {
            try await factory.admin.endWebAccess(of: platform, of: application, by: call.author)
            return Response(status: .noContent)
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

        /// The present state of the platform.
        private func reply(
            _ key: Key<Platform>, _ application: Application, kept: [String]? = nil
        ) async throws -> Response {
            guard let platform = try await factory.store.platform(key) else { throw APIError.missing("platform") }
            var reply = try await counted(platform, application)
            reply.kept_credentials = kept
            return try Response(reply)
        }

        private func counted(_ platform: Platform, _ application: Application) async throws -> PlatformReply {
            PlatformReply(
                platform, of: application, devices: try await factory.store.deviceCount(on: platform.key),
                inactive: try await factory.store.inactiveDeviceCount(on: platform.key),
                unseen: platform.hasImports ? try await factory.store.unseenDeviceCount(on: platform.key) : 0,
                expiry: platform.facts?.expiresAt, published: platform.facts?.published ?? [:])
        }

        private func reply(_ created: CreatedPlatform, _ application: Application) -> PlatformReply {
            PlatformReply(
                created.platform, of: application, devices: 0, inactive: 0,
                expiry: created.platform.facts?.expiresAt, published: created.platform.facts?.published ?? [:],
                secret: created.secret)
        }
    }

    private struct NewPlatformBody: Body {
        static let fields = ["type", "mode", "name", "description", "credentials", "platform_uuid", "platform_secret"]
        private var kind: PlatformKind?
        private var mode: Platform.Mode?
        private var name: Name?
        private(set) var description: Description?
        private var uuid: UUID?
        private var secret: String?
        private(set) var credentials: [String: JSONValue] = [:]

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "type": kind = try reader.choice(field)
            case "mode": mode = try reader.choice(field)
            case "name": name = try reader.name(field)
            case "description": description = try reader.description(field)
            case "platform_uuid": uuid = try reader.uuid(field)
            case "platform_secret": secret = try reader.string(field)
            default: credentials = try reader.members(field)?.dictionary ?? [:]
            }
        }

        func identity() throws(InvalidInput) -> PlatformIdentity { try PlatformIdentity(uuid: uuid, secret: secret) }

        func required() throws(InvalidInput) -> (PlatformKind, Platform.Mode?, Name) {
            (try kind.given(as: "type"), mode, try name.given(as: "name"))
        }
    }

    private struct EditedPlatform: Body {
        static let fields = ["name", "description", "mode"]
        private var name: Name?
        private var description: Description?
        private var mode: Platform.Mode?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "name": name = try reader.name(field)
            case "description": description = try reader.description(field)
            default: mode = try reader.choice(field)
            }
        }

        func required() throws(InvalidInput) -> PlatformEdit {
            let edit = PlatformEdit(
                name: name, description: description, mode: mode)
            guard !edit.isEmpty else { throw InvalidInput.missing("name, description or mode") }
            return edit
        }
    }

    private struct CredentialsBody: Body {
        static let fields = ["credentials"]
        private(set) var credentials: [String: JSONValue] = [:]

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            credentials = try reader.members(field)?.dictionary ?? [:]
        }
    }

    private struct WebAccessBody: Body {
        static let fields = ["origins", "proof", "new_key"]
        private var origins: [String]?
        private var provesRegistrations: Bool?
        private var replacesKey = false

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "origins": origins = try reader.strings(field)
            case "proof": provesRegistrations = try reader.bool(field)
            default: replacesKey = try reader.bool(field) ?? false
            }
        }

        func edit() throws(InvalidInput) -> WebAccessEdit {
            var checked: [WebOrigin] = []
            for (index, origin) in (origins ?? []).enumerated() {
                checked.append(try WebOrigin(origin, field: "origins[\(index)]"))
            }
            return WebAccessEdit(
                origins: origins == nil ? nil : checked, provesRegistrations: provesRegistrations,
                replacesKey: replacesKey)
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
