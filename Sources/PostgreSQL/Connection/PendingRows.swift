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
