import FoundationEssentials

/// Topics: the list with subscribers, new ones, and deletion.
struct TopicPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "topics", .read, list), make.application(.post, "topics", .change, create),
            make.application(.get, "topics/:topic", .read, show),
            make.application(.post, "topics/:topic", .change, change),
            make.application(.post, "topics/:topic/delete", .change, delete),
        ]
    }

    private static let perPage = 50

    @Sendable private func list(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        .page(try await page(visit, application, Self.newForm(application)))
    }

    private func page(_ visit: DashboardRequest, _ application: Application, _ form: Form) async throws -> PageView {
        let text = visit.query["q"]
        let found = try await visit.searching(application) {
            try await visit.services.store.topics(
                TopicQuery(applicationKey: application.key, text: text.isEmpty ? nil : text),
                after: visit.query["after"], limit: Self.perPage + 1)
        }
        let shown = Array(found.elements.prefix(Self.perPage))
        var page = Self.page(
            application, ListPage(shown, total: found.total), search: text,
            form: visit.may(.change, Permission.Subject(application)) ? form : nil)
        if found.elements.count > shown.count, let last = shown.last {
            page.sections[0].next = Address.query(
                Address.of(application, "topics"), [("q", text), ("after", last.name)])
        }
        return page.saying(visit, ["created": "Created.", "deleted": "Deleted: its devices are unsubscribed."])
    }

    static func page(_ application: Application, _ topics: ListPage<Topic>, search: String, form: Form?) -> PageView {
        var page = PageView(
            "Topics", in: application, lead: topics.total == 1 ? "One topic." : "\(topics.total.grouped) topics."
        ) {
            Section {
                Form.filter(
                    Address.of(application, "topics"), [.text("q", "Name", search, type: "search")], "Search")
                Table(
                    "Topics", ["Topic", "Expires", "Subscribers"],
                    topics.elements.map { topic in
                        [
                            [.link(topic.name, Address.of(application, "topics", topic.name))],
                            [.time(topic.expiresAt)],
                            [
                                .link(
                                    "Show devices",
                                    Address.query(Address.of(application, "devices"), [("topic", topic.name)]))
                            ],
                        ]
                    },
                    empty: search.isEmpty
                        ? "No topics yet. A topic appears when a device subscribes to it, or when you create it."
                        : "No topics match.")
            }
        }
        if let form {
            page.sections.append(Section("New topics") { form })
        }
        return page
    }

    private static func newForm(_ application: Application) -> Form {
        Form(
            Address.of(application, "topics"), "Create",
            [
                .area(
                    "names", "Names",
                    hint: "One per line, or separated by commas. At most \(NewTopic.perWrite) at once.",
                    isRequired: true),
                .time("expires_at", "Expires at", hint: "Empty: never."),
            ])
    }

    @Sendable private func create(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        try await visit.trying(
            Self.newForm(application), names: ["name": "names"], on: { try await page(visit, application, $0) }
        ) {
            let names = visit.form.list("names")
            guard !names.isEmpty, names.count <= NewTopic.perWrite else {
                throw InvalidInput(field: "names", "has \(names.count) names, it has to be 1 to \(NewTopic.perWrite)")
            }
            let expiresAt = try Self.expiry(visit)
            let topics = try Self.topics(visit.form.raw("names"), expiresAt, now: visit.services.clock.now)
            _ = try await visit.services.all.topics.create(topics, of: application, by: visit.author)
            return .redirect(Address.query(Address.of(application, "topics"), [("done", "created")]))
        }
    }

    /// Throws for the first wrong name, with its line.
    private static func topics(_ text: String, _ expiresAt: Instant?, now: Instant) throws(InvalidInput) -> [NewTopic] {
        var topics: [NewTopic] = []
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            for name in ListedNames.read(String(line)) {
                do throws(InvalidInput) {
                    topics.append(try NewTopic(name: name, expiresAt: expiresAt, now: now))
                } catch {
                    guard error.field == "name" else { throw error }
                    throw InvalidInput(field: "names", "line \(index + 1): \(error.problem)")
                }
            }
        }
        return topics
    }

    private func topic(_ visit: DashboardRequest, _ application: Application) async throws -> Topic {
        guard let name = try? Topic.normalized(visit.text("topic"), field: "topic"),
            let topic = try await visit.services.store.topic(named: name, of: application.key)
        else { throw APIError.missing("topic") }
        return topic
    }

    @Sendable private func show(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let topic = try await topic(visit, application)
        return .page(try await page(visit, topic, application).saying(visit, ["saved": "Saved."]))
    }

    private func page(
        _ visit: DashboardRequest, _ topic: Topic, _ application: Application, expiry: Form? = nil
    ) async throws -> PageView {
        let count = try await subscribers(of: topic, visit, application)
        let mayChange = visit.may(.change, Permission.Subject(application))
        var page = Self.page(
            topic, application, subscribers: count, mayChange: mayChange, Self.deleteForm(topic, application, count))
        if visit.may(.send, Permission.Subject(application)) {
            let compose = Address.query(Address.of(application, "compose"), [("topic", topic.name)])
            page.actions = [Link("Compose to this topic", compose)]
        }
        if mayChange {
            page.sections.append(
                Section("Expiry", text: "An expired topic has no subscribers, and is deleted.") {
                    expiry ?? Self.expiryForm(topic, application)
                })
        }
        return page
    }

    private static func expiryForm(_ topic: Topic, _ application: Application) -> Form {
        Form(
            Address.of(application, "topics", topic.name), "Save",
            [.time("expires_at", "Expires at", topic.expiresAt, hint: "Empty: never.")]
        ).guarded
    }

    @Sendable private func change(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let topic = try await topic(visit, application)
        return try await visit.trying(
            Self.expiryForm(topic, application), on: { try await page(visit, topic, application, expiry: $0) }
        ) {
            _ = try await visit.services.all.topics.change(
                topic, of: application, expiresAt: try Self.expiry(visit), by: visit.author)
            return .redirect(
                Address.query(Address.of(application, "topics", topic.name), [("done", "saved")]))
        }
    }

    private static func expiry(_ visit: DashboardRequest) throws(InvalidInput) -> Instant? {
        let expiresAt = try visit.form.instant("expires_at")
        if let expiresAt, expiresAt <= visit.services.clock.now {
            throw InvalidInput(field: "expires_at", "has to be a time in the future")
        }
        return expiresAt
    }

    private func subscribers(of topic: Topic, _ visit: DashboardRequest, _ application: Application) async throws -> Int
    {
        let platforms = try await visit.services.store.platforms(of: application.key)
        return try await visit.searching(application) {
            try await visit.services.store.deviceCount(DeviceSearch(platforms: platforms.map(\.key), topic: topic.name))
        }
    }

    private func question(
        before topic: Topic, _ visit: DashboardRequest, _ application: Application
    ) async throws -> PageAnswer? {
        guard visit.form[DashboardRequest.confirmed].isEmpty else { return nil }
        let count = try await subscribers(of: topic, visit, application)
        let users = try await visit.searching(application) {
            try await visit.services.store.users(in: application.key) { $0.topics.contains(topic.name) }
        }
        let words = users.isEmpty ? "nothing" : SegmentPages.words(users)
        return visit.question(
            "Delete the topic “\(topic.name)”?",
            "Its devices are unsubscribed. Only their apps can subscribe them again.",
            [Fact("Subscribers", .number(count)), Fact("Used by", .text(words))], yes: "Delete the topic",
            no: Address.of(application, "topics", topic.name))
    }

    private static func deleteForm(_ topic: Topic, _ application: Application, _ count: Int) -> Form {
        .button(
            Address.of(application, "topics", topic.name, "delete"),
            "Delete it, and unsubscribe \(count == 1 ? "one device" : "\(count.grouped) devices")", isDanger: true)
    }

    static func page(_ topic: Topic, _ application: Application, subscribers: Int, mayChange: Bool, _ deletion: Form)
        -> PageView
    {
        let devices = Address.query(Address.of(application, "devices"), [("topic", topic.name)])
        return PageView(topic.name, in: application, "Topics") {
            Section {
                Facts {
                    Fact("Subscribers", .link(subscribers.grouped, devices))
                    Fact("Expires", .time(topic.expiresAt))
                }
                if mayChange { ButtonRow([deletion]) }
            }
        }
    }

    @Sendable private func delete(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let topic = try await topic(visit, application)
        if let question = try await question(before: topic, visit, application) { return question }
        try await visit.services.all.topics.delete(topic, of: application, by: visit.author)
        return .redirect(Address.query(Address.of(application, "topics"), [("done", "deleted")]))
    }
}
