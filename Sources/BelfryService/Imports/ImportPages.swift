import FoundationEssentials
import HTTPTypes
import Hummingbird

/// Imports of device lists that other services hand out, with a dry run first.
struct ImportPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "import", .change, show),
            make.application(.post, "import", .change, run).taking(bytes: Self.bytesMax),
            make.application(.get, "import/:import_id", .change, verdicts),
        ]
    }

    /// A longer list is for `belfry import`, which reads it as it comes.
    private static let bytesMax = 8 << 20
    private static let refusalsShown = 100
    private static let importsShown = 20

    @Sendable private func show(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        .page(
            Self.page(application, try await form(visit, application), earlier: try await imports(visit, application)))
    }

    private func imports(_ visit: DashboardRequest, _ application: Application) async throws -> Section {
        let found = try await visit.services.store.importJobs(
            of: application.key, after: nil, limit: Self.importsShown)
        return Self.section(found, of: application, at: visit.services.admin.now)
    }

    /// The verdicts on the rows of an import, as a file.
    @Sendable private func verdicts(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        guard let uuid = visit.uuid("import_id"),
            let job = try await visit.services.store.importJob(uuid, of: application.key)
        else { throw APIError.missing("import") }
        let store = visit.services.store
        var response = try await visit.services.shares.streaming(.exports, for: visit.holder(application)) {
            .verdicts(of: job.key, in: store)
        }
        response.headers[.contentDisposition] = "attachment; filename=\"import-\(job.uuid.lowercased).csv\""
        return .response(response)
    }

    private func form(_ visit: DashboardRequest, _ application: Application) async throws -> Form {
        let platforms = try await visit.services.store.platforms(of: application.key)
        return Form(
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
                .check("dry_run", "Dry run: check the list, write nothing", true),
            ], isMultipart: true)
    }

    static func page(
        _ application: Application, _ form: Form, result: [Section] = [], earlier: Section? = nil
    ) -> PageView {
        var page = PageView(
            "Import", in: application,
            lead: "Devices from another service. Importing a list again does not repeat what it did before."
        )
        page.sections = result + [Section { form }] + [earlier].compactMap(\.self)
        return page
    }

    @Sendable private func run(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let form = try await form(visit, application)
        return try await visit.trying(form, on: { Self.page(application, $0) }) {
            let format = try ImportFormat(visit.form["format"], field: "format")
            guard let list = visit.form.file("list") else { throw InvalidInput(field: "list", "is missing or empty") }
            if !visit.form["map"].isEmpty { _ = try ImportMapping(visit.form["map"]) }
            let isDryRun = visit.form.isChecked("dry_run") && !visit.form.isChecked("import")
            let all = try await visit.services.store.platforms(of: application.key)
            let chosen = visit.form["platform"]
            let source = ImportJob.Source(
                format: format, mapping: visit.form["map"].isEmpty ? nil : visit.form["map"],
                platform: UUID(text: chosen), isDryRun: isDryRun)
            let recorded = try await visit.services.admin.recordImport(
                .timeOrdered(), of: application, to: all.filter { chosen.isEmpty || $0.uuid.lowercased == chosen },
                from: source, position: 0, by: visit.author)
            let (job, refusals, ignored) = try await read(list, into: recorded, of: application, visit)
            var again = form
            let kept = KeptFile("list", of: visit)
            again.keep(visit.form) { _ in kept }
            if isDryRun, let kept {
                (again.submit, again.isQuiet) = ("Look again", true)
                again.others = [.init(name: "import", value: "yes", label: "Import \(kept.name)", isMain: true)]
            }
            return .outcome(
                Self.page(
                    application, again, result: Self.result(job, refusals, ignored, of: application),
                    earlier: try await imports(visit, application)))
        }
    }

    private func read(
        _ list: ArraySlice<UInt8>, into recorded: RecordedImport, of application: Application, _ visit: DashboardRequest
    ) async throws -> (job: ImportJob, refusals: [ImportService.Verdict], ignored: IgnoredColumns?) {
        var (intake, refusals) = (try ImportIntake(into: recorded), [ImportService.Verdict]())
        func write(_ recorded: inout RecordedImport, _ rows: [ImportReader.Row]) async throws -> Bool {
            let verdicts = try await visit.services.shares.holding(.batches, for: visit.holder(application)) {
                try await recorded.run(rows)
            }
            for verdict in verdicts {
                guard case .refused = verdict.outcome, refusals.count < Self.refusalsShown else { continue }
                refusals.append(verdict)
            }
            return true
        }
        do {
            _ = try await intake.take(list, write)
            _ = try await intake.finish(write)
        } catch let error as InvalidInput {
            try await intake.recorded.end(as: .failed, reason: error.description)
            throw error
        } catch {
            try? await intake.recorded.end(as: .waiting)
            throw error
        }
        try await intake.recorded.end(as: .completed)
        return (intake.recorded.job, refusals, intake.ignoredColumns)
    }

    static func section(_ jobs: [ImportJob], of application: Application, at now: Instant) -> Section {
        Section("Earlier imports", text: "Imports by the admin API and `belfry import devices --server` too.") {
            Table(
                "Earlier imports",
                ["Begun", "Format", "State", "#Rows", "#New", "#Updated", "#Known already", "#Refused", "Results"],
                jobs.map { job in
                    let state = job.state(at: now)
                    return [
                        [.time(job.createdAt)],
                        [.text(job.source.format.rawValue + (job.source.isDryRun ? ", dry run" : ""))],
                        [.badge(state.name, state == .completed ? .good : state == .failed ? .bad : .calm)],
                        [.number(job.tally.rows)], [.number(job.tally.new)], [.number(job.tally.updated)],
                        [.number(job.tally.duplicate)], [.number(job.tally.refused)],
                        [.link("CSV", Address.of(application, "import", job.uuid.lowercased))],
                    ]
                }, empty: "No imports yet.")
        }
    }

    static func result(
        _ job: ImportJob, _ refusals: [ImportService.Verdict], _ ignored: IgnoredColumns?, of application: Application
    ) -> [Section] {
        let (tally, isDryRun) = (job.tally, job.source.isDryRun)
        let section = Section(isDryRun ? "What the import would do" : "What the import did") {
            Facts {
                Fact("Rows", .number(tally.rows))
                Fact("New", .number(tally.new))
                Fact("Updated", .number(tally.updated))
                Fact("Known already", .number(tally.duplicate))
                Fact("Refused", tally.refused == 0 ? .number(0) : .badge(tally.refused.grouped, .warn))
                if let unread = ignored?.unread, !unread.isEmpty {
                    Fact("Ignored columns", .text(unread.joined(separator: ", ")))
                }
                if let repeated = ignored?.repeated, !repeated.isEmpty {
                    Fact("Repeated columns", .text(repeated.joined(separator: ", ") + ": the first is read"))
                }
            }
            if !refusals.isEmpty {
                Table(
                    "Refused rows", ["#Row", "Id", "Why"],
                    refusals.map {
                        [[.number($0.row)], [.text($0.id ?? "")], [.text($0.outcome.reason ?? "")]]
                    }, empty: "")
            }
            ButtonRow([Link("Result of each row (CSV)", Address.of(application, "import", job.uuid.lowercased))])
        }
        return [section]
    }
}
