import CDashboard
import Crypto

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
    var menus: [Menu] = []
    /// Otherwise the page has nothing beside its form.
    private var isSignedIn = false

    /// Before the login.
    init() {}

    /// The menus of a person; those of an application where the page belongs to one.
    ///
    /// - Parameter path: of the page, whose link is marked.
    init(of person: Person, app: String?, at path: String) {
        self.person = person.name == person.email.text ? person.email.text : "\(person.name)"
        role = person.scope.rawValue
        isSignedIn = true
        var items: [(String, [(String, String)])] = [
            ("", [("Overview", Address.path()), ("Applications", Address.path("apps"))])
        ]
        if let app {
            for (label, pages) in Self.menu {
                items.append((label, pages.map { ($0.0, Address.path("apps", app, $0.1)) }))
            }
        }
        if Permission.verdict(
            scope: person.scope, bounds: person.bounds, for: .administer, on: Permission.Subject(person.bounds))
            == .allowed
        {
            var administration = ["people", "keys", "audit"].map { ($0.prefix(1).uppercased() + $0.dropFirst(), $0) }
            if person.bounds == .everything {
                administration += [
                    ("Tenants", "tenants"), ("Nodes", "nodes"), ("Server log", "logs"), ("Settings", "settings"),
                    ("Database", "database"), ("Versions", "versions"),
                ]
            }
            items.append(("Administration", administration.map { ($0.0, Address.path("admin", $0.1)) }))
        }
        let all = items.flatMap { $0.1.map(\.1) }
        // What belongs to places has addresses of its own.
        let path = path.replacing("/geofences", with: "/places").replacing("/groups", with: "/places")
        let current = all.filter { path == $0 || path.hasPrefix($0 + "/") }.max { $0.utf8.count < $1.utf8.count }
        menus = items.map { label, links in
            Menu(label: label, links: links.map { Link($0.0, $0.1, isCurrent: $0.1 == current) })
        }
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
                Tag(
                    "button",
                    [
                        "type": "button", "class": "menu-button", "aria-expanded": "false", "aria-controls": "menu",
                        "hidden": true,
                    ], "Menu")
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
    }

    struct Menu: Component {
        let label: String
        let links: [Link]

        var content: [any HTML] {
            Tag("div", ["class": "menu"]) {
                if !label.isEmpty { Tag("h2", label) }
                Tag("ul") { for link in links { Tag("li") { link } } }
            }
        }
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
