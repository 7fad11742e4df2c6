import FoundationEssentials

/// The gateways of an application for servers that give the device tokens with each message: the list, a new one, and closing one.
struct TokenGatewayPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "gateways", .read, list), make.application(.post, "gateways", .change, open),
            make.application(.post, "gateways/:endpoint_id/close", .change, close),
        ]
    }

    @Sendable private func list(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let platforms = try await visit.services.store.platforms(of: application.key)
        return .page(
            try await page(visit, application, platforms, Self.form(application, platforms)).saying(
                visit, ["closed": "The gateway is closed."]))
    }

    private func page(
        _ visit: DashboardRequest, _ application: Application, _ platforms: [Platform], _ form: Form
    ) async throws -> PageView {
        let endpoints = try await visit.services.store.openEndpoints(of: application.key).filter(\.kind.takesTokens)
        let mayChange = visit.may(.change, Permission.Subject(application))
        let names = Dictionary(platforms.map { ($0.uuid.lowercased, $0.name) }) { first, _ in first }
        var page = PageView(
            "Gateways", in: application,
            lead: "Chat servers and other back ends that keep the device tokens themselves send through these."
        ) {
            Section {
                Table(
                    "Gateways", ["For", "Platforms", "Opened"],
                    endpoints.map { endpoint in
                        [
                            [.text(endpoint.kind.title)],
                            endpoint.options.sorted { $0.key < $1.key }.map { name, uuid in
                                .text("\(name): \(names[uuid] ?? "deleted")")
                            }, [.time(endpoint.createdAt)],
                        ]
                    },
                    forms: mayChange
                        ? endpoints.map { [.button(Self.address($0, application), "Close", isDanger: true)] } : [],
                    empty: "No gateway is open.")
            }
        }
        if mayChange {
            page.sections.append(
                Section(
                    "Open a gateway",
                    text: "Its address is shown once. Whoever knows it can send to the application's platforms."
                ) { form })
        }
        return page
    }

    private static func address(_ endpoint: OpenEndpoint, _ application: Application) -> String {
        Address.of(application, "gateways", "\(endpoint.key)", "close")
    }

    private static let platformsMax = 32

    private static func form(_ application: Application, _ platforms: [Platform]) -> Form {
        let fields = platforms.prefix(platformsMax).map { platform in
            Field.text(
                field(platform), "Names for the platform \(platform.name) (\(platform.kind.title))",
                hint:
                    "For Matrix the app ids of the apps, such as im.vector.app.ios; otherwise only where two platforms are of one type."
            )
        }
        return Form(
            Address.of(application, "gateways"), "Open",
            [.select("kind", "For", "matrix", OpenEndpoint.Kind.ofTokens.map { ($0.kind.rawValue, $0.title) })] + fields
        )
    }

    private static func field(_ platform: Platform) -> String { "names_\(platform.uuid.lowercased)" }

    @Sendable private func open(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let platforms = try await visit.services.store.platforms(of: application.key)
        let first = platforms.first.map(Self.field) ?? ""
        return try await visit.trying(
            Self.form(application, platforms), names: ["options": first],
            on: { try await page(visit, application, platforms, $0) }
        ) {
            guard let kind = OpenEndpoint.Kind(rawValue: visit.form["kind"]), kind.takesTokens else {
                throw InvalidInput(field: "kind", "is not one of the choices")
            }
            var options: [String: String] = [:]
            for platform in platforms.prefix(Self.platformsMax) {
                for name in visit.form[Self.field(platform)].split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
                    let uuid = platform.uuid.lowercased
                    guard options.updateValue(uuid, forKey: String(name)) ?? uuid == uuid else {
                        throw InvalidInput(field: Self.field(platform), "has '\(name)', which another platform has too")
                    }
                }
            }
            let made = try await visit.services.all.openEndpoints.create(
                kind, of: application, options: options, by: visit.author)
            return .outcome(Self.opened(kind, visit.serverURL + kind.callerPath(key: made.key), of: application))
        }
    }

    private static func opened(_ kind: OpenEndpoint.Kind, _ url: String, of application: Application) -> PageView {
        PageView("Gateway for \(kind.title)", in: application, "Gateways") {
            Section("Shown only once", text: kind.setting, style: .secret) {
                Facts([Fact("Address", .code(url))])
                ButtonRow([Link("Done", Address.of(application, "gateways"), isMain: true)])
            }
        }
    }

    @Sendable private func close(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let key = Int64(visit.text("endpoint_id")).map { Key<OpenEndpoint>($0) }
        let endpoints = try await visit.services.store.openEndpoints(of: application.key)
        let endpoint = try endpoints.first { $0.key == key && $0.kind.takesTokens }.orMissing("gateway")
        let question = visit.question(
            "Close the gateway for \(endpoint.kind.title)?", "Servers that send through it get a 404 from now on.",
            [Fact("Opened", .time(endpoint.createdAt))], yes: "Close it", no: Address.of(application, "gateways"))
        if let question { return question }
        try await visit.services.all.openEndpoints.delete(endpoint.key, of: application, by: visit.author)
        return .redirect(Address.query(Address.of(application, "gateways"), [("done", "closed")]))
    }
}

extension OpenEndpoint.Kind {
    fileprivate var title: String { Self.ofTokens.first { $0.kind == self }?.title ?? rawValue }

    /// Where the address goes.
    fileprivate var setting: String {
        switch self {
        case .matrix: "The app gives it to its homeserver as `data.url` of its pusher."
        case .mattermost: "In Mattermost: System Console, Environment, Push Notification Server."
        case .rocketChat: "In Rocket.Chat: Settings, Push, Gateway."
        case .sip: "SIP proxies post the push parameters of a contact to this address with /wake behind it."
        default: "Clients of gorush post to this address with /api/push behind it."
        }
    }
}
