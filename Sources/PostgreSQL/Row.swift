import CPostgreSQL
public import FoundationEssentials

/// One row of an answer. Columns are read by index, from 0, in binary; it is valid as long as its `Rows`.
public struct Row {
    let rows: Rows
    let index: Int32

    public func isNull(_ column: Int32) -> Bool { PQgetisnull(rows.handle, index, column) == 1 }

    /// A boolean (0 or 1), a smallint, an integer or a bigint; 0 for NULL.
    public func integer(_ column: Int32) -> Int64 {
        let bytes = bytes(column)
        return switch bytes.count {
        case 8: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        case 4: Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
        case 2: Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
        case 1: Int64(bytes[0])
        default: 0
        }
    }

    public func integerIfAny(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    public func bool(_ column: Int32) -> Bool { integer(column) != 0 }

    /// A double precision; 0 for NULL.
    public func double(_ column: Int32) -> Double {
        let bytes = bytes(column)
        guard bytes.count == 8 else { return 0 }
        return Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
    }

    /// Empty for NULL.
    public func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    public func textIfAny(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    /// Empty for NULL.
    public func blob(_ column: Int32) -> [UInt8] { Array(bytes(column)) }

    public func blobIfAny(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : blob(column) }

    /// Lends the bytes without copying.
    public func withBlob<Result>(
        _ column: Int32, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result { try body(bytes(column)) }

    /// nil for NULL, and for anything that is not a uuid.
    public func uuid(_ column: Int32) -> UUID? {
        let bytes = bytes(column)
        return bytes.count == 16 ? UUID(uuid: bytes.loadUnaligned(as: uuid_t.self)) : nil
    }

    private func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        precondition(column < PQnfields(rows.handle), "the answer has no column \(column)")
        return UnsafeRawBufferPointer(
            start: PQgetvalue(rows.handle, index, column), count: Int(PQgetlength(rows.handle, index, column)))
    }
}

/// The answer to a statement: its rows, or how many it changed.
public final class Rows {
    let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { PQclear(handle) }

    public var count: Int { Int(PQntuples(handle)) }

    /// The number of rows that the statement inserted, changed, deleted or returned.
    public var changedCount: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }

    public subscript(index: Int) -> Row {
        precondition(index < count, "the answer has no row \(index)")
        return Row(rows: self, index: Int32(index))
    }
}

/// The rows of a statement that was sent without waiting: they come with the answers of the next call that waits, or
/// when they are asked for.
public final class PendingRows<Value> {
    /// Weak, since the connection keeps what is pending: one that is lost meanwhile is freed all the same.
    private weak let connection: Connection?
    private let convert: (Row) throws -> Value
    private var answer: Result<[Value], any Error>?

    init(connection: Connection, convert: @escaping (Row) throws -> Value) {
        self.connection = connection
        self.convert = convert
    }

    func take(_ rows: Rows) { answer = Result { try (0..<rows.count).map { try convert(rows[$0]) } } }

    /// All rows, converted. Throws what the server refused, here or at the call that waited before.
    public func all() throws -> [Value] {
        if answer == nil { try connection?.settle() }
        guard let answer else {
            throw PostgresError(.refused, message: "the statement has no answer: it was refused, or one before it was")
        }
        return try answer.get()
    }
}
