import CDashboard
import Crypto
import FoundationEssentials

/// The frame around every page.
struct Shell: Sendable {
    /// Where browsers find the server; pages name addresses without it.
    var path = PublicPath(of: nil)
    var release = ""
    var csrf = ""
    /// The single-use key of its forms.
    var key = ""
    /// The path of the page, with its query.
    var page = ""
    /// See `PersonService.pageProof`.
    var proof = ""
    var person = ""
    var role = ""
    private(set) var menus: [Menu] = []
    /// The application whose pages the menus have.
    private var application: Application?
    private var switcher: Switcher?
    /// Otherwise the page has nothing beside its form.
    private var isSignedIn = false

    /// Before the login.
    init() {}

    /// The menus of a person; those of an application where the page belongs to one.
    ///
    /// - Parameters:
    ///   - application: one that the person may see.
    ///   - path: of the page, whose link is marked.
    ///   - applications: those that the person may see; no more are needed than the switcher lists, and one.
    init(of person: Person, in application: Application?, at path: String, _ applications: [Application] = []) {
        self.person = person.name == person.email.text ? person.email.text : "\(person.name)"
        role = person.scope.rawValue
        isSignedIn = true
        self.application = application
        switcher = Switcher(application, applications, at: path)
        menus = [Menu("", [("Overview", Address.path()), ("Applications", Address.path("apps"))])]
        if let application {
            let subject = Permission.Subject(application)
            let needed: [String: Permission.Action] = ["compose": .send, "import": .change]
            menus += Self.menu.map { label, pages in
                let shown = pages.filter { person.may(needed[$0.1] ?? .read, subject) }
                return Menu(label, shown.map { ($0.0, Address.of(application, $0.1)) })
            }
        }
        if person.may(.administer, Permission.Subject(person.bounds)) {
            let pages = Self.administration + (person.bounds == .everything ? Self.server : [])
            menus.append(Menu("Administration", pages.map { ($0.0, Address.path("admin", $0.1)) }, isFolding: true))
        }
        // What belongs to places has addresses of its own.
        let path = path.replacing("/geofences", with: "/places").replacing("/groups", with: "/places")
        let current = menus.flatMap { $0.links.map(\.href) }.filter { path == $0 || path.hasPrefix($0 + "/") }
            .max { $0.utf8.count < $1.utf8.count }
        for index in menus.indices { menus[index].mark(current) }
    }

    /// Writes the page in its frame.
    func render(_ page: PageView) -> HTMLWriter {
        var writer = HTMLWriter(self)
        writer.write(markup: "<!doctype html>\n")
        document(page).write(to: &writer)
        return writer
    }

    private func document(_ page: PageView) -> Tag {
        Tag("html", ["lang": "en"]) {
            Tag("head") {
                Tag("meta", ["charset": "utf-8"])
                Tag("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
                Tag("meta", ["name": "color-scheme", "content": "light dark"])
                Tag("title", "\(page.title) · Belfry")
                Tag("link", ["rel": "icon", "href": Asset.address("icon.svg")])
                Tag("link", ["rel": "stylesheet", "href": Asset.address("style.css")])
                Tag("script", ["type": "module", "src": Asset.address("script.js")])
            }
            if isSignedIn { full(page) } else { plain(page) }
        }
    }

    private func plain(_ page: PageView) -> Tag {
        Tag("body", ["class": "plain"]) {
            Tag("main", ["id": "main"]) {
                Tag("p", ["class": "brand"]) { Self.brand(40) }
                Tag("h1", page.title)
                Tag("p", ["class": "lead", "dir": "auto"], page.lead)
                Tag("p", ["class": "problem", "role": "alert"], page.problem)
                page.sections
                Tag("div", ["class": "actions"]) { page.actions.map(\.button) }
            }
        }
    }

    @HTMLBuilder private static func brand(_ side: Int) -> [any HTML] {
        Tag("img", ["src": Asset.address("icon.svg"), "width": side, "height": side, "alt": ""])
        "Belfry"
    }

    private func full(_ page: PageView) -> Tag {
        Tag("body", ["data-live": page.live]) {
            Tag("a", ["class": "skip", "href": "#main"], "Skip to content")
            Tag("header", ["class": "top"]) {
                Tag("a", ["class": "brand", "href": Address.path()]) { Self.brand(28) }
                switcher
                Tag(
                    "button",
                    [
                        "type": "button", "class": "menu-button", "aria-expanded": "false", "aria-controls": "menu",
                        "hidden": true,
                    ], "Menu")
                Tag("form", ["class": "search", "action": Address.path("search"), "method": "get", "role": "search"]) {
                    if let application { Form.Hidden(name: "app", value: application.uuid.lowercased) }
                    Tag("input", ["type": "search", "name": "q", "placeholder": "Search", "aria-label": "Search"])
                }
                Tag("div", ["class": "me"]) {
                    Tag("a", ["href": Address.path("account")]) {
                        "\(person) "
                        Tag("small", role)
                    }
                    Tag("form", ["method": "post", "action": Address.path("logout")]) {
                        Form.Hidden(name: "csrf", value: csrf)
                        Tag("button", ["class": "quiet"], "Log out")
                    }
                }
            }
            Tag("div", ["class": "frame"]) {
                Tag("nav", ["id": "menu", "class": "side", "aria-label": "Pages"]) {
                    menus
                    Tag("p", ["class": "release"], release)
                }
                Tag("main", ["id": "main", "tabindex": -1]) { inside(page) }
            }
        }
    }

    @HTMLBuilder private func inside(_ page: PageView) -> [any HTML] {
        Tag("div", ["class": "head"]) {
            Tag("div") {
                page.crumbs.map { Tag("a", ["class": "crumb", "href": $0.href], $0.text) }
                Tag("h1", ["dir": "auto"], page.title)
            }
            Tag("div", ["class": "actions"]) { page.actions.map(\.button) }
        }
        Tag("p", ["class": "lead", "dir": "auto"], page.lead)
        Tag("p", ["class": "notice", "role": "status"], page.notice)
        Tag("p", ["class": "problem", "role": "alert"], page.problem)
        Tag("div", ["class": "tabs"]) { page.tabs }
        Tag("dl", ["class": "stats"]) { page.stats }
        page.sections
        Tag("p", ["class": "zone"]) {
            "Times are by the clocks of \(Viewer.current.zone.name). "
            Link("Change", Address.path("account"))
        }
    }

    struct Menu: Component {
        let label: String
        private(set) var links: [Link]
        /// Whether it is folded away while no page of it is shown.
        private let isFolding: Bool

        init(_ label: String, _ links: [(String, String)], isFolding: Bool = false) {
            (self.label, self.isFolding) = (label, isFolding)
            self.links = links.map { Link($0.0, $0.1) }
        }

        mutating func mark(_ current: String?) {
            for index in links.indices { links[index].isCurrent = links[index].href == current }
        }

        var content: [any HTML] {
            if isFolding {
                Tag("details", ["class": "menu", "open": links.contains(where: \.isCurrent)]) {
                    Tag("summary", label)
                    list
                }
            } else {
                Tag("div", ["class": "menu"]) {
                    if !label.isEmpty { Tag("h2", label) }
                    list
                }
            }
        }

        private var list: Tag { Tag("ul") { for link in links { Tag("li") { link } } } }
    }

    /// Leads to the other applications: to the page of the same name, where there is one.
    struct Switcher: Component {
        private let current: Application?
        private let links: [Link]
        private let count: Int

        /// More are found by their name alone.
        static let listedMax = 50
        /// Fewer are seen at a glance.
        private static let searchedMin = 8

        init?(_ current: Application?, _ applications: [Application], at path: String) {
            guard !applications.isEmpty else { return nil }
            self.current = current
            count = applications.count
            let listed = count > Self.listedMax ? [current].compactMap(\.self) : applications.byName
            let page = path.split(separator: "/").dropFirst(3).first.map(String.init) ?? ""
            let isList = Shell.menu.contains { $0.1.contains { $0.1 == page } }
            links = listed.map {
                Link($0.name, Address.of($0, isList ? page : ""), isCurrent: $0.key == current?.key)
            }
        }

        var content: [any HTML] {
            Tag("details", ["class": "switcher"]) {
                Tag("summary") {
                    Tag("span", ["class": "unseen"], "Application: ")
                    Tag("span", ["dir": "auto"], current?.name ?? "All applications")
                }
                Tag("div", ["class": "panel"]) {
                    if count >= Self.searchedMin {
                        Tag("form", ["action": Address.path("apps"), "method": "get"]) {
                            Tag(
                                "input",
                                [
                                    "type": "search", "name": "q", "placeholder": "Find an application",
                                    "aria-label": "Find an application",
                                ])
                        }
                    }
                    Tag("ul") { for link in links { Tag("li") { link } } }
                    Link(
                        "All applications (\(count > Self.listedMax ? "more than \(Self.listedMax)" : "\(count)"))",
                        Address.path("apps")
                    ).button
                }
            }
        }
    }
}

extension Store {
    func applications(seenBy person: Person, limit: Int = .max) async throws -> [Application] {
        try await applications(in: person.bounds, limit: limit).filter(person.maySee)
    }
}

extension Person {
    func may(_ action: Permission.Action, _ subject: Permission.Subject) -> Bool {
        Permission.verdict(scope: scope, bounds: bounds, for: action, on: subject) == .allowed
    }

    func maySee(_ application: Application) -> Bool { may(.read, Permission.Subject(application)) }
}

extension [Application] {
    var byName: [Application] {
        map { (name: $0.name.lowercased(), application: $0) }
            .sorted { ($0.name, $0.application.key) < ($1.name, $1.application.key) }.map(\.application)
    }
}

/// The files of the folder `dashboard/`, as they were when the server was built, which browsers load beside the pages.
enum Asset {
    private static let files: [String: [UInt8]] = {
        let assets = UnsafeBufferPointer(start: belfry_assets(), count: Int(belfry_asset_count()))
        return Dictionary(
            uniqueKeysWithValues: assets.map { asset in
                (String(cString: asset.name), Array(UnsafeBufferPointer(start: asset.bytes, count: Int(asset.count))))
            })
    }()

    static func bytes(_ name: String) -> [UInt8]? { files[name] }

    static let names = ["style.css", "script.js", "icon.svg", "world.svg"]

    static func address(_ name: String) -> String {
        Address.query(Address.path("assets", name), [("v", version)])
    }

    /// Part of the address of each file, so that browsers may keep them for ever.
    private static let version: String = {
        var hash = SHA256()
        for name in names { hash.update(data: files[name] ?? []) }
        return Array(hash.finalize().prefix(6)).hex
    }()
}
