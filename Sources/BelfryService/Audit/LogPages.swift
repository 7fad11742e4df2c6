import FoundationEssentials
import HTTPTypes
import Hummingbird

/// The events of an application's pushes while the page is open, and the stream that live pages follow.
struct LogPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [make.application(.get, "logs", .read, show), make.application(.get, "events", .read, follow)]
    }

    @Sendable private func show(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let changes = try await visit.services.store.auditLog(
            AuditQuery(bounds: .application(application.key, of: application.tenantKey), limit: 25))
        let mayAdminister = visit.may(.administer, Permission.Subject(application))
        var page = Self.page(application, mayAdminister ? changes : nil)
        if visit.may(.administer, .everything) { page.actions = [Link("Server log", Address.path("admin", "logs"))] }
        return .page(page)
    }

    static func page(_ application: Application, _ changes: [AuditEntry]?) -> PageView {
        var page = PageView(
            "Live log", in: application, lead: "Events of pushes as they happen, while this page is open."
        ) {
            Section("Live events") {
                Code("log", " ")
            }
        }
        page.live = Address.of(application, "events")
        if let changes {
            page.sections.append(
                Section("Latest changes") {
                    AuditPages.table(changes, empty: "No changes yet.")
                })
        }
        return page
    }

    @Sendable private func follow(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        guard let events = visit.services.events else { throw APIError.missing("event stream") }
        return .response(
            try await visit.services.shares.streaming(.streams, for: visit.holder(application)) {
                let reader = try await events.subscribe(
                    to: application.key, after: visit.request.headers[.lastEventID])
                let (people, login) = (visit.services.people, visit.login)
                return EventStream(reader) {
                    // What cannot be asked right now ends nothing; the next time will tell.
                    (try? await people.may(.read, on: Permission.Subject(application), in: login)) ?? true
                }.response
            })
    }
}

/// The last lines of this process's log, for operators.
struct ServerLogPages {
    let make: RouteMaker

    var routes: [PageRoute] { [make.open(.get, "admin/logs", show), make.open(.get, "admin/logs.jsonl", file)] }

    private static let perPage = 200

    @Sendable private func show(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.requireOperator()
        return .page(
            Self.page(
                Self.lines(visit.services.server.logLines, visit.query), visit.query, before: visit.number("before")))
    }

    /// The lines that the query asks for, the newest first.
    static func lines(_ lines: [LogLine], _ query: FormData) -> [LogLine] {
        let level = LogLine.Level(rawValue: query["level"]) ?? .trace
        return lines.reversed().filter { line in
            line.level >= level && (query["q"].isEmpty || line.contains(query["q"]))
        }
    }

    static func page(_ lines: [LogLine], _ query: FormData, before: Int64?) -> PageView {
        let address = Address.path("admin", "logs")
        let kept = ["level", "q"].map { ($0, query[$0]) }
        let isPaused = query.isChecked("paused") || before != nil
        var page = PageView(
            "Server log",
            lead: isPaused
                ? "The latest log lines of this server process, newest first."
                : "The latest log lines of this server process, newest first. New ones appear by themselves.")
        if !isPaused { page.live = "reload" }
        page.actions = [
            isPaused
                ? Link("Follow", Address.query(address, kept))
                : Link("Pause", Address.query(address, kept + [("paused", "yes")])),
            Link("Download as JSON lines", Address.query(Address.path("admin", "logs.jsonl"), kept)),
        ]
        let shown = lines.filter { line in before.map { line.number < $0 } ?? true }.prefix(perPage)
        let form = Form.filter(
            address,
            [
                .select(
                    "level", "Level", query["level"],
                    [("", "All")]
                        + LogLine.Level.allCases.map {
                            ($0.rawValue, $0 == .critical ? "critical" : "\($0.rawValue) and above")
                        }
                ),
                .text("q", "Contains", query["q"], type: "search"),
                .check("paused", "Paused", isPaused),
            ])
        var table = Table(
            "Log", ["Time", "Level", "Message", "Details"],
            shown.map { line in
                [
                    [.time(line.at)], [.badge(line.level.rawValue, line.level.tone)], [.text(line.message)],
                    [.text(line.words)],
                ]
            }, empty: "No lines match. The setting log.level says which lines are written.")
        if shown.count == perPage, let last = shown.last {
            table.next = Address.query(address, kept + [("before", String(last.number))])
        }
        page.sections = [
            Section {
                form
                table
            }
        ]
        return page
    }

    @Sendable private func file(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.requireOperator()
        let lines = Self.lines(visit.services.server.logLines, visit.query).reversed().map(\.json)
        return .response(
            .file(lines.map { $0 + "\n" }.joined(), named: "belfry-log.jsonl", type: "application/x-ndjson"))
    }
}

extension LogLine {
    fileprivate var words: String {
        details.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: "; ")
    }

    /// The line in the form in which the server writes JSON lines.
    var json: String {
        var members = JSONObject(details)
        members["time"] = .string(at.text)
        members["level"] = .string(level.rawValue)
        members["message"] = .string(message)
        return JSONValue.object(members).storedText
    }
}

extension LogLine.Level {
    fileprivate var tone: Value.Tone {
        switch self {
        case .error, .critical: .bad
        case .warning: .warn
        case .trace, .debug, .info, .notice: .calm
        }
    }
}

/// The audit log, with filters and its CSV.
struct AuditPages {
    let make: RouteMaker

    var routes: [PageRoute] { [make.open(.get, "admin/audit", list), make.open(.get, "admin/audit.csv", csv)] }

    private static let perPage = 100
    private static let csvRowsMax = 10_000

    @Sendable private func list(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.require(.administer, on: Permission.Subject(visit.person.bounds), called: "page")
        var form = Form.filter(
            Address.path("admin", "audit"),
            [
                .text(
                    "who", "Who", visit.query["who"],
                    hint: "An e-mail address, the id of a key, or \(AuditedChange.local)"),
                .text("from", "From", visit.query["from"], type: "date"),
                .text("until", "Until", visit.query["until"], type: "date"),
            ])
        var entries: [AuditEntry] = []
        do {
            let asked = try query(visit, limit: Self.perPage)
            entries = try await visit.searching(nil) { try await visit.services.store.auditLog(asked) }
        } catch let fault as InvalidInput {
            form.show(fault.problem, at: fault.field)
        }
        let kept = ["who", "from", "until"].map { ($0, visit.query[$0]) }
        var page = Self.page(entries, form, csv: Address.query(Address.path("admin", "audit.csv"), kept))
        if entries.count == Self.perPage, let last = entries.last {
            page.sections[0].next = Address.query(
                Address.path("admin", "audit"), kept + [("before", String(last.key.rawValue))])
        }
        return .page(page)
    }

    private func query(_ visit: DashboardRequest, limit: Int) throws(InvalidInput) -> AuditQuery {
        let who = visit.query["who"].lowerCase
        return AuditQuery(
            bounds: visit.person.bounds, keyID: who.isEmpty ? nil : who,
            from: try visit.query.day("from") ?? .distantPast,
            until: try visit.query.day("until", plus: 1) ?? .distantFuture,
            before: visit.number("before").map { Key($0) }, limit: limit)
    }

    static func page(_ entries: [AuditEntry], _ form: Form, csv: String) -> PageView {
        PageView(
            "Audit log", lead: "Who changed what, when and from where. Newest first."
        ) {
            Section {
                form
                table(entries, empty: "No changes in this period.")
                ButtonRow([Link("As CSV (the first \(csvRowsMax.grouped))", csv)])
            }
        }
    }

    static func table(_ entries: [AuditEntry], empty: String) -> Table {
        Table(
            "Audit log", ["Time", "Who", "From", "Change", "Object", "Details"],
            entries.map { entry in
                [
                    [.time(entry.at)], [.text(entry.change.who)], [.text(entry.change.address ?? "")],
                    [.text(entry.change.action)], [.code(entry.change.subject)], [.text(details(entry))],
                ]
            }, empty: empty)
    }

    private static func details(_ entry: AuditEntry) -> String {
        entry.change.details.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: "; ")
    }

    @Sendable private func csv(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.require(.administer, on: Permission.Subject(visit.person.bounds), called: "page")
        var asked = try query(visit, limit: 500)
        var lines = ["time,who,from,change,of,details"]
        try await visit.services.shares.holding(.exports, for: visit.holder()) {
            repeat {
                let entries = try await visit.searching(nil) { [asked] in try await visit.services.store.auditLog(asked)
                }
                lines += entries.map(Self.line)
                asked.before = entries.count == asked.limit ? entries.last?.key : nil
            } while asked.before != nil && lines.count < Self.csvRowsMax
        }
        let name = asked.before == nil ? "audit.csv" : "audit-first-\(lines.count - 1).csv"
        return .response(.file(lines.joined(separator: "\r\n") + "\r\n", named: name, type: "text/csv"))
    }

    private static func line(_ entry: AuditEntry) -> String {
        [
            entry.at.text, entry.change.who, entry.change.address ?? "", entry.change.action,
            entry.change.subject, details(entry),
        ].map(\.csvCell).joined(separator: ",")
    }
}

extension String {
    /// Quoted, and never a formula to a spreadsheet.
    var csvCell: String { withoutFormula.csvQuoted }
}
