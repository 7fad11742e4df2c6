import ArgumentParser
import BelfryService
import FoundationEssentials

struct ImportDevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "Read a list of devices that another service handed out.",
        discussion: """
            Begin with --dry-run: each row is judged and nothing is written. The verdict on each row stands in a CSV beside the list. An \
            import that was stopped or killed goes on where it was when the same command is given again; a whole list may be \
            imported again too, which updates devices whose apps have not registered here yet.
            """)

    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var run: ImportRunOptions
    @OptionGroup var application: AppOption
    @Option(
        help:
            "A platform that devices go to; may be given again. Rows are dealt by their types. [default: all of the app]",
        transform: UUID.parse)
    var platform: [UUID] = []
    @Option(help: ArgumentHelp("One of \(ImportFormat.allCases.map(\.rawValue).joined(separator: ", "))."))
    var format: String
    @Option(
        help: ArgumentHelp(
            "For csv and jsonl: which column is what, such as token=registration_token,uuid=device_uuid,topics=tags.",
            valueName: "field=column,…"))
    var map: String?
    @Argument(help: ArgumentHelp("The list; - is standard input. Files that end in .gz are unpacked.")) var file: String

    func validate() throws {
        let format = try ImportFormat(format, field: "--format")
        guard map == nil || format.isMapped else { throw ValidationError("--map is for --format csv and jsonl") }
        if let map { _ = try ImportMapping(map) }
        guard !run.validate || backend.server == nil else {
            throw ValidationError("--validate works on the server's own machine, which has the credentials")
        }
        guard backend.server == nil || platform.count <= 1 else {
            throw ValidationError("--server takes one --platform, or deals rows by their types")
        }
    }

    func run() async throws {
        ImportCommand.useFewArenas()
        let format = try ImportFormat(format, field: "--format")
        let mapping = try map.map { try ImportMapping($0) } ?? .standard
        try await backend.withBackend { backend in
            let app = try await application.uuid(from: backend)
            let input = try ImportInput(file)
            let journal = try run.journal(of: input.name, for: "\(app.lowercased) \(format.rawValue)")
            let (target, sample, isFirst) = try await self.target(app, format, journal, backend)
            var importRun = ImportRun(target: target, journal: journal, sample: sample)
            var reader = ImportReader(format, mapping: mapping, skipping: journal.state.rows)
            let tally = try await importRun.all { offer in
                while let chunk = try input.next() {
                    try await reader.read(chunk) { try await offer($0, input.share) }
                }
                try await offer(try reader.finish(), 1)
            }
            if isFirst, !run.dryRun, let local = backend as? LocalBackend { try await local.service.awaitServers() }
            try run.report(
                tally, verdicts: journal.verdictsPath, sample: importRun.sample,
                others: reader.ignoredColumns?.facts ?? [],
                json: output.json)
        }
    }

    /// Where the rows go, the sample of them for the provider to look at, and whether servers of this database have yet to learn that
    /// there are imports.
    private func target(
        _ app: UUID, _ format: ImportFormat, _ journal: ImportJournal, _ backend: any AdminBackend
    ) async throws -> (any ImportTarget, ImportSample?, Bool) {
        if let remote = backend as? RemoteBackend {
            let id = try await RemoteImport.id(after: journal, remote.client, app)
            journal.noteImport(id)
            let target = RemoteImport(
                client: remote.client, application: app, platform: platform.first, isDryRun: run.dryRun, id: id)
            return (target, nil, false)
        }
        guard let service = (backend as? LocalBackend)?.service else { throw ValidationError("no database is known") }
        let application = try await service.application(app)
        let platforms = try await service.platforms(platform, of: application)
        let target = try await service.beginImport(
            of: application, to: platforms, from: format.rawValue, isDryRun: run.dryRun)
        return (target, run.sample(of: service, platforms), platforms.contains { !$0.hasImports })
    }
}

extension IgnoredColumns {
    fileprivate var facts: [(String, String)] {
        let unread = unread.isEmpty ? [] : [("columns not read", unread.joined(separator: ", "))]
        guard !repeated.isEmpty else { return unread }
        return unread + [("columns given twice", repeated.joined(separator: ", ") + ": the first is read")]
    }
}
