import FoundationEssentials
import Hummingbird

extension Admin {
    /// Applications: `/admin/v1/apps`. Their secrets are shown when they are created, and never again.
    struct Apps: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.open(.get, "apps", list),
                factory.open(.post, "apps", create),
                factory.application(.get, "apps/:app_uuid", .read, show),
                factory.application(.patch, "apps/:app_uuid", .change, update),
                factory.application(.delete, "apps/:app_uuid", .read, delete).withParameters,
                factory.application(.post, "apps/:app_uuid/api-key", .change, replaceAPIKey),
                factory.application(.post, "apps/:app_uuid/shared-secret", .change, replaceSharedSecret),
            ]
        }

        /// Lists what the key may see.
        private func list(_ call: Call) async throws -> Response {
            let query = try Query(call, Query.paging)
            let limit = try query.limit()
            let visible = try await factory.store.applications(
                in: call.key.bounds, after: try query.cursor().map { Key($0[0]) }, limit: limit + 1)
            let found = Array(visible.prefix(limit))
            let tenants = try await tenants(of: found)
            return try Response(
                ApplicationsReply(
                    apps: found.map { ApplicationReply($0, tenant: tenants[$0.tenantKey]) },
                    next_cursor: visible.count > limit ? found.last.map { Cursor($0.key.rawValue).text } : nil))
        }

        private func create(_ call: Call) async throws -> Response {
            let body = try await call.body(as: NewApp.self)
            let (name, identity) = try body.required(by: call)
            let tenant = try await tenant(body.tenant, call)
            try call.require(.change, on: .tenant(tenant), called: "tenant")
            let created = try await factory.admin.createApplication(
                name: name, description: body.description, identity: identity, of: tenant, by: call.author)
            return try .created(
                try await reply(created.application, apiKey: created.apiKey, sharedSecret: created.sharedSecret))
        }

        private func show(_ call: Call, _ application: Application) async throws -> Response {
            try Response(try await reply(application))
        }

        private func update(_ call: Call, _ application: Application) async throws -> Response {
            let edit = try await call.body(as: EditedApp.self).required()
            try await factory.admin.edit(application, edit, by: call.author)
            guard let renamed = try await factory.store.application(application.key) else {
                throw APIError.missing("app")
            }
            return try Response(try await reply(renamed))
        }

        /// Requires a key for the enclosing scope: no key may delete its own application.
        private func delete(_ call: Call, _ application: Application) async throws -> Response {
            try call.require(.change, on: .tenant(application.tenantKey), called: "app")
            let force = try Query(call, ["force"]).bool("force")
            try await factory.admin.delete(application, force: force, by: call.author)
            return Response(status: .noContent)
        }

        private func replaceAPIKey(_ call: Call, _ application: Application) async throws -> Response {
            let grace = try await call.bodyIfAny(as: Grace.self).duration
            let apiKey = try await factory.admin.replaceAPIKey(of: application, grace: grace, by: call.author)
            let ended = factory.admin.graceEndedEarly(application.previousAPIKey?.validUntil)
            return try Response(try await reply(application, apiKey: apiKey, graceEndedEarly: ended))
        }

        private func replaceSharedSecret(_ call: Call, _ application: Application) async throws -> Response {
            let grace = try await call.bodyIfAny(as: Grace.self).duration
            let secret = try await factory.admin.replaceSharedSecret(of: application, grace: grace, by: call.author)
            let ended = factory.admin.graceEndedEarly(application.previousSharedSecret?.validUntil)
            return try Response(try await reply(application, sharedSecret: secret, graceEndedEarly: ended))
        }

        /// The tenant that the body names, or the caller's own; the first one for an operator.
        private func tenant(_ uuid: UUID?, _ call: Call) async throws -> Key<Tenant> {
            if let uuid {
                guard let tenant = try await factory.store.tenant(uuid) else { throw APIError.missing("tenant") }
                return tenant.key
            }
            return switch call.key.bounds {
            case .everything: Tenant.first
            case .tenant(let own), .application(_, let own): own
            }
        }

        private func tenants(of applications: [Application]) async throws -> [Key<Tenant>: UUID] {
            var found: [Key<Tenant>: UUID] = [:]
            for key in Set(applications.map(\.tenantKey)) { found[key] = try await factory.store.tenant(key)?.uuid }
            return found
        }

        private func reply(
            _ application: Application, apiKey: String? = nil, sharedSecret: String? = nil,
            graceEndedEarly: Instant? = nil
        ) async throws -> ApplicationReply {
            ApplicationReply(
                application, tenant: try await factory.store.tenant(application.tenantKey)?.uuid, apiKey: apiKey,
                sharedSecret: sharedSecret, graceEndedEarly: graceEndedEarly)
        }
    }

    private struct NewApp: Body {
        static let fields = ["name", "description", "tenant_uuid", "app_uuid", "api_key", "shared_secret"]
        private var name: Name?
        private(set) var description: Description?
        private(set) var tenant: UUID?
        private var uuid: UUID?
        private var apiKey: String?
        private var sharedSecret: String?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "name": name = try reader.name(field)
            case "description": description = try reader.description(field)
            case "app_uuid": uuid = try reader.uuid(field)
            case "api_key": apiKey = try reader.string(field)
            case "shared_secret": sharedSecret = try reader.string(field)
            default: tenant = try reader.uuid(field)
            }
        }

        /// The name, and the identity that it had on another server, which only operators may give.
        func required(by call: Call) throws -> (Name, ApplicationIdentity) {
            guard let name else { throw InvalidInput.missing("name") }
            let identity = try ApplicationIdentity(uuid: uuid, apiKey: apiKey, sharedSecret: sharedSecret)
            if !identity.isEmpty { try call.requireOperator(for: "app_uuid, api_key and shared_secret") }
            return (name, identity)
        }
    }

    private struct EditedApp: Body {
        static let fields = [
            "name", "description", "ignores_unknown_fields", "quiet_hours", "caps", "campaign_approval",
            "web_push_endpoints", "encrypted_only", "encrypted_alert",
        ]
        private var name: Name?
        private var description: Description?
        private var ignoresUnknownFields: Bool?
        private var quietHours = Registration.Change<QuietHours>.keep
        private var caps: [FrequencyCap]?
        private var approvesCampaigns: Bool?
        private var webPush: WebPushAccess?
        private var takesEncryptedOnly: Bool?
        private var encryptedAlert: String?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "name": name = try reader.name(field)
            case "ignores_unknown_fields": ignoresUnknownFields = try reader.bool(field)
            case "campaign_approval": approvesCampaigns = try reader.bool(field)
            case "web_push_endpoints": webPush = try reader.choice(field)
            case "encrypted_only": takesEncryptedOnly = try reader.bool(field)
            case "encrypted_alert":
                encryptedAlert = try EncryptedContent.alert(try reader.string(field) ?? "", field: field)
            case "quiet_hours":
                let value = try reader.value(field)
                quietHours = value.isNull ? .clear : .set(try QuietHours(value, field: field))
            case "caps":
                let value = try reader.value(field)
                caps = value.isNull ? [] : try FrequencyCap.list(value, field: field)
            default: description = try reader.description(field)
            }
        }

        func required() throws(InvalidInput) -> ApplicationEdit {
            let edit = ApplicationEdit(
                name: name, description: description, ignoresUnknownFields: ignoresUnknownFields,
                quietHours: quietHours, caps: caps, approvesCampaigns: approvesCampaigns, webPush: webPush,
                takesEncryptedOnly: takesEncryptedOnly, encryptedAlert: encryptedAlert)
            guard !edit.isEmpty else {
                throw InvalidInput.missing(
                    "name, description, ignores_unknown_fields, quiet_hours, caps, campaign_approval, web_push_endpoints, "
                        + "encrypted_only or encrypted_alert")
            }
            return edit
        }
    }
}

extension Admin {
    /// How much of its quotas an application uses: `/admin/v1/apps/:app_uuid/quotas`.
    struct Quotas: Sendable {
        let factory: RouteFactory

        var routes: [Route] { [factory.application(.get, "apps/:app_uuid/quotas", .read, list)] }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let quotas = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.store.quotas(of: application.key)
            }
            return try Response(QuotasReply(quotas: quotas.map(QuotasReply.Quota.init)))
        }
    }
}
