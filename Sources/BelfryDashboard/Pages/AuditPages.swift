import BelfryAPI
import BelfryService
import FoundationEssentials

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
                .text("who", "Who", visit.query["who"], hint: "A person's e-mail address, or the id of a key"),
                .text("from", "From", visit.query["from"], type: "date"),
                .text("until", "Until", visit.query["until"], type: "date"),
            ])
        var entries: [AuditEntry] = []
        do { entries = try await visit.services.store.auditLog(try query(visit, limit: Self.perPage)) } catch let fault
            as InvalidInput
        {
            form.show(fault.problem, at: fault.field)
        }
        let kept = ["who", "from", "until"].map { ($0, visit.query[$0]) }
        var page = Self.page(entries, form, csv: Address.query(Address.path("admin", "audit.csv"), kept))
        if entries.count == Self.perPage, let last = entries.last {
            page.sections[0].table?.next = Address.query(
                Address.path("admin", "audit"), kept + [("before", String(last.key.rawValue))])
        }
        return .page(page)
    }

    private func query(_ visit: DashboardRequest, limit: Int) throws(InvalidInput) -> AuditQuery {
        let who = visit.query["who"].lowercased()
        return AuditQuery(
            bounds: visit.person.bounds, keyID: who.isEmpty ? nil : who,
            from: try visit.query.day("from") ?? .distantPast,
            until: try visit.query.day("until").map { $0 + .seconds(86_400) } ?? .distantFuture,
            before: visit.number("before").map { Key($0) }, limit: limit)
    }

    static func page(_ entries: [AuditEntry], _ form: Form, csv: String) -> PageView {
        var page = PageView(
            "Audit log", lead: "Who changed what, when and from where. Newest first; lines are only ever added.")
        var section = Section()
        section.form = form
        section.table = table(entries, empty: "Nothing in this time.")
        section.links = [Link("As CSV", csv)]
        page.sections = [section]
        return page
    }

    static func table(_ entries: [AuditEntry], empty: String) -> Table {
        Table(
            "Audit log", ["Time", "Who", "From", "Change", "Of", "Details"],
            entries.map { entry in
                [
                    [.time(entry.at)], [.text(entry.change.keyID ?? "local operator")],
                    [.text(entry.change.address ?? "")],
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
            while lines.count < Self.csvRowsMax {
                let entries = try await visit.services.store.auditLog(asked)
                lines += entries.map(Self.line)
                guard entries.count == asked.limit, let last = entries.last else { break }
                asked.before = last.key
            }
        }
        return .response(.file(lines.joined(separator: "\r\n") + "\r\n", named: "audit.csv", type: "text/csv"))
    }

    private static func line(_ entry: AuditEntry) -> String {
        [
            entry.at.text, entry.change.keyID ?? "local operator", entry.change.address ?? "", entry.change.action,
            entry.change.subject, details(entry),
        ].map(\.csvCell).joined(separator: ",")
    }
}

extension String {
    /// Quoted, and never a formula to a spreadsheet.
    var csvCell: String { withoutFormula.csvQuoted }
}
