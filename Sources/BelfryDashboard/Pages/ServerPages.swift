import BelfryService
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
            "Settings",
            lead:
                "As this process read them at its start. A flag comes before a variable, that before the file, then old names."
        )
        page.tabs = [
            Link("Set here", address, isCurrent: !all),
            Link("All", Address.query(address, [("show", "all")]), isCurrent: all),
        ]
        var section = Section()
        section.table = Table(
            "Settings", ["Setting", "Value", "From"],
            settings.filter { all || $0.source != .default }.map { setting in
                [[.code(setting.key)], [value(setting)], [.text(setting.source.rawValue)]]
            }, empty: "Every setting has its default.")
        page.sections = [section]
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
        var page = PageView("Database and backups")
        var facts = Section()
        facts.facts = [
            Fact("Engine", .text("\(database.engine.rawValue) \(database.size.engineVersion)")),
            Fact("Size", .text(database.size.bytes.bytesInWords)),
        ]
        if let file = database.file { facts.facts.append(Fact("File", .code(file))) }
        facts.facts.append(Fact("Keys that seal secrets", .code(database.keyRingFile)))
        if let free = database.freeBytes {
            facts.facts.append(Fact("Free on that disk", .text(free.bytesInWords)))
        }
        page.sections = [facts, backups(database, at: now), restoring(database)]
        return page
    }

    private static func backups(_ database: DatabaseReport, at now: Instant) -> Section {
        var section = Section("Backups")
        guard database.engine == .sqlite else {
            section.text =
                "PostgreSQL has its own tools, such as pg_dump; this server does not know of them. Keep a copy of the key ring with "
                + "each: without it, no credentials of a platform can be read."
            return section
        }
        section.text = "Made beside the running server, of one moment, and checked. Keep it on another machine."
        if let last = database.lastBackup {
            let isOld = now - last.at > backupOld
            section.facts = [
                Fact("Last one", [.time(last.at)] + (isOld ? [.badge("older than a week", .warn)] : [])),
                Fact("Folder", .code(last.folder)),
            ]
        } else {
            section.facts = [Fact("Last one", .badge("none was made here", .warn))]
        }
        section.codeLabel = "On the server's machine"
        section.code = "belfry backup --to /var/backups/belfry-$(date +%F)"
        return section
    }

    private static func restoring(_ database: DatabaseReport) -> Section {
        var section = Section("Restoring")
        section.codeLabel = "On the server's machine"
        if database.engine == .sqlite {
            section.text =
                "Stop the server first. The backup is checked before anything is changed, and what is there is put aside, never "
                + "overwritten. Batches that were open in it are sent again."
            section.code =
                "systemctl stop belfry\nbelfry restore --from FOLDER --force\nbelfry check\nsystemctl start belfry"
        } else {
            section.text =
                "Stop every node, restore the database with PostgreSQL's tools and the key ring beside it, then check."
            section.code =
                "systemctl stop belfry\npg_restore --clean --dbname=\"$BELFRY_DATABASE_URL\" DUMP\nbelfry check\nsystemctl start belfry"
        }
        return section
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
        var page = PageView("Versions and licences")
        var facts = Section()
        facts.facts = [
            Fact("This server", .text(release)), Fact("Licence", .text("Apache-2.0")),
            Fact("Database", .text(engine)),
        ]
        var packages = Section("What is built in")
        packages.table = table("Packages", Component.packages)
        var libraries = Section("Libraries of the system", text: "Their versions are those that the system has.")
        libraries.table = table("Libraries", Component.libraries)
        page.sections = [facts, packages, libraries]
        return page
    }

    private static func table(_ caption: String, _ components: [Component]) -> Table {
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
