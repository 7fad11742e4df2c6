import FoundationEssentials

/// Changes the saved messages of applications, and shows them on devices. Each change has its line in the audit log.
package struct TemplateService: Sendable {
    private let store: any Store
    private let pushes: PushService

    package init(store: any Store, pushes: PushService) { (self.store, self.pushes) = (store, pushes) }

    package func create(
        _ name: String, _ content: Push.Content, of application: Application, by author: AuditAuthor
    ) async throws -> Template {
        try await check(content, of: application)
        return try await store.audited(AuditedChange(by: author, "template.create", application, ["template": name])) {
            try await store.create(name, content, of: application.key)
        }
    }

    package func change(
        _ name: String, of application: Application, to content: Push.Content, by author: AuditAuthor
    ) async throws -> Template {
        try await check(content, of: application)
        return try await store.audited(
            AuditedChange(by: author, "template.update", application, ["template": name]), orUnknown: "template"
        ) {
            try await store.change(name, of: application.key, to: content)
        }
    }

    /// Throws where something uses it.
    package func delete(_ name: String, of application: Application, by author: AuditAuthor) async throws {
        let users = try await users(of: name, application.key)
        guard users.isEmpty else {
            throw StoreError.conflict("the template is used by \(users.prefix(3).joined(separator: ", "))")
        }
        try await store.audited(
            AuditedChange(by: author, "template.delete", application, ["template": name]), orUnknown: "template"
        ) {
            try await store.delete(Template.self, named: name, of: application.key)
        }
    }

    /// The waiting schedules that take the template as they send, and the drafts of campaigns that name it, in words.
    package func users(of name: String, _ application: Key<Application>) async throws -> [String] {
        let schedules = try await store.schedules(of: application, limit: 100) {
            $0.pushRequest.content.template?.name == name
        }
        let campaigns = try await store.drafts(of: application) { $0.templates.contains(name) }
        return schedules.map { "schedule \($0.key.id)" } + campaigns.map { "campaign \($0)" }
    }

    /// A template on a device.
    package struct Shown: Sendable {
        package let device: Device
        package let platform: Platform
        /// With the device's values.
        package let content: Push.Content
        /// In the form of the platform's provider.
        package let payload: JSONValue
    }

    /// The most devices of a preview.
    package static let devicesMax = 20

    /// The message with the values of some devices of an audience, as each of their platforms shows it.
    package func preview(
        _ content: Push.Content, to target: Target, of application: Application, atMost limit: Int
    ) async throws -> [Shown] {
        let content = try await pushes.resolved(content, of: application.key)
        let meant = target.platforms(of: try await store.platforms(of: application.key))
        let platforms = meant.filter { content.isMeant(for: $0.kind) }
        try content.check(for: Set(platforms.map(\.kind)), receiptID: UUID())
        let draft = try await pushes.audience(of: target, for: application.key)
        var shown: [Shown] = []
        for found in try await store.sample(of: draft, atMost: limit) where content.isMeant(for: found.platform.kind) {
            let own = try await store.sample(of: content, on: found.device.key, found.platform)
            let payload = try own.shown(on: found.platform.kind, receiptID: UUID(), at: store.clock.now)
            shown.append(Shown(device: found.device, platform: found.platform, content: own, payload: payload))
        }
        return shown
    }

    /// Throws as a push would, but for values that are not given yet.
    private func check(_ content: Push.Content, of application: Application) async throws {
        guard content.encrypted == nil else {
            throw InvalidInput(field: "message.encrypted", "is for its devices, and a template is for any")
        }
        try await store.checkPlainText("message", in: application.key)
        let meant = Target.everyone.platforms(of: try await store.platforms(of: application.key))
        let platforms = meant.filter { content.isMeant(for: $0.kind) }
        try content.check(for: Set(platforms.map(\.kind)), receiptID: UUID(), needsValues: false)
    }
}
