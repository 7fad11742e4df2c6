import GRDB
import Glibc

/// Copies of a database file.
package enum SQLiteBackup {
    /// The content of a copy.
    package struct Findings: Sendable {
        package let schema: SchemaVersion
        /// The seals of applications, platforms and people. Stored answers are useless a day later.
        package let seals: [SealedSecret]
    }

    /// 2 MiB: what a flush of the server may wait for.
    private static let pagesPerStep: CInt = 512

    /// Copies the database at `path` as it is at one moment, while others may write it. The copy is one file.
    ///
    /// Source: sqlite.org/backup.html. From one snapshot: writers go on meanwhile, and the log grows until it is done. The copy is flushed
    /// piece by piece, since a flush of gigabytes at the end would hold up those of the server for seconds. An
    /// error of theirs occurs again, and is reported, when SQLite flushes.
    package static func copy(from path: String, to copy: String) throws {
        try asStoreError {
            let source = try DatabaseQueue(path: path, configuration: reading)
            let target = try DatabaseQueue(path: copy)
            let file = open(copy, O_RDWR | O_CLOEXEC)
            defer { close(file) }
            try source.read { db in
                try target.writeWithoutTransaction { target in
                    try db.backup(to: target, pagesPerStep: pagesPerStep) { _ in _ = fdatasync(file) }
                }
            }
            try target.writeWithoutTransaction { try $0.execute(sql: BackupStatements.oneFile) }
            try target.close()
            try source.close()
        }
    }

    /// Reads all of it. Throws when it is damaged, or when a newer program has written it.
    ///
    /// - Parameter name: of the database that it is a copy of. One that was copied away is refused.
    package static func inspect(_ path: String, of name: String) throws -> Findings {
        try asStoreError {
            let queue = try DatabaseQueue(path: path, configuration: reading)
            let findings = try queue.read { db in
                let words = try db.prepared(BackupStatements.check).all { $0.text(0) }
                guard words == ["ok"] else {
                    throw StoreError.unavailable("the copy is damaged: \(words.prefix(3).joined(separator: "; "))")
                }
                let schema = try SQLiteSchema.version(of: db)
                guard schema.breaking.isEmpty else {
                    throw StoreError.unavailable(
                        "the copy is of a newer version: it has \(schema.breaking.joined(separator: ", "))")
                }
                try DatabaseImport.check(db, of: name, for: .serving)
                var kinds: [SealedSecret.Kind] = [.sharedSecret, .previousSharedSecret, .credentials, .twoFactor]
                if schema.applied.contains(WebhookMigration.identifier) { kinds.append(.webhook) }
                return Findings(
                    schema: schema,
                    seals: try kinds.flatMap {
                        try db.sealedSecrets($0, after: nil, limit: .max)
                    })
            }
            try queue.close()
            return findings
        }
    }

    /// Throws while another process has the database open.
    package static func demandAlone(_ path: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .immediateError
        configuration.prepareDatabase { try $0.execute(sql: BackupStatements.alone) }
        try asStoreError {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.writeWithoutTransaction { try $0.execute(sql: BackupStatements.touch) }
            try queue.close()
        }
    }

    private static var reading: Configuration {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        return configuration
    }

    private static func asStoreError<Value>(_ work: () throws -> Value) throws -> Value {
        do { return try work() } catch { throw error.asStoreError }
    }
}

enum BackupStatements {
    /// Otherwise its log and its index would be needed beside it. Source: sqlite.org/wal.html.
    static let oneFile = "PRAGMA journal_mode = DELETE /* backup.one_file */"
    static let check = "PRAGMA integrity_check /* backup.check */"
    static let alone = "PRAGMA locking_mode = EXCLUSIVE /* backup.alone */"
    static let touch = "BEGIN EXCLUSIVE /* backup.touch */; COMMIT"
}
