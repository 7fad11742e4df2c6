import FoundationEssentials
import Hummingbird

extension Admin {
    /// Routes for Acrobits' softphones and their back ends: `/admin/v1/apps/:app_uuid/acrobits/…`. Reporters and mediators are open
    /// endpoints, which are listed and closed as such.
    struct AcrobitsPhones: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.post, "apps/:app_uuid/acrobits/reporters", .change, createReporter),
                factory.application(.post, "apps/:app_uuid/acrobits/mediator", .change, enableMediator),
                factory.application(.get, "apps/:app_uuid/acrobits/app-ids", .read, listAppIDs),
                factory.application(.post, "apps/:app_uuid/acrobits/app-ids", .change, addAppID).repeatable,
                factory.application(.delete, "apps/:app_uuid/acrobits/app-ids/:app_id", .change, deleteAppID),
                factory.application(.get, "apps/:app_uuid/acrobits/selectors/:selector", .read, showSelector),
            ]
        }

        private func createReporter(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: NewReporter.self)
            _ = try Acrobits.Template(body.template)
            var options: [String: String] = [:]
            if !body.template.isEmpty { options[AcrobitsOption.template] = body.template }
            if body.hasDigest { options[AcrobitsOption.digest] = "md5" }
            let made = try await factory.openEndpoints.create(
                .acrobitsReporter, of: application, allowed: body.allowed, options: options, by: call.author)
            let digest = body.hasDigest ? try factory.admin.digest(of: made.endpoint, application) : nil
            return try .created(AcrobitsReporterReply(made.endpoint, key: made.key, digest: digest))
        }

        private func enableMediator(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: NewMediator.self)
            guard !body.allowed.isEmpty else { throw InvalidInput.missing("allowed") }
            if body.isPlain == true { try call.requireOperator(for: "plain_path") }
            let options = body.answersNotFound ? [AcrobitsOption.notFound: "404"] : [:]
            let made = try await factory.openEndpoints.create(
                .acrobitsMediator, of: application, allowed: body.allowed, options: options,
                isPlain: body.isPlain ?? (call.key.scope == .operator), by: call.author)
            return try .created(AcrobitsMediatorReply(made.endpoint, key: made.key))
        }

        private func listAppIDs(_ call: Call, _ application: Application) async throws -> Response {
            var replies: [AcrobitsAppIDReply] = []
            for appID in try await factory.store.acrobitsAppIDs(of: application.key) {
                guard let platform = try await factory.store.platform(appID.platformKey) else { continue }
                replies.append(AcrobitsAppIDReply(appID, platform))
            }
            return try Response(AcrobitsAppIDsReply(app_ids: replies))
        }

        private func addAppID(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: NewAppID.self)
            let (name, uuid) = try body.required()
            let platforms = try await factory.store.platforms(of: application.key)
            guard let platform = platforms.first(where: { $0.uuid == uuid }) else { throw APIError.missing("platform") }
            let appID = try await factory.admin.setAcrobitsAppID(
                name, on: platform, payload: body.payload, of: application, by: call.author)
            return try .created(AcrobitsAppIDReply(appID, platform))
        }

        private func deleteAppID(_ call: Call, _ application: Application) async throws -> Response {
            try await factory.admin.deleteAcrobitsAppID(
                call.text("app_id") ?? "", of: application, by: call.author)
            return Response(status: .noContent)
        }

        private func showSelector(_ call: Call, _ application: Application) async throws -> Response {
            let selector = (try call.text("selector") ?? "").asName
            let found = try await factory.store.acrobitsRegistrations(selector: selector, of: application.key)
            guard !found.isEmpty else { throw APIError.missing("selector") }
            return try Response(AcrobitsSelectorReply(selector, found))
        }
    }

    private struct NewReporter: Body, Sendable {
        static let fields = ["template", "digest", "allowed"]
        private(set) var template = ""
        private(set) var hasDigest = false
        private(set) var allowed: [String] = []

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "template": template = try reader.string(field) ?? ""
            case "digest": hasDigest = try reader.bool(field) ?? false
            default: allowed = try reader.networks(field)
            }
        }
    }

    private struct NewMediator: Body, Sendable {
        static let fields = ["allowed", "dead_token_status", "plain_path"]
        private(set) var allowed: [String] = []
        private(set) var answersNotFound = false
        /// Whether the path without a key leads to it too; nil where the key of the admin API says it.
        private(set) var isPlain: Bool?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "allowed": allowed = try reader.networks(field)
            case "plain_path": isPlain = try reader.bool(field)
            default:
                switch try reader.integer(field) {
                case nil, 200: answersNotFound = false
                case 404: answersNotFound = true
                default: throw InvalidInput(field: field, "has to be 200 or 404")
                }
            }
        }
    }

    private struct NewAppID: Body, Sendable {
        static let fields = ["app_id", "platform_uuid", "payload"]
        private var name: String?
        private var platform: UUID?
        private(set) var payload: AcrobitsPayloadTemplate?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "app_id": name = try reader.string(field)
            case "platform_uuid": platform = try reader.uuid(field)
            default:
                let value = try reader.value(field, bytesMax: AcrobitsPayloadTemplate.bytesMax)
                payload = value.isNull ? nil : try AcrobitsPayloadTemplate(value, field: field)
            }
        }

        func required() throws(InvalidInput) -> (String, UUID) {
            guard let name else { throw InvalidInput.missing("app_id") }
            guard let platform else { throw InvalidInput.missing("platform_uuid") }
            return (name, platform)
        }
    }
}

extension AdminService {
    /// The user and the password of a reporter's Digest authentication.
    fileprivate func digest(of endpoint: OpenEndpoint, _ application: Application) throws -> Acrobits.Digest {
        Acrobits.Digest(of: endpoint, sharedSecret: try sharedSecret(of: application))
    }
}

extension JSONReader {
    /// Addresses and networks, as texts that can be read as such.
    fileprivate mutating func networks(_ field: String) throws(InvalidInput) -> [String] {
        let texts = try strings(field) ?? []
        for (index, text) in texts.enumerated() where NetworkBlock(text) == nil {
            throw InvalidInput(field: "\(field)[\(index)]", "is '\(text)', it has to be a network such as 10.0.0.0/8")
        }
        return texts
    }
}
