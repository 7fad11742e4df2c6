import GRDB

/// A file that SQLite makes in the system's directory for temporary files, and deletes when it is closed. Whatever the engine of the
/// store: the rows of a dry run are no business of a database that others use.
final class ImportScratchFile: ImportScratch {
    private let queue: DatabaseQueue

    /// The most of it that is in memory, in KiB.
    private static let cacheKiB = 16_384

    init() throws {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = OFF;
                    PRAGMA synchronous = OFF;
                    PRAGMA temp_store = FILE;
                    PRAGMA cache_size = -\(Self.cacheKiB);
                    """)
        }
        // An empty path is a private file without a name. Source: SQLite, "In-memory databases", temporary databases.
        queue = try DatabaseQueue(path: "", configuration: configuration)
        try queue.write { try $0.execute(sql: ImportScratchStatements.table) }
    }

    func values(of keys: [UInt64]) async throws -> [UInt64: [UInt64]] {
        try await queue.read { db in
            var values: [UInt64: [UInt64]] = [:]
            let statement = try db.prepared(ImportScratchStatements.value)
            for key in keys {
                values[key] = try statement.first(Int64(bitPattern: key)) { row in
                    row.withBlob(0, [UInt64].init(words:))
                }
            }
            return values
        }
    }

    func set(_ values: [UInt64: [UInt64]]) async throws {
        try await queue.write { db in
            let statement = try db.prepared(ImportScratchStatements.set)
            // In the order of the table, so that neighbours share pages.
            for (key, words) in values.map({ (Int64(bitPattern: $0.key), $0.value) }).sorted(by: { $0.0 < $1.0 }) {
                try statement.run(key, words.bytes)
            }
        }
    }
}

extension [UInt64] {
    fileprivate init(words bytes: UnsafeRawBufferPointer) {
        self = stride(from: 0, to: bytes.count, by: 8).map {
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt64.self))
        }
    }

    fileprivate var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for word in self { Swift.withUnsafeBytes(of: word.littleEndian) { bytes += $0 } }
        return bytes
    }
}

enum ImportScratchStatements {
    static let table = "CREATE TABLE kept (key INTEGER PRIMARY KEY, words BLOB NOT NULL) STRICT"

    static let value = "SELECT words /* import_scratch.value */ FROM kept WHERE key = ?1"

    static let set = """
        INSERT INTO kept /* import_scratch.set */ (key, words) VALUES (?1, ?2)
            ON CONFLICT (key) DO UPDATE SET words = excluded.words
        """
}

/// Numbers by a hash, more of them than fit into memory, for as long as a dry run of an import takes.
package protocol ImportScratch: Sendable {
    /// The numbers under the keys; keys without any are left out.
    func values(of keys: [UInt64]) async throws -> [UInt64: [UInt64]]
    func set(_ values: [UInt64: [UInt64]]) async throws
}
