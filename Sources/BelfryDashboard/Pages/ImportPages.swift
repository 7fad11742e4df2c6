import BelfryAPI
import BelfryCore
import FoundationEssentials

/// Imports of device lists that other services hand out, with a dry run first.
struct ImportPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "import", .change, show),
            make.application(.post, "import", .change, run).taking(bytes: Self.bytesMax),
        ]
    }

    /// A longer list is for `belfry import`, which reads it as it comes.
    private static let bytesMax = 8 << 20
    private static let windowRows = 512
    private static let refusalsShown = 100

    @Sendable private func show(_ visit: Visit, _ application: Application) async throws -> PageAnswer {
        .page(Self.page(application, try await form(visit, application)))
    }

    private func form(_ visit: Visit, _ application: Application) async throws -> Form {
        let platforms = try await visit.services.store.platforms(of: application.key)
        var form = Form(
            Address.of(application, "import"), "Import",
            [
                .select("format", "Format", "csv", ImportFormat.allCases.map { ($0.rawValue, $0.rawValue) }),
                .file(
                    "list", "List", hint: "At most \(Self.bytesMax >> 20) MiB; a longer one is for `belfry import`.",
                    isRequired: true),
                .select(
                    "platform", "To", "",
                    [("", "The platform that each row names")] + platforms.map { ($0.uuid.lowercased, $0.name) }),
                .text(
                    "map", "Columns", hint: "For csv and jsonl, such as token=registration_token,user=custom_user_id."),
                .check("dry_run", "Only look, and write nothing", true),
            ])
        form.isMultipart = true
        return form
    }

    static func page(_ application: Application, _ form: Form, result: [Section] = []) -> PageView {
        var page = PageView(
            "Import", lead: "Devices that another service knows. Doing a list again changes nothing that it did before."
        )
        page.crumbs = [Link(application.name, Address.of(application))]
        var section = Section()
        section.form = form
        page.sections = result + [section]
        return page
    }

    @Sendable private func run(_ visit: Visit, _ application: Application) async throws -> PageAnswer {
        let form = try await form(visit, application)
        return try await visit.trying(form, on: { Self.page(application, $0) }) {
            let format = try ImportFormat(visit.form["format"], field: "format")
            guard let list = visit.form.file("list") else { throw InvalidInput(field: "list", "is missing or empty") }
            let mapping = visit.form["map"].isEmpty ? ImportMapping.standard : try ImportMapping(visit.form["map"])
            let isDryRun = visit.form.isChecked("dry_run")
            let all = try await visit.services.store.platforms(of: application.key)
            let chosen = visit.form["platform"]
            let service = try await visit.services.admin.beginImport(
                of: application, to: all.filter { chosen.isEmpty || $0.uuid.lowercased == chosen },
                from: format.rawValue,
                isDryRun: isDryRun, by: visit.author)
            let verdicts = try await visit.services.shares.holding(.batches, for: visit.holder(application)) {
                try await Self.read(list, format, mapping, into: service)
            }
            var again = form
            again.keep(visit.form)
            return .page(
                Self.page(
                    application, again, result: Self.result(verdicts.tally, verdicts.refusals, isDryRun: isDryRun)))
        }
    }

    private static func read(
        _ list: [UInt8], _ format: ImportFormat, _ mapping: ImportMapping, into service: ImportService
    ) async throws -> (tally: ImportTally, refusals: [ImportService.Verdict]) {
        var reader = ImportReader(format, mapping: mapping)
        let rows = try reader.read(list) + (try reader.finish())
        var (tally, refusals) = (ImportTally(), [ImportService.Verdict]())
        for start in stride(from: 0, to: rows.count, by: windowRows) {
            for verdict in try await service.run(Array(rows[start..<min(start + windowRows, rows.count)])) {
                tally.note(verdict.outcome)
                if case .refused = verdict.outcome, refusals.count < refusalsShown { refusals.append(verdict) }
            }
        }
        return (tally, refusals)
    }

    static func result(_ tally: ImportTally, _ refusals: [ImportService.Verdict], isDryRun: Bool) -> [Section] {
        var section = Section(isDryRun ? "What the import would do" : "What the import did")
        section.facts = [
            Fact("Rows", .number(tally.rows)), Fact(isDryRun ? "Readable" : "New", .number(tally.new)),
            Fact("Updated", .number(tally.updated)), Fact("Known already", .number(tally.duplicate)),
            Fact("Refused", tally.refused == 0 ? .number(0) : .badge(tally.refused.grouped, .warn)),
        ]
        guard !refusals.isEmpty else { return [section] }
        section.table = Table(
            "Refused rows", ["#Row", "Id", "Why"],
            refusals.map { verdict in
                var reason = ""
                if case .refused(let words) = verdict.outcome { reason = words }
                return [[.number(verdict.row)], [.text(verdict.id ?? "")], [.text(reason)]]
            }, empty: "")
        return [section]
    }
}
