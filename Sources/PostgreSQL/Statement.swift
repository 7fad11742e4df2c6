/// A statement of a connection. Parameters are `$1`, `$2`, …; it is prepared once for each connection.
public struct Statement {
    let connection: Connection
    let sql: String

    /// Sends it without waiting for the answer: an error is thrown by the next call that waits.
    public func send<each Value: PostgresValue>(_ values: repeat each Value) throws {
        try connection.send(sql, repeat each values)
    }

    /// Sends it without waiting for its rows, which travel with those of the next call that waits.
    public func sendReading<each Value: PostgresValue, Result>(
        _ values: repeat each Value, as body: @escaping (Row) throws -> Result
    ) throws -> PendingRows<Result> {
        let rows = PendingRows(connection: connection, convert: body)
        try connection.send(sql, repeat each values, take: rows.take)
        return rows
    }

    /// Runs it; returns the number of rows it changed.
    @discardableResult
    public func run<each Value: PostgresValue>(_ values: repeat each Value) throws -> Int {
        try connection.ask(sql, repeat each values).changedCount
    }

    /// The first row, converted by `body`; nil when there is none.
    public func first<each Value: PostgresValue, Result>(
        _ values: repeat each Value, as body: (Row) throws -> Result
    ) throws -> Result? {
        let rows = try connection.ask(sql, repeat each values)
        return rows.count > 0 ? try body(rows[0]) : nil
    }

    /// Calls `body` with each row in turn.
    public func each<each Value: PostgresValue>(
        _ values: repeat each Value, do body: (Row) throws -> Void
    ) throws {
        let rows = try connection.ask(sql, repeat each values)
        for index in 0..<rows.count { try body(rows[index]) }
    }

    /// All rows, converted by `body`.
    public func all<each Value: PostgresValue, Result>(
        _ values: repeat each Value, as body: (Row) throws -> Result
    ) throws -> [Result] {
        let rows = try connection.ask(sql, repeat each values)
        return try (0..<rows.count).map { try body(rows[$0]) }
    }
}

/// The parameters of one command, in one buffer.
struct Parameters {
    private var bytes: [UInt8] = []
    private var starts: [Int?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []
    private(set) var types: [UInt32] = []

    mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        formats.removeAll(keepingCapacity: true)
        types.removeAll(keepingCapacity: true)
    }

    mutating func append<Value: PostgresValue>(_ value: Value) {
        let start = bytes.count
        let isThere = value.encode(into: &bytes)
        starts.append(isThere ? start : nil)
        lengths.append(Int32(bytes.count - start))
        formats.append(1)
        types.append(Value.postgresType.id)
    }

    /// Lends what libpq needs: the count, the pointers (nil for NULL), the lengths, and that all are binary.
    func withPointers<Result>(
        _ body: (Int32, [UnsafePointer<CChar>?], [Int32], [Int32]) throws -> Result
    ) rethrows -> Result {
        // An empty value needs a pointer too.
        let whole = bytes.isEmpty ? [0] : bytes
        return try whole.withUnsafeBytes { buffer in
            let base = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            let places = starts.map { start in start.flatMap { base?.advanced(by: $0) } }
            return try body(Int32(starts.count), places, lengths, formats)
        }
    }
}
