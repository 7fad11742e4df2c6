import FoundationEssentials

/// The search of the header: pages by their names, and devices, users, topics and pushes of the applications that the person may see.
struct SearchPages {
    let make: RouteMaker

    var routes: [PageRoute] { [make.open(.get, "search", search)] }

    /// The most applications that are searched at once, and how long the search may begin with another one.
    private static let (applicationsMax, searchedFor) = (10, Duration.milliseconds(400))
    /// The shortest text that things of applications are searched for.
    private static let lengthMin = 2

    @Sendable private func search(_ visit: DashboardRequest) async throws -> PageAnswer {
        let text = visit.query["q"]
        let applications = try await visit.applications()
        let current = applications.first { $0.uuid == UUID(text: visit.query["app"]) }
        var found = SearchHits(text: text)
        if !text.isEmpty {
            found.addNamed(applications, Shell(of: visit.person, in: current, at: "", applications))
        }
        if text.utf8.count >= Self.lengthMin {
            let searched = [current].compactMap(\.self) + applications.filter { $0.key != current?.key }
            try await visit.searching(nil) {
                let budget = SearchBudget(Self.searchedFor)
                for application in searched.prefix(Self.applicationsMax) where !budget.isSpent {
                    try await found.add(application, visit)
                }
            }
            if found.searched < searched.count {
                found.remark = "Only \(found.searched) of \(searched.count.grouped) applications were searched."
            }
        }
        return .page(Self.page(found, app: current?.uuid.lowercased ?? ""))
    }

    static func page(_ found: SearchHits, app: String) -> PageView {
        var form = Form.filter(
            Address.path("search"), [Field.text("q", "Search", found.text, type: "search").focused], "Search")
        if !app.isEmpty { form.hidden = [Form.Hidden(name: "app", value: app)] }
        return PageView("Search", lead: found.remark) {
            Section {
                form
                if found.text.isEmpty {
                    Tag(
                        "p", ["class": "hint"],
                        "A part of a device's alias, UUID or token, of a user's id, or of a name.")
                } else if found.lists.isEmpty {
                    Tag("p", ["class": "empty"], "Nothing was found.")
                }
            }
            for (kind, hits) in found.lists { Section(kind.rawValue) { Tag("ul", ["class": "hits"]) { hits } } }
        }
    }
}

/// The results of a search, by kind.
struct SearchHits {
    let text: String
    private var hits: [Kind: [Hit]] = [:]
    /// The number of applications whose things were searched.
    private(set) var searched = 0
    /// Says that not everything was searched.
    var remark = ""

    enum Kind: String, CaseIterable {
        case pages = "Pages", applications = "Applications", devices = "Devices", users = "Users", topics = "Topics"
        case pushes = "Pushes"
        case lists = "More results"
    }

    struct Hit: Component {
        let link: Link
        let detail: String

        var content: [any HTML] {
            Tag("li") {
                link
                " "
                Tag("small", ["dir": "auto"], detail)
            }
        }
    }

    /// The most hits of a kind in one application.
    private static let perKind = 4
    /// How long devices are searched without an index, and users with one, in one application.
    private static let (devicesSearchedFor, usersSearchedFor) = (Duration.milliseconds(25), Duration.milliseconds(10))
    private static let pushesAtOnce = 50

    init(text: String) { self.text = text }

    var lists: [(kind: Kind, hits: [Hit])] { Kind.allCases.compactMap { kind in hits[kind].map { (kind, $0) } } }

    private mutating func add(_ kind: Kind, _ text: String, _ href: String, _ detail: String = "") {
        hits[kind, default: []].append(Hit(link: Link(text, href), detail: detail))
    }

    /// Pages and applications that have the text in their names.
    mutating func addNamed(_ applications: [Application], _ shell: Shell) {
        let wanted = text.caseFolded
        for link in shell.menus.flatMap(\.links) where link.text.caseFolded.contains(wanted) {
            add(.pages, link.text, link.href)
        }
        let named = Array(
            applications.lazy.filter { $0.name.caseFolded.contains(wanted) }.prefix(Self.perKind + 1))
        for application in named.prefix(Self.perKind) {
            add(.applications, application.name, Address.of(application), application.description)
        }
        if named.count > Self.perKind {
            add(.lists, "All applications with “\(text)”", Address.query(Address.path("apps"), [("q", text)]))
        }
    }

    /// Things of an application. The lists have the rest of them.
    mutating func add(_ application: Application, _ visit: DashboardRequest) async throws {
        searched += 1
        let store = visit.services.store
        let platforms = try await store.platforms(of: application.key)
        let names = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0.name) })
        let devices = try await store.devicePage(
            DeviceSearch(platforms: platforms.map(\.key), text: text), after: nil, limit: Self.perKind,
            within: Self.devicesSearchedFor, isCounted: false)
        for device in devices.devices {
            let detail = [application.name, names[device.platformKey] ?? "", device.customUserID ?? ""]
            add(
                .devices, device.label, Address.of(application, "devices", device.uuid.lowercased),
                detail.filter { !$0.isEmpty }.joined(separator: " · "))
        }
        if devices.next != nil {
            add(.lists, "All devices with “\(text)”", list("devices", of: application), application.name)
        }
        let users = visit.services.all.users
        var people = try await users.users(
            of: application, beginning: IDPrefix(text), after: nil, limit: Self.perKind)
        if people.count < Self.perKind {
            people += try await users.users(
                of: application, amid: text, limit: Self.perKind - people.count, within: Self.usersSearchedFor)
        } else {
            add(.lists, "All users with “\(text)”", list("users", of: application), application.name)
        }
        for user in people {
            let address = Address.query(Address.of(application, "users"), [("id", user.id)])
            add(.users, user.id, address, application.name)
        }
        try await addTopics(application, store)
        try await addPushes(application, visit)
    }

    private func list(_ name: String, of application: Application) -> String {
        Address.query(Address.of(application, name), [("q", text)])
    }

    /// Topics whose name begins with the text, by index; the list of topics finds any part.
    private mutating func addTopics(_ application: Application, _ store: any Store) async throws {
        guard let name = try? Topic.normalized(text, field: "q") else { return }
        let first = try await store.topic(named: name, of: application.key)
        let others = try await store.topics(of: application.key, after: name, limit: Self.perKind)
        for topic in [first].compactMap(\.self) + others.prefix(while: { $0.name.hasPrefix(name) }) {
            add(.topics, topic.name, Address.of(application, "topics", topic.name), application.name)
        }
    }

    /// A push by its receipt id, or else the latest with the text in their message.
    private mutating func addPushes(_ application: Application, _ visit: DashboardRequest) async throws {
        var receipts: [Receipt] = []
        if let id = UUID(text: text) {
            receipts = [try await visit.services.store.receipt(id)].compactMap(\.self)
                .filter { $0.push.applicationKey == application.key }
        } else {
            receipts = try await PushFilter(visit.query).find(
                in: application, before: nil, limit: Self.pushesAtOnce, visit
            ).receipts
        }
        let summaries = try await visit.summaries(of: Array(receipts.prefix(Self.perKind)))
        for receipt in receipts.prefix(Self.perKind) {
            add(
                .pushes, summaries[receipt.push.key] ?? "[damaged]",
                receipt.push.address(in: application),
                "\(application.name) · \(receipt.push.acceptedAt.minute)")
        }
        if receipts.count > Self.perKind {
            add(.lists, "All pushes with “\(text)”", list("pushes", of: application), application.name)
        }
    }
}
