import FoundationEssentials

/// Webhooks of an application: the list with the feed, a new one, and the page of one with its deliveries.
struct WebhookPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "webhooks", .read, list), make.application(.post, "webhooks", .change, create),
            make.application(.post, "feed", .change, setFeed),
            webhook(.get, "", .read) { visit, webhook, application in
                .page(try await page(visit, webhook, application).saying(visit, Self.notices))
            },
            webhook(.post, "", .change, change), webhook(.post, "/test", .change, test),
            webhook(.post, "/pause", .change) { visit, webhook, application in
                _ = try await visit.services.all.webhooks.pause(webhook, of: application, by: visit.author)
                return Self.done("paused", webhook, application)
            },
            webhook(.post, "/resume", .change) { visit, webhook, application in
                _ = try await visit.services.all.webhooks.resume(webhook, of: application, by: visit.author)
                return Self.done("resumed", webhook, application)
            },
            webhook(.post, "/rotate", .change, rotate), webhook(.post, "/replay", .change, replay),
            webhook(.post, "/delete", .change, delete), webhook(.get, "/events/:event_id", .read, event),
        ]
    }

    private static let notices = [
        "saved": "Saved.", "paused": "Paused: events wait until you resume.",
        "resumed": "Resumed: what waited is sent now.", "replayed": "The events are sent again.",
    ]

    private func webhook(
        _ method: PageRoute.Method, _ below: String, _ action: Permission.Action,
        _ handler: @escaping @Sendable (DashboardRequest, Webhook, Application) async throws -> PageAnswer
    ) -> PageRoute {
        make.application(method, "webhooks/:webhook_uuid\(below)", action) { visit, application in
            let uuid = try visit.uuid("webhook_uuid").orMissing("webhook")
            let webhook = try await visit.services.store.webhook(uuid, of: application.key).orMissing("webhook")
            return try await handler(visit, webhook, application)
        }
    }

    private static func address(_ webhook: Webhook, _ application: Application, _ below: String = "") -> String {
        Address.of(application, "webhooks", webhook.uuid.lowercased, below)
    }

    private static func done(_ what: String, _ webhook: Webhook, _ application: Application) -> PageAnswer {
        .redirect(Address.query(address(webhook, application), [("done", what)]))
    }

    // MARK: The list

    @Sendable private func list(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        .page(
            try await page(visit, application).saying(
                visit, ["deleted": "The webhook is deleted.", "feed": "The feed keeps these events from now on."]))
    }

    private func page(
        _ visit: DashboardRequest, _ application: Application, new: Form? = nil
    ) async throws -> PageView {
        let webhooks = try await visit.services.store.webhooks(of: application.key)
        let feed = try await visit.services.store.webhookFeed(of: application.key)
        var page = PageView(
            "Webhooks", in: application, lead: "Addresses of your own systems, to which Belfry posts what happens."
        ) {
            Section {
                Table(
                    "Webhooks", ["Webhook", "State", "Address", "#Waiting"],
                    webhooks.map { webhook in
                        [
                            [.link(webhook.name, Self.address(webhook, application))], webhook.stateValues,
                            [.text(webhook.url)], [.number(Int(webhook.pending) + webhook.retries)],
                        ]
                    }, empty: "No webhooks yet.")
            }
        }
        let mayChange = visit.may(.change, Permission.Subject(application))
        if mayChange {
            page.sections.append(
                Section("New webhook", text: "Its secret is shown once.") { new ?? Self.newForm(application) })
        }
        page.sections.append(
            Section("Feed", text: "Systems that cannot be reached fetch the events: see docs/Webhooks.md.") {
                if mayChange { Self.feedForm(feed.kinds, application) }
                Facts {
                    Fact("Keeps", .text(feed.kinds.isEmpty ? "nothing" : feed.kinds.names.joined(separator: ", ")))
                    Fact("Newest cursor", .number(Int(feed.last)))
                }
            })
        return page
    }

    private static func fields(_ name: String = "", _ url: String = "") -> [Field] {
        [
            .text("name", "Name", name, isRequired: true),
            .text("url", "Address", url, isRequired: true, type: "url", placeholder: "https://"),
        ]
    }

    private static func group(_ kinds: WebhookKinds) -> FieldGroup {
        FieldGroup(
            "Kinds of events", WebhookEvent.Kind.allCases.map { .check($0.rawValue, $0.rawValue, kinds.contains($0)) })
    }

    private static func kinds(_ form: FormData) -> WebhookKinds {
        Set(WebhookEvent.Kind.allCases.filter { form.isChecked($0.rawValue) })
    }

    private static func newForm(_ application: Application) -> Form {
        var form = Form(Address.of(application, "webhooks"), "Create", fields())
        form.groups = [group([])]
        return form
    }

    private static func feedForm(_ kinds: WebhookKinds, _ application: Application) -> Form {
        var form = Form(Address.of(application, "feed"), "Save")
        form.groups = [group(kinds)]
        form.isQuiet = true
        form.foldedAs = "Choose the events"
        return form
    }

    @Sendable private func create(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        try await visit.trying(
            Self.newForm(application), on: { try await page(visit, application, new: $0) }
        ) {
            let made = try await visit.services.all.webhooks.create(
                visit.form["name"], visit.form["url"], Self.kinds(visit.form), of: application, by: visit.author)
            return .outcome(Self.shown(made.secret, made.webhook, application))
        }
    }

    private static func shown(_ secret: WebhookSecret, _ webhook: Webhook, _ application: Application) -> PageView {
        PageView(webhook.name, in: application, "Webhooks") {
            Section(
                "Shown only once", text: "The receiver knows by this secret that a message is from here.",
                style: .secret
            ) {
                Facts([Fact("Secret", .code(secret.text))])
                ButtonRow([Link("Done", address(webhook, application), isMain: true)])
            }
        }
    }

    @Sendable private func setFeed(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        try await visit.services.all.webhooks.setFeed(Self.kinds(visit.form), of: application, by: visit.author)
        return .redirect(Address.query(Address.of(application, "webhooks"), [("done", "feed")]))
    }

    // MARK: One webhook

    private static let perPage = 50

    private func page(
        _ visit: DashboardRequest, _ webhook: Webhook, _ application: Application, edit: Form? = nil,
        replay: Form? = nil
    ) async throws -> PageView {
        let before = visit.number("before").map { Key<WebhookAttempt>($0) }
        let attempts = try await visit.services.store.attempts(of: webhook.key, before: before, limit: Self.perPage)
        let base = Self.address(webhook, application)
        let mayChange = visit.may(.change, Permission.Subject(application))
        var table = Table(
            "Deliveries", ["Time", "Event", "Answer", "#Attempt", "#Milliseconds", "Words"],
            attempts.map { attempt in
                [
                    [.time(attempt.at)],
                    [
                        attempt.event.map { .link(attempt.type, "\(base)/events/\(WebhookEvent.id($0))") }
                            ?? .text(attempt.type)
                    ],
                    [attempt.answer.value], [.number(attempt.number)], [.number(attempt.answer.milliseconds)],
                    [.text(attempt.answer.fault ?? attempt.answer.body)],
                ]
            }, empty: "Nothing was sent in the last day.")
        if attempts.count == Self.perPage, let last = attempts.last {
            table.next = Address.query(base, [("before", "\(last.key)")])
        }
        var page = PageView(webhook.name, in: application, "Webhooks") {
            Section {
                Facts {
                    Fact("State", webhook.stateValues)
                    Fact("Address", .text(webhook.url))
                    Fact("Events", .text(webhook.kinds.names.joined(separator: ", ")))
                    Fact("Not offered yet", .number(Int(webhook.pending)))
                    Fact("Wait for a retry", .number(webhook.retries))
                    if webhook.dropped > 0 { Fact("Dropped, too old or too many", .number(Int(webhook.dropped))) }
                    if let until = webhook.formerUntil { Fact("The former secret signs until", .time(until)) }
                    Fact("UUID", .code(webhook.uuid.lowercased))
                }
                if mayChange {
                    ButtonRow([
                        Form.button("\(base)/test", "Send a test"),
                        webhook.paused == nil
                            ? Form.button("\(base)/pause", "Pause") : Form.button("\(base)/resume", "Resume"),
                        Form.button("\(base)/rotate", "New secret"),
                        Form.button("\(base)/delete", "Delete the webhook", isDanger: true),
                    ])
                }
            }
            Section("Deliveries", text: "The attempts of the last day, newest first.") { table }
        }
        if mayChange {
            page.sections += [
                Section("Send again", text: "Events are kept for three days.") {
                    replay ?? Self.replayForm(webhook, application)
                }, Section("Edit") { edit ?? Self.editForm(webhook, application) },
            ]
        }
        return page
    }

    private static func editForm(_ webhook: Webhook, _ application: Application) -> Form {
        var form = Form(address(webhook, application), "Save", fields(webhook.name, webhook.url))
        form.groups = [group(webhook.kinds)]
        return form.guarded(by: [webhook.name, webhook.url, "\(webhook.kinds.bits)"].joined(separator: "\n"))
    }

    private static func replayForm(_ webhook: Webhook, _ application: Application) -> Form {
        var form = Form(
            address(webhook, application, "replay"), "Send again",
            [.time("since", "Everything since", isRequired: true)])
        form.isQuiet = true
        return form
    }

    @Sendable private func change(
        _ visit: DashboardRequest, _ webhook: Webhook, _ application: Application
    ) async throws -> PageAnswer {
        try await visit.trying(
            Self.editForm(webhook, application),
            on: { try await page(visit, webhook, application, edit: $0) }
        ) {
            let edit = WebhookEdit(
                name: visit.form["name"], url: visit.form["url"] == webhook.url ? nil : visit.form["url"],
                kinds: Self.kinds(visit.form))
            _ = try await visit.services.all.webhooks.change(webhook, edit, of: application, by: visit.author)
            return Self.done("saved", webhook, application)
        }
    }

    @Sendable private func test(
        _ visit: DashboardRequest, _ webhook: Webhook, _ application: Application
    ) async throws -> PageAnswer {
        let answer = try await visit.services.shares.holding(.tests, for: visit.holder(application)) {
            try await visit.services.all.webhooks.test(webhook, of: application, by: visit.author)
        }
        var page = try await page(visit, webhook, application)
        let words = answer.fault ?? "status \(answer.status ?? 0) in \(answer.milliseconds) ms"
        if answer.isDelivered {
            page.notice = "The receiver took the test: \(words)."
        } else {
            page.problem = "The receiver did not take the test: \(words)."
        }
        return .outcome(page)
    }

    @Sendable private func rotate(
        _ visit: DashboardRequest, _ webhook: Webhook, _ application: Application
    ) async throws -> PageAnswer {
        let question = visit.question(
            "Make a new secret for “\(webhook.name)”?",
            "For a day the present secret signs as well; one from before that ends now. Give the receiver the new one meanwhile.",
            [Fact("Address", .text(webhook.url))], yes: "Make a new secret", no: Self.address(webhook, application))
        if let question { return question }
        let made = try await visit.services.all.webhooks.rotate(webhook, of: application, by: visit.author)
        return .outcome(Self.shown(made.secret, made.webhook, application))
    }

    @Sendable private func replay(
        _ visit: DashboardRequest, _ webhook: Webhook, _ application: Application
    ) async throws -> PageAnswer {
        let service = visit.services.all.webhooks
        return try await visit.trying(
            Self.replayForm(webhook, application), names: ["events": "since"],
            on: { try await page(visit, webhook, application, replay: $0) }
        ) {
            if visit.form["event"].isEmpty {
                guard let since = try visit.form.instant("since") else { throw InvalidInput.missing("since") }
                guard try await service.replay(webhook, since: since, of: application, by: visit.author) > 0 else {
                    throw InvalidInput(field: "since", "has no event after it")
                }
            } else {
                _ = try await service.replay(webhook, [visit.form["event"]], of: application, by: visit.author)
            }
            return Self.done("replayed", webhook, application)
        }
    }

    @Sendable private func delete(
        _ visit: DashboardRequest, _ webhook: Webhook, _ application: Application
    ) async throws -> PageAnswer {
        let question = visit.question(
            "Delete the webhook “\(webhook.name)”?", "What waits for it is not sent.",
            [
                Fact("Address", .text(webhook.url)),
                Fact("Events that wait", .number(Int(webhook.pending) + webhook.retries)),
            ], yes: "Delete it", no: Self.address(webhook, application))
        if let question { return question }
        try await visit.services.all.webhooks.delete(webhook, of: application, by: visit.author)
        return .redirect(Address.query(Address.of(application, "webhooks"), [("done", "deleted")]))
    }

    @Sendable private func event(
        _ visit: DashboardRequest, _ webhook: Webhook, _ application: Application
    ) async throws -> PageAnswer {
        guard let key = WebhookEvent.key(visit.text("event_id")),
            let event = try await visit.services.store.webhookEvent(key, of: application.key)
        else { throw APIError.missing("event, or it is not kept any more") }
        let body = event.message(of: application.uuid)
        var again = Form.button(Self.address(webhook, application, "replay"), "Send it again")
        again.hidden = [Form.Hidden(name: "event", value: event.id)]
        var page = PageView(event.id, in: application, "Webhooks") {
            Section {
                Facts {
                    Fact("Event", .text(event.kind.rawValue))
                    Fact("Time", .time(event.createdAt))
                }
                Code("Body", (try? JSONValue(json: body.utf8).pretty) ?? body)
                if webhook.kinds.contains(event.kind), visit.may(.change, Permission.Subject(application)) {
                    ButtonRow([again])
                }
            }
        }
        page.crumbs.append(Link(webhook.name, Self.address(webhook, application)))
        return .page(page)
    }
}

extension Webhook {
    fileprivate var stateValues: [Value] {
        switch paused {
        case .asked: [.badge("paused", .warn)]
        case .failing: [.badge("stopped", .bad), .text("It took nothing for three days.")]
        case .gone: [.badge("stopped", .bad), .text("It answered 410 Gone.")]
        case nil:
            failingSince.map { [.badge("failing", .warn), .text("since"), .time($0)] } ?? [.badge("active", .good)]
        }
    }
}

extension ReceiverAnswer {
    fileprivate var value: Value { .badge(status.map(String.init) ?? "no answer", isDelivered ? .good : .bad) }
}

extension DashboardRequest {
    /// Webhooks that were paused because of their receivers.
    func webhookMatters(_ application: Application) async throws -> [Alert] {
        let mayChange = may(.change, Permission.Subject(application))
        return try await services.store.webhooks(of: application.key).compactMap { webhook in
            let reason: String
            switch webhook.paused {
            case .failing: reason = "it took nothing for three days"
            case .gone: reason = "it answered 410 Gone"
            case .asked, nil: return nil
            }
            let address = Address.of(application, "webhooks", webhook.uuid.lowercased)
            return Alert(
                text: "Nothing is posted to a webhook: \(reason)",
                link: Link("\(application.name) · \(webhook.name)", address), tone: .bad,
                button: mayChange ? .button("\(address)/resume", "Resume") : nil)
        }
    }
}
