import BelfryService
import FoundationEssentials

/// The last lines of this process's log, for operators.
struct ServerLogPages {
    let make: RouteMaker

    var routes: [PageRoute] { [make.open(.get, "admin/logs", show), make.open(.get, "admin/logs.jsonl", file)] }

    private static let perPage = 200
    private static let reloadSeconds = 5

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
                ? "The last lines of this process, the newest first."
                : "The last lines of this process, the newest first. Loads again every \(reloadSeconds) seconds.")
        if !isPaused { page.reloadSeconds = reloadSeconds }
        page.actions = [
            isPaused
                ? Link("Follow", Address.query(address, kept))
                : Link("Pause", Address.query(address, kept + [("paused", "yes")])),
            Link("As JSON lines", Address.query(Address.path("admin", "logs.jsonl"), kept)),
        ]
        let shown = lines.filter { line in before.map { line.number < $0 } ?? true }.prefix(perPage)
        var section = Section()
        section.form = .filter(
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
        section.table = Table(
            "Log", ["Time", "Level", "Message", "Details"],
            shown.map { line in
                [
                    [.time(line.at)], [.badge(line.level.rawValue, line.level.tone)], [.text(line.message)],
                    [.text(line.words)],
                ]
            }, empty: "No line fits. The setting log.level says which lines are written at all.")
        if shown.count == perPage, let last = shown.last {
            section.table?.next = Address.query(address, kept + [("before", String(last.number))])
        }
        page.sections = [section]
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
