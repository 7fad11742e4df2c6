import FoundationEssentials

/// The server itself, for operators: its settings, its database with the last backup, and its components.
struct ServerPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.open(.get, "admin/settings", settings), make.open(.get, "admin/database", database),
            make.open(.get, "admin/versions", versions),
        ]
    }

    // MARK: Settings

    @Sendable private func settings(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.requireOperator()
        return .page(Self.page(visit.services.server.settings, all: visit.query["show"] == "all"))
    }

    static func page(_ settings: [SettingReport], all: Bool) -> PageView {
        let address = Address.path("admin", "settings")
        var page = PageView(
            "Configuration",
            lead:
                "The server's settings as this process read them when it started. A flag overrides an environment variable, which overrides the file."
        ) {
            Section {
                Table(
                    "Configuration", ["Setting", "Value", "From"],
                    settings.filter { all || $0.source != .default }.map { setting in
                        [[.code(setting.key)], [value(setting)], [.text(setting.source.rawValue)]]
                    }, empty: "Every setting has its default.")
            }
        }
        page.tabs = [
            Link("Changed", address, isCurrent: !all),
            Link("All", Address.query(address, [("show", "all")]), isCurrent: all),
        ]
        return page
    }

    private static func value(_ setting: SettingReport) -> Value {
        if setting.isSecret { return setting.source == .default ? .text("none") : .badge("set, not shown", .calm) }
        guard let value = setting.value, !value.isEmpty else { return .text("none") }
        return .text(value)
    }

    // MARK: Database

    @Sendable private func database(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.requireOperator()
        return .page(Self.page(try await visit.services.server.database(), at: visit.services.clock.now))
    }

    /// A backup that is older is mentioned.
    private static let backupOld = Duration.seconds(7 * 86_400)

    static func page(_ database: DatabaseReport, at now: Instant) -> PageView {
        PageView("Database and backups") {
            Section {
                Facts {
                    Fact("Engine", .text("\(database.engine.rawValue) \(database.size.engineVersion)"))
                    Fact("Size", .text(database.size.bytes.bytesInWords))
                    if let file = database.file { Fact("File", .code(file)) }
                    Fact("Key ring for secrets", .code(database.keyRingFile))
                    if let free = database.freeBytes { Fact("Free on that disk", .text(free.bytesInWords)) }
                }
            }
            backups(database, at: now)
            restoring(database)
        }
    }

    private static func backups(_ database: DatabaseReport, at now: Instant) -> Section {
        guard database.engine == .sqlite else {
            return Section(
                "Backups",
                text:
                    "Back up PostgreSQL with its own tools, such as pg_dump. Keep a copy of the key ring with each backup: without it, the "
                    + "credentials of platforms cannot be read.")
        }
        return Section(
            "Backups",
            text: "A consistent and verified copy, made while the server runs. Keep it on another machine."
        ) {
            Facts {
                if let last = database.lastBackup {
                    let isOld = now - last.at > backupOld
                    Fact("Last backup", [.time(last.at)] + (isOld ? [.badge("older than a week", .warn)] : []))
                    Fact("Folder", .code(last.folder))
                } else {
                    Fact("Last backup", .badge("none yet", .warn))
                }
            }
            Code(
                "On the server's machine", "belfry backup\(place(of: database)) --to /var/backups/belfry-$(date +%F)")
        }
    }

    /// The option that leads commands to the database, wherever they are started.
    private static func place(of database: DatabaseReport) -> String {
        let folder = database.file.flatMap { file in file.lastIndex(of: "/").map { file[..<$0] } }
        return folder.map { " --data-directory \($0)" } ?? ""
    }

    private static func restoring(_ database: DatabaseReport) -> Section {
        let (text, code) =
            database.engine == .sqlite
            ? (
                "Stop the server first. The backup is verified before anything changes. Current data is moved aside, never overwritten. "
                    + "Batches that were open in the backup are sent again.",
                "systemctl stop belfry\nbelfry restore\(place(of: database)) --from FOLDER --force\n"
                    + "belfry check\(place(of: database))\nsystemctl start belfry"
            )
            : (
                "Stop every node, restore the database with PostgreSQL's tools and the key ring beside it, then check.",
                "systemctl stop belfry\npg_restore --clean --if-exists --dbname=\"$BELFRY_DATABASE_URL\" DUMP\nbelfry check\nsystemctl start belfry"
            )
        return Section("Restoring", text: text) { Code("On the server's machine", code) }
    }

    // MARK: Versions

    @Sendable private func versions(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.requireOperator()
        let database = try await visit.services.server.database()
        return .page(
            Self.versionsPage(
                release: visit.services.options.release,
                engine: "\(database.engine.rawValue) \(database.size.engineVersion)"))
    }

    static func versionsPage(release: String, engine: String) -> PageView {
        PageView("Versions and licences") {
            Section {
                Facts {
                    Fact("This server", .text(release))
                    Fact("Licence", .text("Apache-2.0"))
                    Fact("Database", .text(engine))
                }
            }
            Section("Built-in packages") {
                table("Packages", Dependency.packages)
            }
            Section("System libraries", text: "In the versions of the operating system.") {
                table("Libraries", Dependency.libraries)
            }
        }
    }

    private static func table(_ caption: String, _ components: [Dependency]) -> Table {
        Table(
            caption, ["Name", "Version", "Licence"],
            components.map {
                [
                    [.text($0.name)], [.text($0.version.isEmpty ? "the system's" : $0.version)],
                    [.text($0.licence.rawValue)],
                ]
            }, empty: "")
    }
}

extension Int64 {
    /// The size in the largest unit that leaves a number above one.
    fileprivate var bytesInWords: String {
        let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)]
        for (unit, bits) in units where self >= 1 << bits {
            let tenths = (self * 10) >> bits
            return "\(Int(tenths / 10).grouped).\(tenths % 10) \(unit)"
        }
        return "\(Int(self).grouped) bytes"
    }
}

/// A part of the program that others wrote, and its licence.
struct Dependency: Sendable {
    let name: String
    /// Empty where it is the system's.
    let version: String
    let licence: Licence

    enum Licence: String, Sendable {
        case apache = "Apache-2.0"
        case mit = "MIT"
        case postgres = "PostgreSQL"
        case publicDomain = "public domain"
        case lgpl = "LGPL-2.1-or-later"
    }

    init(_ name: String, _ version: String, _ licence: Licence) {
        self.name = name
        self.version = version
        self.licence = licence
    }

    /// Packages linked into the program, as Package.resolved has them; `ServerPageTests` compares them.
    static let packages = [
        Dependency("async-http-client", "1.37.0", .apache),
        Dependency("grdb.swift", "7.10.0", .mit),
        Dependency("hummingbird", "2.28.1", .apache),
        Dependency("swift-algorithms", "1.2.1", .apache),
        Dependency("swift-argument-parser", "1.8.2", .apache),
        Dependency("swift-asn1", "1.7.4", .apache),
        Dependency("swift-async-algorithms", "1.1.4", .apache),
        Dependency("swift-atomics", "1.3.0", .apache),
        Dependency("swift-certificates", "1.21.1", .apache),
        Dependency("swift-collections", "1.6.0", .apache),
        Dependency("swift-configuration", "1.4.0", .apache),
        Dependency("swift-crypto", "4.5.2", .apache),
        Dependency("swift-distributed-tracing", "1.7.3", .apache),
        Dependency("swift-http-structured-headers", "1.7.0", .apache),
        Dependency("swift-http-types", "1.8.0", .apache),
        Dependency("swift-log", "1.16.2", .apache),
        Dependency("swift-metrics", "2.13.0", .apache),
        Dependency("swift-nio", "2.101.2", .apache),
        Dependency("swift-nio-extras", "1.35.2", .apache),
        Dependency("swift-nio-http2", "1.46.0", .apache),
        Dependency("swift-nio-ssl", "2.37.6", .apache),
        Dependency("swift-nio-transport-services", "1.28.0", .apache),
        Dependency("swift-numerics", "1.1.1", .apache),
        Dependency("swift-service-context", "1.5.1", .apache),
        Dependency("swift-service-lifecycle", "2.13.0", .apache),
        Dependency("swift-system", "1.8.1", .apache),
    ]

    /// Libraries of the system that the program loads.
    static let libraries = [
        Dependency("libnghttp2", "", .mit), Dependency("c-ares", "", .mit),
        Dependency("libpq", "", .postgres), Dependency("SQLite", "", .publicDomain),
        Dependency("libqrencode", "", .lgpl),
    ]
}
