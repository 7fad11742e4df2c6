import ArgumentParser
import BelfryServer
import BelfryService
import Foundation

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the database and the key ring into a new folder, beside a running server.",
        discussion: """
            The copy is of one moment, and is checked: the database is sound, and the ring opens its seals. The folder can be \
            read by its owner alone; its reader has every platform's credentials. For PostgreSQL see docs/Operations.md.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var output: OutputOptions
    @Option(help: ArgumentHelp("A new folder.", valueName: "folder")) var to: String

    func run() async throws {
        let configuration = try await common.configuration()
        // The server goes first where cores are few. Source: setpriority(2), which acts on the calling thread on Linux.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 5)
        let manifest = try Backup(at: to).make(of: configuration.storage, at: SystemClock().now)
        try manifest.show(json: output.json)
    }
}

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore a backup, on a machine whose server is stopped.",
        discussion: """
            All of the backup is checked first. Nothing is overwritten: with --force, a database and a key ring that are there \
            are moved into a folder before-restore-… in the data directory. The audit log of what was restored gets a line that says so, for which its schema is \
            brought up to date.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var output: OutputOptions
    @Option(help: ArgumentHelp("What `belfry backup` made.", valueName: "folder")) var from: String
    @Flag(help: "Move the database and key ring that are there into a folder beside the restored ones.") var force =
        false

    func run() async throws {
        let configuration = try await common.configuration()
        let (manifest, aside) = try await Backup(at: from).restore(
            to: configuration.storage, force: force, at: SystemClock().now)
        let directory = configuration.storage.directory
        try await common.withOperatorService(migrates: true) { service in
            try await service.audited("database.restore", "database", ["made_at": manifest.createdAt]) {}
            try await warn(ofKeyFile: "\(directory)/\(InitialAdminKey.fileName)", service)
        }
        try manifest.show(json: output.json)
        if output.json { return }
        print(
            """

            Restored to \(directory).\(aside.map { " The old files are in \($0)." } ?? "") Next:
              1. `belfry check`, then start the server: batches that were open in the backup are sent again
              2. `belfry platform test PLATFORM` for each platform
            \(Self.advice)
            The file of the first admin key is in no backup; `belfry admin create` makes another key.
            """)
    }
}

extension RestoreCommand {
    /// A warning to those who only try a copy.
    static let advice = """
        A server on the copy sends all that waits, as the real one does. To try it, start it with
        BELFRY_PROXY_DEFAULT_URL=http://127.0.0.1:9, so that nothing leaves (docs/Operations.md, "Backup").
        """

    /// Warns of a file of the first admin key that belongs to the database before.
    private func warn(ofKeyFile path: String, _ service: OperatorService) async throws {
        guard let held = try? String(contentsOfFile: path, encoding: .utf8),
            let id = held.split(separator: "_", maxSplits: 2).dropFirst().first,
            try await service.store.adminKey(String(id)) == nil
        else { return }
        Notice.show("\(path) holds a key that the restored database does not know: delete it")
    }
}

extension BackupManifest {
    fileprivate func show(json: Bool) throws {
        if json { return try Output.json(self) }
        Output.fields([("created_at", createdAt), ("version", version)])
        Output.table(["file", "bytes", "sha256"], files.map { [$0.name, String($0.bytes), $0.sha256] })
    }
}
