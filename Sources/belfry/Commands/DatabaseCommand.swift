import ArgumentParser
import BelfryServer
import BelfryService
import Foundation
import Logging

struct DatabaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "database", abstract: "Move everything from one database to another.",
        subcommands: [Copy.self, Reopen.self])

    struct Copy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copy a whole database into an empty one of another kind, and compare both.",
            discussion: """
                Refused while a server has either; stop them first, and commands such as an import. A copy that was interrupted goes on \
                where it was when it is started again; where the old database was changed meanwhile, empty the new one first. No \
                server can serve from it before it is done. The key ring goes with it as it is. At the end servers and commands \
                refuse the old database, unless --keep-source is given; `belfry database reopen` lets it be used again.
                """)

        @Option(help: ArgumentHelp("What is copied.", valueName: "sqlite:path or postgres://…"))
        var from: String

        @Option(help: ArgumentHelp("Where to.", valueName: "sqlite:path or postgres://…"))
        var to: String

        @Flag(help: "A trial: the old database stays in use.")
        var keepSource = false

        @OptionGroup var output: OutputOptions

        func validate() throws {
            try refusePassword(in: from, of: "--from")
            try refusePassword(in: to, of: "--to")
        }

        func run() async throws {
            guard let source = DatabaseLocation(from), let target = DatabaseLocation(to), source != target else {
                throw ValidationError("--from and --to are two databases, each sqlite: and a path, or postgres://…")
            }
            var logger = Logger(label: "belfry") { StreamLogHandler.lines(label: $0) }
            logger.logLevel = .warning
            let line = ProgressLine()
            let verdicts = try await source.copy(
                to: target, keepsSource: keepSource, by: .local(systemUser: SystemUser.name), logger: logger
            ) { progress in
                line.show("\(progress.table): \(progress.rows) of \(progress.rowsInAll)")
            }
            line.end()
            let rows = verdicts.map { CopiedTableRow(table: $0.table, rows: $0.rows, digest: $0.digest) }
            if output.json { return try Output.json(rows) }
            Output.table(
                ["table", "rows", "digest"], rows.map { [$0.table, String($0.rows), String($0.digest, radix: 16)] })
            if keepSource {
                return print(
                    """

                    Both are the same. The old database stays in use; the new one is of this moment.
                    \(RestoreCommand.advice)
                    """)
            }
            print(
                """

                Both are the same. Servers and commands refuse the old database from now on. Next:
                  1. name the new database in the configuration of every node: \(target.setting)
                  2. give every node the key ring file that the old ones have: without it no secret can be opened
                  3. `belfry check`, then start the servers
                  4. keep the old database until pushes arrive; delete it then, for it holds the same secrets
                """)
        }
    }
}

extension DatabaseCommand {
    struct Reopen: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Reopen a database that was copied to another.",
            discussion: """
                For the way back, before the new database has served: what it took since the copy is not in the old one. So it is refused \
                where the new one has been used since, or cannot be asked; --force reopens the old one all the same.
                """)

        @Argument(help: ArgumentHelp("The database.", valueName: "sqlite:path or postgres://…"))
        var database: String

        @Flag(help: "Even if the new database has been used since; its writes are not in this one.") var force = false

        func validate() throws { try refusePassword(in: database, of: "the database") }

        func run() async throws {
            guard let location = DatabaseLocation(database) else {
                throw ValidationError(
                    "the database is `\(database.quotable)`, it has to be sqlite: and a path, or postgres://…")
            }
            var logger = Logger(label: "belfry") { StreamLogHandler.lines(label: $0) }
            logger.logLevel = .warning
            let move = try await location.reopen(
                force: force, by: .local(systemUser: SystemUser.name), logger: logger)
            guard let move else { return print("\(database) was not copied away; nothing was changed") }
            print("\(database) can be used again; see that nothing uses \(move.name) any more")
        }
    }
}

private func refusePassword(in url: String, of name: String) throws {
    guard DatabasePassword.stands(in: url) else { return }
    throw ValidationError(
        "\(name) holds a password, which every user of this machine can read in the arguments of a process: leave "
            + "it out and put it into ~/.pgpass or the file that PGPASSFILE names")
}

/// A table of both databases, as scripts see it.
private struct CopiedTableRow: Encodable {
    let table: String
    let rows: Int
    let digest: UInt64
}

extension DatabaseLocation {
    /// The setting that names it.
    fileprivate var setting: String {
        switch self {
        case .sqlite(let path):
            "data.directory, the folder of \(path), and no database.url"
                + (path.hasSuffix("belfry.sqlite") ? "" : "; in that folder it has to be called belfry.sqlite")
        case .postgres: "database.url (BELFRY_DATABASE_URL)"
        }
    }
}
