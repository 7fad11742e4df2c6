import FoundationEssentials
import GRDB
import GRDBSQLite
import Glibc

/// A prepared statement, bound and stepped by hand.
///
/// GRDB's own rows are looked up by name and boxed, which costs more than the rows of a posting list do.
struct SQLiteStatement: SQLStatement {
    private let statement: Statement
    private var handle: OpaquePointer { statement.sqliteStatement }

    fileprivate init(_ statement: Statement) { self.statement = statement }

    func send<each Value: SQLiteValue>(_ values: repeat each Value) throws { try run(repeat each values) }

    func sendEach<each Value: SQLValue>(_ columns: repeat [each Value]) throws {
        var count = 0
        for column in repeat each columns { count = column.count }
        for row in 0..<count { try run(repeat (each columns)[row]) }
    }

    @discardableResult
    func run<each Value: SQLiteValue>(_ values: repeat each Value) throws -> Int {
        try bind(repeat each values)
        defer { reset() }
        while try step() {}
        return Int(sqlite3_changes64(sqlite3_db_handle(handle)))
    }

    /// The first row, converted by `body`; nil when there is none.
    func first<each Value: SQLiteValue, Result>(
        _ values: repeat each Value, as body: (SQLiteRow) throws -> Result
    ) throws -> Result? {
        try bind(repeat each values)
        defer { reset() }
        return try step() ? try body(SQLiteRow(handle: handle)) : nil
    }

    /// Calls `body` with each row in turn. The columns are valid during the call only.
    func each<each Value: SQLiteValue>(_ values: repeat each Value, do body: (SQLiteRow) throws -> Void) throws {
        try bind(repeat each values)
        defer { reset() }
        while try step() { try body(SQLiteRow(handle: handle)) }
    }

    /// Like `run`, with any number of values.
    func run(values: [some SQLiteValue]) throws {
        try bind(values: values)
        defer { reset() }
        while try step() {}
    }

    /// Whether another row is wanted.
    enum ScanStep { case next, stop }

    /// Calls `body` with each row in turn, until it wants no more.
    func scan<each Value: SQLiteValue>(_ values: repeat each Value, do body: (SQLiteRow) throws -> ScanStep) throws {
        try bind(repeat each values)
        defer { reset() }
        while try step(), try body(SQLiteRow(handle: handle)) == .next {}
    }

    /// All rows, converted by `body`.
    func all<each Value: SQLiteValue, Result>(
        _ values: repeat each Value, as body: (SQLiteRow) throws -> Result
    ) throws -> [Result] {
        var results: [Result] = []
        try each(repeat each values) { results.append(try body($0)) }
        return results
    }

    private func bind<each Value: SQLiteValue>(_ values: repeat each Value) throws {
        var index: Int32 = 0
        repeat try bind(each values, at: &index)
    }

    private func bind(values: [some SQLiteValue]) throws {
        var index: Int32 = 0
        for value in values { try bind(value, at: &index) }
    }

    private func bind(_ value: some SQLiteValue, at index: inout Int32) throws {
        index += 1
        guard value.bind(to: handle, at: index) == SQLITE_OK else { throw failure() }
    }

    private func step() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: true
        case SQLITE_DONE: false
        default: throw failure()
        }
    }

    private func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    private func failure() -> DatabaseError {
        let connection = sqlite3_db_handle(handle)
        return DatabaseError(
            resultCode: ResultCode(rawValue: sqlite3_extended_errcode(connection)),
            message: String(cString: sqlite3_errmsg(connection)), sql: statement.sql)
    }
}

extension Database: SQLConnection {
    func run(script: SQLText) throws { try execute(sql: script.sqlite) }

    func prepared(_ sql: SQLText) throws -> SQLiteStatement { try prepared(sql.sqlite) }

    /// A statement for SQLite alone, with its placeholders (`?1`, `?2`, …).
    func prepared(_ sql: String) throws -> SQLiteStatement { SQLiteStatement(try cachedStatement(sql: sql)) }
}

/// The columns of a statement's current row, by index.
struct SQLiteRow: SQLRow {
    fileprivate let handle: OpaquePointer

    func isNull(_ index: Int32) -> Bool { sqlite3_column_type(handle, index) == SQLITE_NULL }

    func integer(_ index: Int32) -> Int64 { sqlite3_column_int64(handle, index) }

    func integerIfAny(_ index: Int32) -> Int64? { isNull(index) ? nil : integer(index) }

    func bool(_ index: Int32) -> Bool { integer(index) != 0 }

    func double(_ index: Int32) -> Double { sqlite3_column_double(handle, index) }

    func text(_ index: Int32) -> String { textIfAny(index) ?? "" }

    func textIfAny(_ index: Int32) -> String? {
        guard let start = sqlite3_column_text(handle, index) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, index))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func blob(_ index: Int32) -> [UInt8] { withBlob(index) { Array($0) } }

    func blobIfAny(_ index: Int32) -> [UInt8]? { isNull(index) ? nil : blob(index) }

    func uuid(_ index: Int32) -> UUID? { withBlob(index) { UUID(bytes: $0) } }

    func withBlob<Result>(_ index: Int32, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let start = sqlite3_column_blob(handle, index)
        return try body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, index))))
    }
}

/// The types of a statement's parameters.
package protocol SQLiteValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32
}

/// Tells SQLite to take a copy. Source: sqlite3.h, `SQLITE_TRANSIENT`, which is a cast and so not imported.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

/// A value that is bound as a number.
protocol SQLiteInteger: SQLiteValue {
    var sqliteInteger: Int64 { get }
}

extension SQLiteInteger {
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(statement, index, sqliteInteger)
    }
}

extension Int64: SQLiteInteger { package var sqliteInteger: Int64 { self } }
extension Int: SQLiteInteger { package var sqliteInteger: Int64 { Int64(self) } }
extension Bool: SQLiteInteger { package var sqliteInteger: Int64 { self ? 1 : 0 } }
extension Instant: SQLiteInteger { package var sqliteInteger: Int64 { milliseconds } }
extension Key: SQLiteInteger { package var sqliteInteger: Int64 { rawValue } }

extension Double: SQLiteValue {
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_double(statement, index, self)
    }
}

extension String: SQLiteValue {
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        var text = self
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                guard let start = characters.baseAddress else {
                    return sqlite3_bind_text(statement, index, "", 0, copied)
                }
                return sqlite3_bind_text(statement, index, start, Int32(characters.count), copied)
            }
        }
    }
}

extension [UInt8]: SQLiteValue {
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, !bytes.isEmpty else {
                return sqlite3_bind_zeroblob(statement, index, 0)
            }
            return sqlite3_bind_blob(statement, index, start, Int32(bytes.count), copied)
        }
    }
}

extension UUID: SQLiteValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { bytes.bind(to: statement, at: index) }
}

extension Optional: SQLiteValue where Wrapped: SQLiteValue {
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        guard let self else { return sqlite3_bind_null(statement, index) }
        return self.bind(to: statement, at: index)
    }
}

extension Error {
    /// Whether the cause is the disk or the file, so that every other write of the transaction fails too.
    var isOfTheDatabaseItself: Bool {
        guard let error = self as? DatabaseError else { return false }
        return switch error.resultCode {
        case .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_CANTOPEN,
            .SQLITE_PERM, .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_NOMEM, .SQLITE_PROTOCOL, .SQLITE_MISUSE:
            true
        default: false
        }
    }

}

extension DatabaseError: EngineError {
    var storeError: any Error {
        let message = message ?? "no further words"
        return switch resultCode {
        case .SQLITE_FULL: StoreError.unavailable("the disk is full")
        case .SQLITE_READONLY: StoreError.unavailable("the database cannot be written: \(message)")
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: StoreError.unavailable("the database is damaged: \(message)")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            StoreError.unavailable("another process holds the database: \(message)")
        case .SQLITE_CANTOPEN where Self.lacksDescriptors:
            StoreError.unavailable(
                "the database cannot be opened: EMFILE, this process has as many files open as it may (LimitNOFILE, ulimit -n)"
            )
        default: StoreError.unavailable("\(extendedResultCode): \(message)")
        }
    }

    /// Whether no file can be opened. SQLite's error does not tell: it calls every cause "unable to open database file".
    private static var lacksDescriptors: Bool {
        let probe = Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard probe >= 0 else { return errno == EMFILE || errno == ENFILE }
        Glibc.close(probe)
        return false
    }
}
