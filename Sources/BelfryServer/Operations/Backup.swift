package import BelfryService
import Crypto
import Foundation
import SystemPackage

/// A backup folder with all the data of a server on SQLite: the database, the key ring that opens its seals, and a list
/// of both.
///
/// Only its owner can read it, because it contains the credentials of every platform.
package struct Backup: Sendable {
    package let folder: String

    private static let database = "belfry.sqlite"
    private static let keyRing = "key-ring"
    private static let manifest = "manifest.json"

    package init(at folder: String) { self.folder = folder.absolutePath }

    // MARK: Making one

    /// Copies what the configuration names, beside a running server. The folder appears once it is complete.
    package func make(of storage: StorageConfiguration, at now: Instant) throws -> BackupManifest {
        try storage.demandSQLite()
        guard try storage.databaseFile.isThere() else {
            throw BackupFault("there is no database at \(storage.databaseFile)")
        }
        guard try !folder.isThere() else { throw BackupFault("\(folder) exists already") }
        let parent = folder.parentDirectory
        guard try parent.isThere() else {
            throw BackupFault("there is no folder \(parent), in which \(folder) is to be made")
        }
        try storage.demandDatabase()
        let draft = Backup(at: folder + ".part")
        do throws(FileFault) { try draft.folder.makeDirectory() } catch {
            guard error.code == .fileExists else { throw error }
            throw BackupFault(
                "\(draft.folder) exists: a backup is being made there, or was killed: remove the folder then")
        }
        do {
            let manifest = try draft.fill(from: storage, at: now)
            try draft.folder.move(to: folder)
            BackupNoteFile(in: storage.directory).write(BackupNote(at: now, folder: folder))
            return manifest
        } catch {
            try? FileManager.default.removeItem(atPath: draft.folder)
            switch error {
            case StoreError.unavailable(let why):
                throw BackupFault("the copy in \(draft.folder) cannot be made: \(why)")
            case let code as Errno: throw FileFault(draft.folder, code, "cannot be written: \(code.words)")
            default: throw error
            }
        }
    }

    /// The ring is copied after the database, so that it has every key that the copy needs.
    private func fill(from storage: StorageConfiguration, at now: Instant) throws -> BackupManifest {
        try file(Self.database).writePrivately(Data())
        try SQLiteBackup.copy(from: storage.databaseFile, to: file(Self.database))
        try file(Self.keyRing).writePrivately(try storage.keyRingFile.contents())
        let findings = try inspect(of: "sqlite:\(storage.databaseFile.absolutePath)")
        let manifest = BackupManifest(
            version: Release.version, createdAt: now.text, schema: findings.schema.applied,
            files: try [Self.database, Self.keyRing].map { try BackupManifest.File(named: $0, in: folder) })
        try file(Self.manifest).writePrivately(try manifest.json())
        return manifest
    }

    // MARK: Taking it back

    /// Restores the copies to the paths in the configuration. Existing files are never overwritten: with `force` they
    /// are moved into a folder beside it. No server can start meanwhile.
    ///
    /// Returns also where they were moved to.
    package func restore(
        to storage: StorageConfiguration, force: Bool, at now: Instant
    ) async throws -> (manifest: BackupManifest, aside: String?) {
        try storage.demandSQLite()
        let manifest = try verify()
        let files = FileManager.default
        let inTheWay = try storage.filesInTheWay()
        guard inTheWay.isEmpty || force else {
            let isDatabase = inTheWay.contains(storage.databaseFile)
            let move = isDatabase ? try? SQLiteStore.move(at: storage.databaseFile) : nil
            throw BackupFault(
                "\(isDatabase ? storage.databaseFile : inTheWay[0]) exists already"
                    + (move.map { ", and was copied to \($0.text): what came there since is in no backup of this file" }
                        ?? "")
                    + "; --force moves the database and the key ring that are there into a folder "
                    + "before-restore-… in \(storage.directory)")
        }
        try storage.demandDatabase()
        if try storage.databaseFile.isThere() {
            do { try SQLiteBackup.demandAlone(storage.databaseFile) } catch StoreError.unavailable(let why) {
                guard why.contains("another process") else { throw StoreError.unavailable(why) }
                throw BackupFault("the database \(storage.databaseFile) is in use: stop the server first")
            }
        }
        try storage.makeDirectory()
        let lock = try await DirectoryLock.take(storage.directory)
        defer { withExtendedLifetime(lock) {} }
        // The copies stand ready, with the owners of what they replace, before that is moved.
        let database = try FileReplacement(of: storage.databaseFile)
        defer { database.discard() }
        try database.copy(file(Self.database))
        let owner = files.fileExists(atPath: storage.databaseFile) ? storage.databaseFile : storage.directory
        let ring = try FileReplacement(of: storage.keyRingFile, like: owner)
        defer { ring.discard() }
        try ring.copy(file(Self.keyRing))
        var aside = FilesAside(in: "\(storage.directory)/before-restore-\(now.milliseconds)")
        do {
            for path in storage.filesToReplace { try aside.put(path) }
            try ring.commit()
            try database.commit()
        } catch {
            aside.putBack()
            throw error
        }
        return (manifest, aside.isEmpty ? nil : aside.folder)
    }

    /// Throws unless the folder contains what its list says, the database is intact, and the ring opens its seals.
    package func verify() throws -> BackupManifest {
        guard try file(Self.manifest).isThere() else {
            throw BackupFault(
                "\(folder) is not a backup: its \(Self.manifest) is missing; `belfry backup --to` makes one"
            )
        }
        let manifest = try BackupManifest(json: try file(Self.manifest).contents())
        for expected in manifest.files {
            guard try BackupManifest.File(named: expected.name, in: folder) == expected else {
                throw BackupFault("\(file(expected.name)) is not the file that was backed up")
            }
        }
        _ = try inspect(of: "the database of the backup \(folder)")
        return manifest
    }

    /// - Parameter name: of the database.
    private func inspect(of name: String) throws -> SQLiteBackup.Findings {
        let findings = try SQLiteBackup.inspect(file(Self.database), of: name)
        let ring = try KeyRingFile.open(at: file(Self.keyRing), createIfMissing: false)
        for secret in findings.seals where !secret.seal.bytes.isEmpty {
            do {
                guard let purpose = secret.purpose else { throw VaultError.broken }
                _ = try ring.open(secret.seal, for: purpose)
            } catch {
                throw BackupFault("the key ring does not open the \(secret.kind.rawValue) of the database: \(error)")
            }
        }
        return findings
    }

    private func file(_ name: String) -> String { folder + "/" + name }

    /// Throws where a directory is a backup: whoever opens its database changes it, and it is none any more.
    static func demandNone(in directory: String) throws(ConfigurationFaults) {
        let backup = Backup(at: directory)
        let isOne = [database, manifest].allSatisfy { FileManager.default.fileExists(atPath: backup.file($0)) }
        guard isOne else { return }
        throw ConfigurationFaults(lines: [
            "\(backup.folder) is a backup: `belfry restore --from \(backup.folder)` makes a data directory of it; delete its "
                + "\(manifest) where it is to be one itself"
        ])
    }
}

/// Why a backup could not be made or restored.
package struct BackupFault: Error, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

extension StorageConfiguration {
    /// Throws where the database of the data directory is another user's, or a backup's.
    func demandDatabase() throws(ConfigurationFaults) {
        try FileOwner.demandDatabase(at: databaseFile)
        try Backup.demandNone(in: directory)
    }

    fileprivate func demandSQLite() throws {
        guard databaseURL == nil else {
            throw BackupFault(
                "the database is a PostgreSQL: `pg_dump` copies it, and the key ring is copied beside it, as docs/Operations.md says"
            )
        }
    }

    /// Files that a restored database would replace, or be confused with.
    fileprivate func filesInTheWay() throws -> [String] {
        let files = FileManager.default
        let inDirectory =
            files.fileExists(atPath: directory)
            ? try files.contentsOfDirectory(atPath: directory).sorted().map { directory + "/" + $0 } : []
        let ring = files.fileExists(atPath: keyRingFile) ? [keyRingFile] : []
        return inDirectory + ring
    }

    /// The database and the key ring, with what SQLite keeps beside its file. Where a symbolic link leads to one, the file itself.
    fileprivate var filesToReplace: [String] {
        let database = databaseFile.resolvingLinks
        return String.sqliteLogs.map { database + $0 } + [database, keyRingFile.resolvingLinks]
    }
}

extension String {
    /// The endings of what SQLite keeps beside a database. It is empty when none has the database open, and must not be found beside another.
    fileprivate static let sqliteLogs = ["-wal", "-shm"]

    fileprivate var isSQLiteLog: Bool { Self.sqliteLogs.contains { hasSuffix($0) } }
}

/// Files that were put into a folder, which is made for the first, and can be put back. A file stays in its place too, where the file
/// system has hard links: what replaces it leaves no moment without one, in which a server would make an empty database.
private struct FilesAside {
    let folder: String
    private var files: [(from: String, to: String)] = []

    init(in folder: String) { self.folder = folder }

    var isEmpty: Bool { files.isEmpty }

    mutating func put(_ path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        if isEmpty { try folder.makePrivateDirectory() }
        let target = folder + "/" + (path as NSString).lastPathComponent
        if path.isSQLiteLog || link(path, target) != 0 {
            // Also across file systems.
            try FileManager.default.moveItem(atPath: path, toPath: target)
        }
        files.append((path, target))
    }

    /// Puts the files back, in the place of any that have come there since.
    func putBack() {
        for (from, to) in files {
            if rename(to, from) == 0 {
                // It does nothing where both are one file. Source: rename(2).
                unlink(to)
            } else {
                unlink(from)
                try? FileManager.default.moveItem(atPath: to, toPath: from)
            }
        }
        rmdir(folder)
    }
}

/// The list of a backup's contents.
package struct BackupManifest: Sendable, Hashable, Codable {
    /// The version of the program that made it.
    package let version: String
    package let createdAt: String
    /// The migrations that the database has.
    package let schema: [String]
    package let files: [File]

    package struct File: Sendable, Hashable, Codable {
        package let name: String
        package let bytes: Int
        package let sha256: String
    }

    enum CodingKeys: String, CodingKey {
        case version, schema, files
        case createdAt = "created_at"
    }

    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }
}

extension BackupManifest {
    init(json: Data) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: json)
        } catch {
            throw BackupFault("the list of the backup cannot be read: \(error)")
        }
    }
}

extension BackupManifest.File {
    init(named name: String, in folder: String) throws {
        guard let handle = FileHandle(forReadingAtPath: folder + "/" + name) else {
            throw FileFault(reading: folder + "/" + name, Errno(rawValue: errno))
        }
        defer { try? handle.close() }
        var (digest, count) = (SHA256(), 0)
        while let chunk = try handle.read(upToCount: 1 << 20), !chunk.isEmpty {
            digest.update(data: chunk)
            count += chunk.count
        }
        self.init(name: name, bytes: count, sha256: Array(digest.finalize()).hex)
    }
}
