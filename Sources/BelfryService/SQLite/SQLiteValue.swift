import FoundationEssentials
import GRDBSQLite

/// The types of a statement's parameters.
protocol SQLiteValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32
}

/// Tells SQLite to take a copy. Source: sqlite3.h, `SQLITE_TRANSIENT`, which is a cast and so not imported.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

/// A value that is bound as a number.
protocol SQLiteInteger: SQLiteValue {
    var sqliteInteger: Int64 { get }
}

extension SQLiteInteger {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(statement, index, sqliteInteger)
    }
}

extension Int64: SQLiteInteger { var sqliteInteger: Int64 { self } }
extension Int: SQLiteInteger { var sqliteInteger: Int64 { Int64(self) } }
extension Bool: SQLiteInteger { var sqliteInteger: Int64 { self ? 1 : 0 } }
extension Instant: SQLiteInteger { var sqliteInteger: Int64 { milliseconds } }
extension Key: SQLiteInteger { var sqliteInteger: Int64 { rawValue } }

extension Double: SQLiteValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_double(statement, index, self) }
}

extension String: SQLiteValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
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
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
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
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        guard let self else { return sqlite3_bind_null(statement, index) }
        return self.bind(to: statement, at: index)
    }
}
