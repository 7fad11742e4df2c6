import Crypto
import FoundationEssentials
import Hummingbird
import KeyFiles

extension Admin {
    /// Users of an application: `/admin/v1/apps/:app_uuid/users`.
    struct Users: Sendable {
        let factory: RouteFactory
        private var users: UserService { factory.services.users }

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/users", .read, list),
                factory.application(.get, "apps/:app_uuid/users/:user_id", .read, show),
                factory.application(.patch, "apps/:app_uuid/users/:user_id", .change, set),
                factory.application(.delete, "apps/:app_uuid/users/:user_id", .change, erase),
                factory.application(.post, "apps/:app_uuid/users/:user_id/merge", .change, merge).repeatable,
            ]
        }

        /// Lists users with a profile and users whom only devices name, in the byte order of their ids.
        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let query = try Query(call, Query.paging + ["q", "attribute", "value"])
            let limit = try query.limit()
            if let name = query.text("attribute") { return try await list(call, application, name, query, limit) }
            guard query.text("value") == nil else { throw InvalidInput.missing("attribute") }
            let after = try query.text("cursor").map { try TextCursor.decode($0) }
            let found = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await users.users(of: application, containing: query.text("q"), after: after, limit: limit)
            }
            return try Response(
                UsersReply(
                    users: found.map { UserReply($0) },
                    next_cursor: found.count == limit ? found.last.map { TextCursor.encode($0.id) } : nil))
        }

        /// Lists the users whose attribute has a value, in the order in which they were made.
        private func list(
            _ call: Call, _ application: Application, _ name: String, _ query: Query, _ limit: Int
        ) async throws -> Response {
            guard query.text("q") == nil else { throw InvalidInput(field: "q", "and attribute exclude each other") }
            let text = try query.text("value").given(as: "value")
            let json: JSONValue
            do throws(InvalidInput) { json = try JSONValue(json: text.utf8, field: "value") } catch {
                throw InvalidInput(field: "value", error.problem + #"; texts need quotes, such as "gold""#)
            }
            let value = try UserAttribute(json: json, field: "value")
            let after = try query.cursor()?.first
            let found = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.store.users(
                    of: application.key, having: name.normalized, value, after: after.map { Key($0) }, limit: limit)
            }
            return try Response(
                UsersReply(
                    users: found.map { UserReply($0.user) },
                    next_cursor: found.count == limit ? found.last.map { Cursor($0.key.rawValue).text } : nil))
        }

        private func show(_ call: Call, _ application: Application) async throws -> Response {
            let id = try id(call)
            guard let user = try await users.user(id, of: application) else { throw APIError.missing("user") }
            let devices = try await users.devices(of: id, of: application)
            return try Response(UserReply(user, devices: devices.map { UserDeviceReply($0, on: $1) }))
        }

        /// Changes the given fields of a profile. The others stay.
        private func set(_ call: Call, _ application: Application) async throws -> Response {
            let change = try await call.body(as: ProfileBody.self).change
            return try Response(
                UserReply(try await users.set(try id(call), of: application, change, by: call.author)))
        }

        private func merge(_ call: Call, _ application: Application) async throws -> Response {
            let other = try await call.body(as: MergeBody.self).required()
            return try Response(
                UserReply(try await users.merge(try id(call), into: other, of: application, by: call.author)))
        }

        private func erase(_ call: Call, _ application: Application) async throws -> Response {
            try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await users.erase(try id(call), of: application, by: call.author)
            }
            return Response(status: .noContent)
        }

        private func id(_ call: Call) throws -> String { try call.text("user_id").orMissing("user") }
    }

    private struct ProfileBody: Body, Sendable {
        static let fields = ["language", "time_zone", "attributes"]
        private(set) var change = UserProfile.Change()

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "language": change.language = try Self.change(try reader.string(field))
            case "time_zone": change.timeZone = try Self.change(try reader.string(field))
            default:
                for (name, value) in try reader.members(field) ?? [:] {
                    let attribute = value.isNull ? nil : try UserAttribute(json: value, field: "\(field).\(name)")
                    change.attributes.updateValue(attribute, forKey: name)
                }
            }
        }

        private static func change(_ text: String?) throws(InvalidInput) -> Registration.Change<String> {
            text.flatMap { $0.isEmpty ? nil : .set($0) } ?? .clear
        }
    }

    private struct MergeBody: Body, Sendable {
        static let fields = ["into"]
        private var into: String?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            into = try reader.string(field)
        }

        func required() throws(InvalidInput) -> String { try into.given(as: "into") }
    }
}

/// A custom user id that a back end signed for its app, so that no app can pose as another user.
///
/// A compact JWS, `b64url(header).b64url(payload).b64url(signature)`, signed by HMAC-SHA256 with the application's shared
/// secret over the text as received. Source: RFC 7515 §5.2; "Custom user ID format" of PCF Push 1.9.
enum SignedUserID {
    /// The signed id. Throws on everything else, and names the part that is wrong.
    ///
    /// - Parameter secrets: each of them may have signed it.
    static func opened(_ token: String, with secrets: [SymmetricKey]) throws(InvalidInput) -> String {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64.decode(parts[0], of: .url),
            let payload = Base64.decode(parts[1], of: .url), let signature = Base64.decode(parts[2], of: .url)
        else {
            throw fault("has to be signed: a token of three parts in base64url, 'header.payload.signature'")
        }
        try check(header: header)
        let signed = Array(token.utf8[..<parts[1].endIndex])
        let isSigned = secrets.contains {
            HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: signed, using: $0)
        }
        guard isSigned else { throw fault("is signed with another secret than the shared secret of the application") }
        return try id(in: payload)
    }

    /// Accepts only the one algorithm, and no critical extension. Other members do not matter.
    private static func check(header: [UInt8]) throws(InvalidInput) {
        var algorithm: String?
        var isCritical = false
        do {
            try JSONReader.document(header) { reader, key throws(InvalidInput) in
                switch key {
                case "alg": algorithm = try reader.string("alg")
                case "crit":
                    isCritical = true
                    try reader.skip()
                default: try reader.skip()
                }
            }
        } catch {
            throw fault("has a header that is not a JSON object")
        }
        guard algorithm == "HS256", !isCritical else { throw fault("has to be signed with HS256 and nothing else") }
    }

    private static func id(in payload: [UInt8]) throws(InvalidInput) -> String {
        var id: String?
        do {
            try JSONReader.document(payload) { reader, key throws(InvalidInput) in
                if key == "custom_user_id" { id = try reader.string(key) } else { try reader.skip() }
            }
        } catch {
            throw fault("has a payload that is not {\"custom_user_id\":\"…\"}")
        }
        guard let id, !id.isEmpty else { throw fault("has a payload without a custom_user_id") }
        return id
    }

    private static func fault(_ problem: String) -> InvalidInput {
        InvalidInput(field: "custom_user_id", problem)
    }
}
