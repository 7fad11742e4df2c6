import FoundationEssentials

/// Saved messages: the list, a form for one with its languages, its versions, and how it looks.
struct TemplatePages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "templates", .read, list),
            make.application(.post, "templates", .change, create).taking(bytes: ComposePages.bodyBytesMax),
            make.application(.get, "templates/:template", .read, show),
            make.application(.post, "templates/:template", .change, change).taking(bytes: ComposePages.bodyBytesMax),
            make.application(.post, "templates/:template/delete", .change, delete),
        ]
    }

    /// Other names that faults have for fields.
    private static let names = ComposeForm.names.merging(["name": "name", "where": "where"]) { $1 }

    // MARK: The list

    @Sendable private func list(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        .page(try await page(visit, application, try await form(visit, application, nil)))
    }

    private func page(_ visit: DashboardRequest, _ application: Application, _ form: Form) async throws -> PageView {
        let templates = try await visit.services.store.templates(of: application.key)
        let maySend = visit.may(.send, Permission.Subject(application))
        var page = PageView(
            "Templates", in: application, lead: "Saved messages. Pushes and schedules use them by name."
        ) {
            Section {
                Table(
                    "Templates", ["Template", "Version", "Changed"] + (maySend ? ["Send"] : []),
                    templates.map { template in
                        let link = Value.link("compose", Self.compose(template.name, application))
                        return [
                            [.link(template.name, Self.address(template.name, application))],
                            [.number(Int(template.version))], [.time(template.updatedAt)],
                        ] + (maySend ? [[link]] : [])
                    }, empty: "No templates yet.")
            }
        }
        if visit.may(.change, Permission.Subject(application)) {
            page.sections.append(Section("New template") { form })
        }
        return page.saying(visit, ["deleted": "Deleted."])
    }

    @Sendable private func create(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let form = try await form(visit, application, nil)
        return try await visit.trying(form, names: Self.names, on: { try await page(visit, application, $0) }) {
            let content = try await content(visit, application)
            let name = try Template.checked(name: visit.form["name"])
            if visit.form["action"] == "preview" {
                var kept = form
                kept.keep(visit.form)
                var page = try await page(visit, application, kept)
                page.sections.insert(try await preview(of: content, visit, application), at: 0)
                return .page(page)
            }
            let template = try await visit.services.all.templates.create(
                name, content, of: application, by: visit.author)
            return .redirect(Address.query(Self.address(template.name, application), [("done", "saved")]))
        }
    }

    // MARK: One template

    private func template(_ visit: DashboardRequest, _ application: Application) async throws -> Template {
        try await visit.services.store.template(named: visit.text("template").asName, of: application.key)
            .orMissing("template")
    }

    @Sendable private func show(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let template = try await template(visit, application)
        let form = try await form(visit, application, template)
        let looks = try await preview(of: template.content, visit, application)
        return .page(try await page(template, visit, application, form, looks))
    }

    private func page(
        _ template: Template, _ visit: DashboardRequest, _ application: Application, _ form: Form, _ looks: Section?
    ) async throws -> PageView {
        let users = try await visit.services.all.templates.users(of: template.name, application.key)
        let versions = try await visit.services.store.versions(of: template.key)
        let values = try template.content.valuesOfPlaceholders().withoutRepeats
        let mayChange = visit.may(.change, Permission.Subject(application))
        let maySend = visit.may(.send, Permission.Subject(application))
        var page = PageView(template.name, in: application, "Templates") {
            Section {
                Facts {
                    Fact("Version", .number(Int(template.version)))
                    Fact("Changed", .time(template.updatedAt))
                    Fact("Values", .text(values.isEmpty ? "none" : values.joined(separator: ", ")))
                    Fact("Used by", .text(users.isEmpty ? "no waiting schedule" : users.joined(separator: ", ")))
                }
                if maySend { ButtonRow([Link("Compose from it", Self.compose(template.name, application))]) }
                if mayChange {
                    ButtonRow([
                        Form.button(
                            Address.of(application, "templates", template.name, "delete"), "Delete the template",
                            isDanger: true)
                    ])
                }
            }
        }
        if let looks { page.sections.append(looks) }
        if mayChange { page.sections.append(Section("Edit") { form }) }
        if !versions.isEmpty {
            page.sections.append(
                Section("Earlier versions") {
                    Table(
                        "Earlier versions", ["Version", "Replaced", "Message"],
                        versions.map { version in
                            let compose = Self.compose("\(template.name)@\(version.version)", application)
                            return [
                                [maySend ? .link("\(version.version)", compose) : .text("\(version.version)")],
                                [.time(version.replacedAt)], [.text(version.contents.summary)],
                            ]
                        }, empty: "")
                })
        }
        return page.saying(visit, ["saved": "Saved."])
    }

    @Sendable private func change(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let template = try await template(visit, application)
        let form = try await form(visit, application, template)
        return try await visit.trying(
            form, names: Self.names, on: { try await page(template, visit, application, $0, nil) }
        ) {
            let content = try await content(visit, application)
            if visit.form["action"] == "preview" {
                var kept = form
                kept.keep(visit.form)
                let looks = try await preview(of: content, visit, application)
                return .page(try await page(template, visit, application, kept, looks))
            }
            _ = try await visit.services.all.templates.change(
                template.name, of: application, to: content, by: visit.author)
            return .redirect(Address.query(Self.address(template.name, application), [("done", "saved")]))
        }
    }

    @Sendable private func delete(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let template = try await template(visit, application)
        let question = visit.question(
            "Delete the template “\(template.name)”?", "Its versions are deleted too. Pushes that were sent are kept.",
            [], yes: "Delete the template", no: Self.address(template.name, application))
        if let question { return question }
        try await visit.searching(application) {
            try await visit.services.all.templates.delete(template.name, of: application, by: visit.author)
        }
        return .redirect(Address.query(Address.of(application, "templates"), [("done", "deleted")]))
    }

    // MARK: The form

    private func form(
        _ visit: DashboardRequest, _ application: Application, _ template: Template?
    ) async throws -> Form {
        let platforms = try await visit.services.store.platforms(of: application.key)
        let action = template.map { Self.address($0.name, application) } ?? Address.of(application, "templates")
        return ComposeForm(Set(platforms.map(\.kind)), action: action).templateForm(template)
    }

    private func content(_ visit: DashboardRequest, _ application: Application) async throws -> Push.Content {
        let platforms = try await visit.services.store.platforms(of: application.key)
        let json = try ComposeForm(Set(platforms.map(\.kind)), action: "").templateMessage(visit.form)
        var reader = JSONReader(Array(json.storedText.utf8))
        let content = try Admin.PushBody.content("message", from: &reader)
        try content.checkMessage()
        return content
    }

    /// How the first device of the audience shows it.
    private func preview(
        of content: Push.Content, _ visit: DashboardRequest, _ application: Application
    ) async throws -> Section {
        let text = visit.form["where"]
        let target = try text.isEmpty ? Target.everyone : Target(AudienceExpression(text: text, field: "where"))
        let platforms = target.platforms(of: try await visit.services.store.platforms(of: application.key))
            .filter { content.isMeant(for: $0.kind) }
        let draft = try await visit.services.pushes.audience(of: target, for: application.key)
        let device = try await visit.searching(application) {
            try await visit.services.store.sample(of: draft, atMost: 1).first
        }
        let shown =
            if let device {
                try await visit.services.store.sample(of: content, on: device.device.key, device.platform)
            } else {
                try content.filled(with: PersonalizedValues(.init(badge: 1)))
            }
        let previews = Preview.all(
            of: content, shown: shown, on: Set(platforms.map(\.kind)), for: application.name,
            at: visit.services.clock.now)
        return Section(
            "How it looks",
            text:
                "With the values of \(device.map { $0.device.label } ?? "no device"). Values that a push gives are empty."
        ) { Previews(previews) }
    }

    private static func address(_ name: String, _ application: Application) -> String {
        Address.of(application, "templates", name)
    }

    private static func compose(_ name: String, _ application: Application) -> String {
        Address.query(Address.of(application, "compose"), [("template", name)])
    }
}

extension ComposeForm {
    /// The rows for further languages in an empty form.
    private static let emptyRows = 2
    /// The fields of a language, with their labels; the first letter of a name says the field.
    private static let translated = [("title", "Title"), ("body", "Message"), ("image", "Picture"), ("link", "Link")]

    /// The form of a template; nil for a new one.
    func templateForm(_ template: Template?) -> Form {
        var data = template.map { self.data(of: PushRequest(content: $0.content, target: .everyone)) } ?? FormData()
        let languages = template?.content.translations.languages ?? []
        for (place, language) in languages.enumerated() {
            data.put("lang-\(place)", language.tag)
            for (name, _) in Self.translated { data.put("\(name)-\(place)", language.texts[name] ?? "") }
        }
        let rows = min(languages.count + Self.emptyRows, Translations.languagesMax)
        var form = messageForm(
            "Save", data,
            translations: (0..<rows).map { place in
                FieldGroup(
                    place < languages.count ? "In \(languages[place].tag)" : "In another language",
                    [.text("lang-\(place)", "Language", hint: "Such as de or pt-BR.")]
                        + Self.translated.map { name, label -> Field in
                            name == "body" ? .area("\(name)-\(place)", label) : .text("\(name)-\(place)", label)
                        }, isFolding: true)
            })
        if template == nil {
            form.fields.insert(
                .text("name", "Name", hint: "Pushes use it by this name, such as welcome.", isRequired: true), at: 0)
        }
        form.lastGroups = [
            FieldGroup(
                "Preview",
                [.text("where", "On a device of", hint: "An expression such as lang:de. Empty: of everyone.")])
        ]
        form.others = [.init(name: "action", value: "preview", label: "Preview")]
        guard let template else { return form }
        form.keep(data)
        return form.guarded(by: "\(template.key)-\(template.version)")
    }

    /// The message that the form of a template says.
    func templateMessage(_ form: FormData) throws(InvalidInput) -> JSONValue {
        guard case .object(var members) = try message(form) else { return .object([:]) }
        var languages: [JSONObject.Member] = []
        for place in 0..<Translations.languagesMax {
            var texts: JSONObject = [:]
            for (name, _) in Self.translated where !form["\(name)-\(place)"].isEmpty {
                texts[name] = .string(form["\(name)-\(place)"])
            }
            let tag = form["lang-\(place)"]
            guard !tag.isEmpty || !texts.isEmpty else { continue }
            guard !tag.isEmpty else { throw InvalidInput(field: "lang-\(place)", "is missing") }
            guard !texts.isEmpty else { throw InvalidInput(field: "lang-\(place)", "has no text") }
            languages.append((tag, .object(texts)))
        }
        if !languages.isEmpty { members["translations"] = .object(JSONObject(languages)) }
        return .object(members)
    }
}
