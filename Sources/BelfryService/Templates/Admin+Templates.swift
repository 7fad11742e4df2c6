import FoundationEssentials
import Hummingbird

extension Admin {
    /// Saved messages: `/admin/v1/apps/:app_uuid/templates`, by their names.
    struct Templates: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/templates", .read, list),
                factory.application(.post, "apps/:app_uuid/templates", .change, create),
                factory.application(.get, "apps/:app_uuid/templates/:template", .read, show),
                factory.application(.patch, "apps/:app_uuid/templates/:template", .change, update),
                factory.application(.delete, "apps/:app_uuid/templates/:template", .change, delete),
                factory.application(.post, "apps/:app_uuid/templates/:template/preview", .read, preview),
            ]
        }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let templates = try await factory.store.templates(of: application.key)
            return try Response(TemplatesReply(templates: templates.map { TemplateEntryReply($0) }))
        }

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: TemplateBody.self)
            let template = try await factory.services.templates.create(
                try body.requiredName(), try body.requiredMessage(), of: application, by: call.author)
            return try .created(TemplateReply(template))
        }

        /// Shows the present message or, with `version`, an earlier one; with the list of versions and what uses it.
        private func show(_ call: Call, _ application: Application) async throws -> Response {
            let template = try await found(call, application)
            let users = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.services.templates.users(of: template.name, application.key)
            }
            return try Response(
                TemplateReply(template, try await factory.store.versions(of: template.key), usedBy: users))
        }

        private func update(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: TemplateBody.self)
            let template = try await found(call, application)
            guard body.name ?? template.name == template.name else {
                throw InvalidInput(field: "name", "stays: make another template")
            }
            return try Response(
                TemplateReply(
                    try await factory.services.templates.change(
                        template.name, of: application, to: try body.requiredMessage(), by: call.author)))
        }

        private func delete(_ call: Call, _ application: Application) async throws -> Response {
            let name = try await found(call, application).name
            try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.services.templates.delete(name, of: application, by: call.author)
            }
            return Response(status: .noContent)
        }

        private func preview(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: PreviewBody.self)
            let template = try await found(call, application)
            let content = try body.content(of: template)
            let shown = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.services.templates.preview(
                    content, to: try body.target(), of: application, atMost: body.limit)
            }
            return try Response(TemplatePreviewReply(devices: shown.map { TemplatePreviewReply.Device($0) }))
        }

        private func found(_ call: Call, _ application: Application) async throws -> Template {
            try await factory.store.template(named: (call.text("template") ?? "").asName, of: application.key)
                .orMissing("template")
        }
    }

    private struct TemplateBody: Body {
        static let fields = ["name", "message"]
        private(set) var name: String?
        private var content: Push.Content?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "name": name = try reader.string(field)
            default: content = try PushBody.content(field, from: &reader)
            }
        }

        func requiredName() throws(InvalidInput) -> String { try Template.checked(name: name.given(as: "name")) }

        func requiredMessage() throws(InvalidInput) -> Push.Content {
            guard let content else { throw InvalidInput.missing("message") }
            try content.checkMessage()
            return content
        }
    }

    /// The values that a preview fills in, and the devices.
    private struct PreviewBody: Body {
        static let fields = ["where", "target", "limit", "version", "message"]
        private var expression: AudienceExpression?
        private var named: TargetBody?
        private var message: Push.Content?
        private var version: Int64?
        private(set) var limit = 5

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "where": expression = try AudienceExpression(json: reader.value(field), field: field)
            case "target": named = try TargetBody(field, from: &reader)
            case "message": message = try PushBody.content(field, from: &reader)
            case "version": version = try reader.integer(field)
            default:
                guard let number = try reader.integer(field) else { return }
                guard 1...Int64(TemplateService.devicesMax) ~= number else {
                    throw InvalidInput(field: field, "is \(number), it has to be 1 to \(TemplateService.devicesMax)")
                }
                limit = Int(number)
            }
        }

        /// The devices; everyone where none are named.
        func target() throws(InvalidInput) -> Target {
            guard let named else { return expression.map { Target($0) } ?? .everyone }
            guard expression == nil else { throw InvalidInput(field: "where", "and target exclude each other") }
            guard named.channels == nil else {
                throw InvalidInput(field: "target.channels", "have subscribers that only Apple knows")
            }
            return try named.checked(channels: nil)
        }

        /// The message as a push would write it beside the template.
        func content(of template: Template) throws(InvalidInput) -> Push.Content {
            var content = message ?? Push.Content()
            let name = version.map { "\(template.name)@\($0)" } ?? template.name
            content.template = try TemplateReference(name, field: "version")
            return content
        }
    }

    package struct TemplatesReply: Codable, Sendable {
        package let templates: [TemplateEntryReply]
    }

    package struct TemplateEntryReply: Codable, Sendable {
        package let name: String
        package let version: Int64
        package let created_at: String
        package let updated_at: String

        init(_ entry: TemplateEntry) {
            (name, version) = (entry.name, entry.version)
            (created_at, updated_at) = (entry.createdAt.text, entry.updatedAt.text)
        }
    }

    private struct TemplatePreviewReply: Encodable, Sendable {
        let devices: [Device]

        struct Device: Encodable, Sendable {
            let device_uuid: String
            let platform_uuid: String
            let type: String
            let title: String?
            let body: String?
            let payload: JSONValue

            init(_ shown: TemplateService.Shown) {
                (device_uuid, platform_uuid) = (shown.device.uuid.lowercased, shown.platform.uuid.lowercased)
                type = shown.platform.kind.rawValue
                (title, body, payload) = (shown.content.shared.title, shown.content.body, shown.payload)
            }
        }
    }

    struct TemplateReply: Encodable, Sendable {
        let name: String
        let version: Int64
        let message: JSONValue
        /// The names of its values, in the order of its texts.
        let values: [String]
        let created_at: String
        let updated_at: String
        /// Earlier ones, the latest first; nil where they are not asked for.
        let versions: [Version]?
        let used_by: [String]?

        struct Version: Encodable, Sendable {
            let version: Int64
            let message: JSONValue
            let replaced_at: String
        }

        init(_ template: Template, _ versions: [Template.Earlier]? = nil, usedBy: [String]? = nil) {
            (name, version, message) = (template.name, template.version, template.content.json)
            values = ((try? template.content.valuesOfPlaceholders()) ?? []).withoutRepeats
            (created_at, updated_at) = (template.createdAt.text, template.updatedAt.text)
            self.versions = versions?.map {
                Version(version: $0.version, message: $0.contents.json, replaced_at: $0.replacedAt.text)
            }
            used_by = usedBy
        }
    }
}
