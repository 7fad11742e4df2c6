import BelfryService

extension Shell {
    /// The menus of a person; those of an application where the page belongs to one.
    ///
    /// - Parameter path: of the page, whose link is marked.
    init(of person: Person, app: String?, at path: String) {
        self.init()
        self.person = person.name == person.email.text ? person.email.text : "\(person.name)"
        role = person.scope.rawValue
        isSignedIn = true
        var items: [(String, [(String, String)])] = [
            ("", [("Overview", Address.path()), ("Applications", Address.path("apps"))])
        ]
        if let app {
            let pages = [
                ("App", ""), ("Set-up", "setup"), ("Platforms", "platforms"), ("Devices", "devices"),
                ("Users", "users"), ("Topics", "topics"),
            ]
            let sending = [
                ("Compose", "compose"), ("Pushes", "pushes"), ("Schedules", "schedules"), ("Places", "places"),
                ("Analytics", "analytics"), ("Logs", "logs"), ("Import", "import"), ("Settings", "settings"),
            ]
            items.append(("This app", pages.map { ($0.0, Address.path("apps", app, $0.1)) }))
            items.append(("Messages", sending.map { ($0.0, Address.path("apps", app, $0.1)) }))
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
}
