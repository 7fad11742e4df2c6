import ArgumentParser
import BelfryServer
import BelfryService
import CMalloc
import Foundation

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Bring the devices of another push service over.",
        discussion: "docs/Migration.md says how a service moves in, step by step.",
        subcommands: [ImportDevicesCommand.self, ImportPCFCommand.self])

    /// Limits the arenas of the allocator, so that memory stays flat for any number of rows. Call it before the first row.
    ///
    /// With an arena for each thread, what is freed in one is not used by the others: after 3,900,000 rows 60 of 100 MiB were
    /// free space of twelve arenas.
    static func useFewArenas() { _ = mallopt(M_ARENA_MAX, 2) }
}

struct ImportDevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "Read a list of devices that another service handed out.",
        discussion: """
            Begin with --dry-run: each row is judged and nothing is written. The verdict on each row stands in a CSV beside the list. An \
            import that was stopped or killed goes on where it was when the same command is given again, unless the list comes from \
            standard input or a pipe; a whole list may be imported again too, which updates devices whose apps have not registered here yet.
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
        guard run.verdicts?.resolvingLinks != file.resolvingLinks else {
            throw ValidationError("--verdicts names the list itself, which they would replace")
        }
        if backend.server != nil { try checkRemote() }
    }

    private func checkRemote() throws {
        guard !run.validate else {
            throw ValidationError("--validate works on the server's own machine, which has the credentials")
        }
        guard platform.count <= 1 else {
            throw ValidationError("--server takes one --platform, or deals rows by their types")
        }
    }

    func run() async throws {
        ImportCommand.useFewArenas()
        let format = try ImportFormat(format, field: "--format")
        let mapping = try map.map { try ImportMapping($0) } ?? .standard
        try await backend.withBackend { backend in
            // BELFRY_SERVER may name the server too.
            if case .remote = backend { try checkRemote() }
            let app = try await application.uuid(from: backend)
            let input = try ImportInput(file)
            // Another mapping, or another list, is another import.
            let job = [app.lowercased, format.rawValue, map ?? "", input.stamp] + platform.map(\.lowercased).sorted()
            let journal = try run.journal(of: input.name, for: job.joined(separator: " "), resumes: input.path != nil)
            let (target, sample, isFirst) = try await self.target(app, format, journal, backend)
            var importRun = ImportRun(target: target, journal: journal, sample: sample)
            var reader = ImportReader(format, mapping: mapping, skipping: journal.state.rows)
            let tally = try await importRun.all { offer in
                while let chunk = try input.next() {
                    try await reader.read(chunk) { try await offer($0, input.share) }
                }
                try await offer(try reader.finish(), 1)
            }
            if isFirst, !run.dryRun, case .local(let service, _) = backend { try await service.awaitServers() }
            try run.report(
                tally, verdicts: journal.verdictsPath, sample: importRun.sample,
                others: reader.ignoredColumns?.facts ?? [], json: output.json)
        }
    }

    /// Where the rows go, the sample of them for the provider to look at, and whether servers of this database have yet to learn that
    /// there are imports.
    private func target(
        _ app: UUID, _ format: ImportFormat, _ journal: ImportJournal, _ backend: AdminBackend
    ) async throws -> (any ImportTarget, ImportSample?, Bool) {
        switch backend {
        case .remote(let client):
            let id = try await RemoteImport.id(after: journal, client, app)
            journal.noteImport(id)
            let target = RemoteImport(
                client: client, application: app, platform: platform.first, isDryRun: run.dryRun, id: id)
            return (target, nil, false)
        case .local(let service, _):
            let application = try await service.application(app)
            let platforms = try await service.platforms(platform, of: application)
            let target = try await service.beginImport(
                of: application, to: platforms, from: format.rawValue, isDryRun: run.dryRun)
            return (target, run.sample(of: service, platforms), platforms.contains { !$0.hasImports })
        }
    }
}

extension IgnoredColumns {
    fileprivate var facts: [(String, String)] {
        let unread = unread.isEmpty ? [] : [("columns not read", unread.joined(separator: ", "))]
        guard !repeated.isEmpty else { return unread }
        return unread + [("columns given twice", repeated.joined(separator: ", ") + ": the first is read")]
    }
}

struct ImportPCFCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pcf",
        abstract: "Read a PCF push service: its devices, topics, locations, groups and geofences.",
        discussion: """
            The application and its platforms have to be here already, with the UUIDs they have there: `belfry app create --uuid`, \
            `belfry platform create --uuid`. The old server is only read, while it serves. Tags and custom user ids of devices are \
            told to their platforms alone, so they come with --platform-secrets. An import that was stopped goes on where it was, \
            and may be run again to catch up with what changed there meanwhile.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var run: ImportRunOptions
    @Option(help: ArgumentHelp("The old server's address.", valueName: "https://host")) var from: String
    @Option(help: "The application's UUID, there and here.", transform: UUID.parse) var appUuid: UUID
    @Option(help: ArgumentHelp("A file with the application's API key there.", valueName: "file"))
    var apiKeyFile: String
    @Option(
        help: ArgumentHelp(
            "A file with lines of a platform's UUID, a space, and its secret there.", valueName: "file"))
    var platformSecrets: String?
    @Option(help: ArgumentHelp("Certificates to trust instead of the system's.", valueName: "ca.pem"))
    var trustRoot: String?
    @Flag(help: "Take its schedules over too: only once the old server sends no more, or both send them.")
    var schedules = false

    func run() async throws {
        ImportCommand.useFewArenas()
        let caller = PCFServer.Caller(
            uuid: appUuid, secret: try SecretFile.contents(of: apiKeyFile, for: "--api-key-file"))
        let secrets =
            try platformSecrets.map { try Self.secrets(in: try SecretFile.contents(of: $0, for: "--platform-secrets")) }
            ?? [:]
        let server = try PCFServer(from, trustRoot: trustRoot)
        let result = await Swift.Result {
            try await common.withOperatorService { service in
                let application = try await service.application(appUuid)
                let platforms = try await service.platforms([], of: application)
                for uuid in secrets.keys where !platforms.contains(where: { $0.uuid == uuid }) {
                    throw ValidationError("--platform-secrets has \(uuid.lowercased), which the application here lacks")
                }
                let importService = try await service.beginImport(
                    of: application, to: platforms, from: from, isDryRun: run.dryRun)
                let journal = try run.journal(of: "pcf-\(appUuid.lowercased)", for: "\(appUuid.lowercased) \(from)")
                let contents = PCFContents(
                    server: server, caller: caller, secrets: secrets, service: service, application: application,
                    isDryRun: run.dryRun, begunAt: service.admin.now)
                var counts = try await contents.takeMap()
                var devices = PCFDevices(
                    server: server, caller: caller, secrets: secrets, service: importService, journal: journal,
                    sample: run.sample(of: service, platforms))
                try await devices.take(of: platforms)
                if schedules { try await contents.takeSchedules(&counts) }
                if !run.dryRun, platforms.contains(where: { !$0.hasImports }) { try await service.awaitServers() }
                let tally = journal.state.tally
                try journal.close()
                try run.report(
                    tally, verdicts: journal.verdictsPath, sample: devices.sample, others: counts.fields,
                    json: output.json)
            }
        }
        await server.shutdown()
        try result.get()
    }

    private static func secrets(in text: String) throws -> [UUID: String] {
        var secrets: [UUID: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split { " ,\t".contains($0) }
            guard parts.count == 2, let uuid = UUID(uuidString: String(parts[0])) else {
                throw ValidationError("--platform-secrets has a line that is no UUID, a space and a secret")
            }
            secrets[uuid] = String(parts[1])
        }
        return secrets
    }
}

/// A list of devices as bytes, a piece in memory at a time.
final class ImportInput {
    /// nil for standard input and other pipes, which say nothing of which list it is.
    let path: String?
    private let handle: FileHandle
    private let unpacking: Process?
    private let size: UInt64?
    private var count: UInt64 = 0

    private static let pieceBytes = 1 << 18

    init(_ path: String) throws {
        if path == "-" {
            (self.path, handle, unpacking, size) = (nil, .standardInput, nil, nil)
            return
        }
        guard FileManager.default.isReadableFile(atPath: path), !FileManager.default.fileExists(atPath: path + "/.")
        else {
            throw ValidationError(InputFile.fault(of: path))
        }
        guard path.lowercased().hasSuffix(".gz") else {
            handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            unpacking = nil
            size = try? handle.seekToEnd()
            self.path = size == nil ? nil : path
            if size != nil { try handle.seek(toOffset: 0) }
            return
        }
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/gzip")
        process.arguments = ["-dc", "--", path]
        process.standardOutput = pipe
        try process.run()
        (self.path, handle, unpacking, size) = (path, pipe.fileHandleForReading, process, nil)
    }

    /// The name for files that are written beside the list.
    var name: String { path ?? "import" }

    /// The size and time of the file, which tell it from another list of its name.
    var stamp: String {
        let attributes = try? FileManager.default.attributesOfItem(atPath: name)
        let changedAt = (attributes?[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
        return "\(attributes?[.size] ?? 0) \(changedAt)"
    }

    /// How much of it was read, from 0 to 1; nil where its size is not known.
    var share: Double? { size.map { $0 == 0 ? 1 : Double(count) / Double($0) } }

    /// The next piece; nil at the end.
    func next() throws -> Data? {
        guard let piece = try handle.read(upToCount: Self.pieceBytes), !piece.isEmpty else {
            try end()
            return nil
        }
        count += UInt64(piece.count)
        return piece
    }

    private func end() throws {
        guard let unpacking else { return }
        unpacking.waitUntilExit()
        guard unpacking.terminationStatus == 0 else {
            throw InvalidInput(field: name, "cannot be unpacked: gzip ended with \(unpacking.terminationStatus)")
        }
    }
}
