import ArgumentParser
import BelfryCore
import BelfryServer

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the database and the key ring into a new folder, beside a running server.",
        discussion: """
            The copy is of one moment, and is checked: the database is sound, and the ring opens its seals. The folder can be
            read by its owner alone; its reader has every platform's credentials. For PostgreSQL see docs/Operations.md.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var output: OutputOptions
    @Option(help: ArgumentHelp("A new folder.", valueName: "folder")) var to: String

    func run() async throws {
        let configuration = try await common.configuration()
        let manifest = try Backup(at: to).make(of: configuration.storage, at: SystemClock().now)
        try manifest.show(json: output.json)
    }
}

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore a backup, on a machine whose server is stopped.",
        discussion: """
            All of the backup is checked first. Nothing is overwritten: with --force, a database and a key ring that are there
            are put into a folder beside them. The audit log of what was restored gets a line that says so, for which its schema is
            brought up to date.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var output: OutputOptions
    @Option(help: ArgumentHelp("What `belfry backup` made.", valueName: "folder")) var from: String
    @Flag(help: "Move existing files of the data directory aside.") var force = false

    func run() async throws {
        let configuration = try await common.configuration()
        let manifest = try Backup(at: from).restore(
            to: configuration.storage, force: force, at: SystemClock().now)
        try await common.withOperatorService(migrates: true) { service in
            try await service.audited("database.restore", "database", ["made_at": manifest.createdAt]) {}
        }
        try manifest.show(json: output.json)
    }
}

extension BackupManifest {
    fileprivate func show(json: Bool) throws {
        if json { return try Output.json(self) }
        Output.fields([("created_at", createdAt), ("version", version)])
        Output.table(["file", "bytes", "sha256"], files.map { [$0.name, String($0.bytes), $0.sha256] })
    }
}
