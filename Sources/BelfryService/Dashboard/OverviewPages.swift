import FoundationEssentials

/// The first page: all applications together, and what needs a person.
struct OverviewPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.open(.get, "", overview), make.application(.get, "", .read, application),
            make.open(.get, "admin/nodes", nodes),
        ]
    }

    /// The most applications that are counted here. Others are counted on their own pages alone.
    private static let applicationsMax = 50
    private static let parkedMax = 10_000

    @Sendable private func overview(_ visit: DashboardRequest) async throws -> PageAnswer {
        let applications = try await visit.applications()
        guard !applications.isEmpty else { return .page(Self.welcome(mayCreate: visit.mayCreateApplications)) }
        var counts = PeriodCounts(visit.period, until: visit.services.clock.now)
        var (matters, devices, active) = ([Alert](), 0, Int?(0))
        var shown: [(application: Application, platforms: [Platform], devices: Int)] = []
        try await visit.searching(nil) {
            for application in applications.prefix(Self.applicationsMax) {
                let platforms = try await visit.services.store.platforms(of: application.key)
                let own = try await visit.deviceCounts(of: platforms)
                let sum = own.devices.values.reduce(0, +)
                devices += sum
                active = active.flatMap { all in own.active.map { all + $0 } }
                matters += try await visit.matters(of: platforms, application)
                shown.append((application, platforms, sum))
            }
            let others = applications.dropFirst(Self.applicationsMax)
            let all = others.isEmpty ? [] : try await visit.services.store.parkedPlatforms(atMost: Self.parkedMax)
            let parked = Dictionary(grouping: all, by: \.applicationKey)
            for application in others {
                guard let platforms = parked[application.key] else { continue }
                matters += try await visit.matters(of: platforms, application)
            }
            try await counts.add(shown.flatMap(\.platforms), in: visit.services.store)
        }
        let rows: [[[Value]]] = shown.map { application, platforms, devices in
            [
                [.link(application.name, Address.of(application))], [.number(platforms.count)], [.number(devices)],
                [.number(platforms.reduce(0) { $0 + Int(counts.byPlatform[$1.key]?[.sent] ?? 0) })],
            ]
        }
        matters += try await visit.damageMatters(applications)
        matters += try await visit.nodeMatters()
        var page = Self.page(
            rows, counts, matters, devices: devices, active: active, applications: applications.count)
        page.tabs = Period.tabs(Address.path(), current: visit.period)
        if visit.mayCreateApplications {
            page.actions = [Link("New application", Address.path("apps", "new"), isMain: true)]
        }
        return .page(page)
    }

    static func welcome(mayCreate: Bool) -> PageView {
        var page = PageView("Welcome to Belfry", lead: "There is no application here yet.") {
            Section("From here to the first push") {
                Steps([
                    Step(
                        title: "Create an application",
                        text: "An app that your team sends pushes to, with its devices.", isNext: true),
                    Step(
                        title: "Add a platform",
                        text: "Apple, Firebase, Web Push and others: the key your app was given there."),
                    Step(title: "Send the first push", text: "Register your own device, and see the push arrive."),
                ])
            }
        }
        if mayCreate { page.actions = [Link("New application", Address.path("apps", "new"), isMain: true)] }
        return page
    }

    static func page(
        _ rows: [[[Value]]], _ counts: PeriodCounts, _ matters: [Alert], devices: Int, active: Int?, applications: Int
    ) -> PageView {
        var page = PageView("Overview")
        if rows.count < applications {
            page.lead = "The numbers are of the first \(rows.count) of \(applications.grouped) applications."
        }
        page.stats = [
            Stat("Applications", applications), Stat("Devices", devices, detail: "inactive included"),
            Stat("Sent", counts.total(.sent)),
            Stat("Opened", counts.total(.opened)),
        ]
        if !matters.isEmpty { page.sections.append(Alert.section(matters)) }
        let chart = Section("Sent and opened") {
            counts.chart()
            counts.rates()
        }
        let table = Section("Applications") {
            Table(
                "Applications", ["Name", "#Platforms", "#Devices", "#Sent"], rows, empty: "No applications yet.")
        }
        page.sections += [chart] + counts.activitySections(active: active, registered: devices) + [table]
        return page
    }

    // MARK: One application

    @Sendable private func application(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer
    {
        let store = visit.services.store
        let platforms = try await store.platforms(of: application.key)
        let receipts = try await store.receipts(of: application.key, before: nil, limit: 8)
        let (counts, devices, active) = try await visit.searching(application) {
            let own = try await visit.deviceCounts(of: platforms)
            return (try await visit.counts(of: platforms, visit.period), own.devices, own.active)
        }
        let maySend = visit.may(.send, Permission.Subject(application))
        var page = Self.page(
            application, platforms, devices, active: active, counts,
            try await visit.matters(of: platforms, application) + visit.damageMatters([application]),
            pushes: PushPages.table(
                receipts, try await visit.summaries(of: receipts), application, mayCancel: maySend,
                empty: "Nothing was sent yet."))
        page.tabs = Period.tabs(Address.of(application), current: visit.period)
        if maySend {
            page.actions.append(Link("Compose a push", Address.of(application, "compose"), isMain: true))
        }
        return .page(page)
    }

    static func page(
        _ application: Application, _ platforms: [Platform], _ devices: [Key<Platform>: Int], active: Int?,
        _ counts: PeriodCounts, _ matters: [Alert], pushes: Table
    ) -> PageView {
        var page = PageView(application.name, lead: application.description)
        page.crumbs = [Link("Applications", Address.path("apps"))]
        page.stats = [
            Stat(
                "Devices", devices.values.reduce(0, +),
                detail: active.map { "\($0.grouped) active" } ?? "inactive included"),
            Stat("Sent", counts.total(.sent)),
            Stat("Received", counts.total(.received), detail: "as apps report"), Stat("Opened", counts.total(.opened)),
        ]
        if platforms.isEmpty {
            let section = Section(
                "Add a platform", text: "An application reaches devices through its platforms, and has none yet."
            ) {
                ButtonRow([
                    Link("Add a platform", Address.of(application, "platforms", "new"), isMain: true),
                    Link("Set-up step by step", Address.of(application, "setup")),
                ])
            }
            page.sections.append(section)
        }
        if !matters.isEmpty { page.sections.append(Alert.section(matters)) }
        let chart = Section("Sent and opened") {
            counts.chart()
            counts.rates()
        }
        let latest = Section("Latest pushes") { pushes }
        let table = Section("Platforms") {
            Table(
                "Platforms", ["Name", "Type", "#Devices", "#Sent"],
                platforms.map { platform in
                    [
                        [.link(platform.name, Address.of(application, "platforms", platform.uuid.lowercased))],
                        [.text(platform.kind.title)], [.number(devices[platform.key] ?? 0)],
                        [.number(Int(counts.byPlatform[platform.key]?[.sent] ?? 0))],
                    ]
                }, empty: "No platforms yet.")
        }
        let activity = counts.activitySections(
            active: active, registered: devices.values.reduce(0, +))
        page.sections += [chart, latest] + activity + [table]
        return page
    }

    // MARK: Nodes

    @Sendable private func nodes(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.require(.read, on: .everything, called: "page")
        return .page(
            Self.page(try await visit.services.store.nodes().withoutReplaced, release: visit.services.options.release))
    }

    static func page(_ nodes: [Node], release: String) -> PageView {
        PageView("Nodes", lead: "The processes that serve and deliver. Each reports every five seconds.") {
            Section {
                Table(
                    "Nodes", ["Host", "State", "Version", "#Batches in flight", "Since", "Last seen"],
                    nodes.map { node in
                        let tone: Value.Tone = node.state == .up ? .good : node.state == .draining ? .calm : .bad
                        return [
                            [.text(node.host)], [.badge(node.state.rawValue, tone)], [.text(node.version)],
                            [.number(node.batchesInFlight)], [.time(node.since)], [.time(node.lastSeenAt)],
                        ]
                    }, empty: "No node has reported yet.")
            }
        }
    }
}

/// Something that needs a person, and the page where it is mended.
struct Alert: Sendable {
    let text: String
    let link: Link
    let tone: Value.Tone
    /// A button that mends it at once; nil where that is on the page of the link.
    var button: Form?

    static func section(_ matters: [Alert]) -> Section {
        Section("Action needed") {
            Table(
                "Action needed", ["What", "Where"],
                matters.map {
                    [
                        [.badge($0.tone == .bad ? "stopped" : "soon", $0.tone), .text($0.text)],
                        [.link($0.link.text, $0.link.href)],
                    ]
                }, forms: matters.map { [$0.button].compactMap(\.self) },
                empty: "")
        }
    }
}

extension DashboardRequest {
    /// The devices of each platform, and how many of all are active; nil where too many are not.
    func deviceCounts(of platforms: [Platform]) async throws -> (devices: [Key<Platform>: Int], active: Int?) {
        var devices: [Key<Platform>: Int] = [:]
        var active: Int? = 0
        for platform in platforms {
            let all = try await services.store.deviceCount(on: platform.key)
            let inactive = try await services.store.inactiveDeviceCount(on: platform.key)
            devices[platform.key] = all
            active = active.flatMap { sum in inactive.map { sum + all - $0 } }
        }
        return (devices, active)
    }

    /// The applications that the person may see, by name.
    func applications() async throws -> [Application] {
        try await searching(nil) { try await services.store.applications(seenBy: person) }.byName
    }

    var mayCreateApplications: Bool {
        switch person.bounds {
        case .everything: may(.change, .everything)
        case .tenant(let tenant): may(.change, .tenant(tenant))
        case .application: false
        }
    }

    /// How long before their end credentials are mentioned.
    private static let expirySoon = Duration.seconds(30 * 86_400)

    func matters(of platforms: [Platform], _ application: Application) async throws -> [Alert] {
        var matters: [Alert] = []
        let mayChange = may(.change, Permission.Subject(application))
        let hasHeartbeats = try await services.store.topic(named: HeartbeatPush.topic, of: application.key) != nil
        for platform in platforms {
            let link = Link(
                "\(application.name) · \(platform.name)", Address.of(application, "platforms", platform.uuid.lowercased)
            )
            func button(_ action: String, _ label: String) -> Form? {
                mayChange ? .button("\(link.href)/\(action)", label) : nil
            }
            if let parked = platform.parked {
                matters.append(
                    Alert(
                        text: "Nothing is sent: \(parked.detail)"
                            + (parked.nextProbe(at: services.clock.now).map { "; it is \($0)" } ?? ""), link: link,
                        tone: .bad, button: button("resume", "Resume")))
            }
            for service in platform.parkedServices {
                matters.append(
                    Alert(
                        text: "Nothing is sent to \(service.origin): \(service.parking.detail)"
                            + (service.parking.nextProbe(at: services.clock.now).map { "; it is \($0)" } ?? ""),
                        link: link, tone: .warn, button: button("resume", "Try again")))
            }
            if let expiry = platform.facts?.expiresAt, expiry < services.clock.now + Self.expirySoon {
                matters.append(
                    Alert(
                        text: "Its certificate ends on \(expiry.day)",
                        link: Link("Replace it: \(link.text)", link.href), tone: .warn))
            }
            if hasHeartbeats, let age = try await heartbeatSilence(on: platform) {
                matters.append(
                    Alert(
                        text: "No heartbeat has come back for \(age.inMinutes)", link: link, tone: .bad,
                        button: button("test", "Test its credentials")))
            }
        }
        return try await matters + webhookMatters(application)
    }

    /// How long no heartbeat has come back; nil while they do, and where no device sends any.
    private func heartbeatSilence(on platform: Platform) async throws -> Duration? {
        guard let period = services.options.heartbeatPeriod else { return nil }
        let now = services.clock.now
        let summary = try await services.store.heartbeatSummary(
            on: platform.key, since: now + (.zero - HeartbeatPush.memory))
        guard let lastAt = summary.lastAt, HeartbeatPush.isMissing(age: now - lastAt, every: period) else { return nil }
        return now - lastAt
    }

    /// Pushes of these applications with rows that cannot be read.
    func damageMatters(_ applications: [Application]) async throws -> [Alert] {
        let byKey = Dictionary(uniqueKeysWithValues: applications.map { ($0.key, $0) })
        let pushes = try await services.store.damagedPushes(of: Array(byKey.keys), limit: Self.damagedMax)
        return pushes.compactMap { push in
            guard let application = byKey[push.applicationKey] else { return nil }
            let address = Address.of(application, "pushes", push.receiptID.lowercased)
            return Alert(
                text: "A push has rows that cannot be read: repair them, or write them off",
                link: Link("\(application.name) · push of \(push.acceptedAt.day)", address), tone: .bad,
                button: may(.change, Permission.Subject(application))
                    ? .button("\(address)/write-off", "Write off the damaged rows", isDanger: true) : nil)
        }
    }

    private static let damagedMax = 20

    fileprivate func nodeMatters() async throws -> [Alert] {
        guard may(.read, .everything) else { return [] }
        return try await services.store.nodes().withoutReplaced.filter { $0.state == .gone }.map { node in
            Alert(
                text: "The node \(node.host) stopped reporting", link: Link("Nodes", Address.path("admin", "nodes")),
                tone: .warn)
        }
    }
}

extension Duration {
    /// A few minutes, hours or days.
    var inMinutes: String {
        let minutes = Int(components.seconds / 60)
        if minutes < 120 { return minutes == 1 ? "a minute" : "\(minutes) minutes" }
        return minutes < 2 * 24 * 60 ? "\(minutes / 60) hours" : "\(minutes / (24 * 60)) days"
    }
}
