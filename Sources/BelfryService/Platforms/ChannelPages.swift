import FoundationEssentials

/// The broadcast channels of a platform, which its provider stores: the list, new ones, and deletion.
struct ChannelPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.platform(.get, "/channels", .read, list), make.platform(.post, "/channels", .change, create),
            make.platform(.post, "/channels/delete", .change, delete),
        ]
    }

    /// The most channels of a page; an app may have 10,000. Source: Apple, "Sending channel management requests to APNs".
    private static let shown = 200

    @Sendable private func list(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        .page(
            try await page(visit, platform, application).saying(
                visit, ["created": "Created.", "deleted": "Deleted at the provider."]))
    }

    private func page(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application, form: Form? = nil,
        problem: String = ""
    ) async throws -> PageView {
        var (channels, problem) = ([String](), problem)
        do {
            channels = try await asking(visit, application) { try await $0.channels(on: platform) }
        } catch let error as BroadcastChannelError {
            problem = problem.isEmpty ? Self.words(error) : problem
        }
        let base = Address.of(application, "platforms", platform.uuid.lowercased)
        let mayChange = visit.may(.change, Permission.Subject(application))
        var page = PageView(
            "Channels of \(platform.name)", in: application, "Platforms",
            lead: channels.count > Self.shown
                ? "The first \(Self.shown) of \(channels.count.grouped), as the provider has them."
                : "As the provider has them: devices subscribe there."
        ) {
            Section {
                Table(
                    "Channels", ["Channel"], channels.prefix(Self.shown).map { [[.code($0)]] },
                    forms: mayChange ? channels.prefix(Self.shown).map { [Self.deletion($0, base)] } : [],
                    empty: "There is no channel.")
            }
        }
        page.crumbs.append(Link(platform.name, base))
        page.problem = problem
        if mayChange { page.sections.append(Section("New channel") { form ?? Self.form(base) }) }
        return page
    }

    private static func words(_ error: BroadcastChannelError) -> String {
        "The channels could not be read or changed: \(error)"
    }

    /// Holds a share while the provider is asked.
    private func asking<Value>(
        _ visit: DashboardRequest, _ application: Application, _ body: (ChannelService) async throws -> Value
    ) async throws -> Value {
        try await visit.services.shares.holding(.tests, for: visit.holder(application)) {
            try await body(visit.services.all.channels)
        }
    }

    private static func form(_ base: String) -> Form {
        Form(
            "\(base)/channels", "Create",
            [
                .select(
                    "storage", "For devices that cannot be reached", BroadcastChannel.Storage.latest.rawValue,
                    [("latest", "The latest message is kept"), ("nothing", "Nothing is kept")])
            ])
    }

    private static func deletion(_ channel: String, _ base: String) -> Form {
        var form = Form.button("\(base)/channels/delete", "Delete", isDanger: true)
        form.hidden = [.init(name: "channel", value: channel)]
        return form
    }

    @Sendable private func create(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        let base = Address.of(application, "platforms", platform.uuid.lowercased)
        return try await changing(visit, platform, application, form: Self.form(base), done: "created") { channels in
            guard let storage = BroadcastChannel.Storage(rawValue: visit.form["storage"]) else {
                throw InvalidInput(field: "storage", "is not one of the choices")
            }
            _ = try await channels.create(storage, on: platform, of: application, by: visit.author)
        }
    }

    @Sendable private func delete(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        let base = Address.of(application, "platforms", platform.uuid.lowercased)
        let channel = visit.form["channel"]
        let question = visit.question(
            "Delete the channel \(channel)?", "Devices that subscribed to it get nothing more by it.",
            [Fact("Platform", .text(platform.name))], yes: "Delete it", no: "\(base)/channels")
        if let question { return question }
        return try await changing(visit, platform, application, form: Self.form(base), done: "deleted") {
            try await $0.delete(channel, on: platform, of: application, by: visit.author)
        }
    }

    private func changing(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application, form: Form, done: String,
        _ body: (ChannelService) async throws -> Void
    ) async throws -> PageAnswer {
        try await visit.trying(form, on: { try await page(visit, platform, application, form: $0) }) {
            do {
                try await asking(visit, application, body)
            } catch let error as BroadcastChannelError {
                return .invalid(try await page(visit, platform, application, problem: Self.words(error)))
            }
            let base = Address.of(application, "platforms", platform.uuid.lowercased)
            return .redirect(Address.query("\(base)/channels", [("done", done)]))
        }
    }
}
