/// The rows of a statement that was sent without waiting: they come with the answers of the next call that waits, or
/// when they are asked for.
public final class PendingRows<Value> {
    private let connection: Connection
    private let convert: (Row) throws -> Value
    private var answer: Result<[Value], any Error>?

    init(connection: Connection, convert: @escaping (Row) throws -> Value) {
        self.connection = connection
        self.convert = convert
    }

    func take(_ rows: Rows) { answer = Result { try (0..<rows.count).map { try convert(rows[$0]) } } }

    /// All rows, converted. Throws what the server refused, here or at the call that waited before.
    public func all() throws -> [Value] {
        if answer == nil { try connection.settle() }
        guard let answer else {
            throw PostgresError(.refused, message: "the statement was passed over, since one before it was refused")
        }
        return try answer.get()
    }
}
