package import PostgreSQL

extension Instant: PostgresValue {
    package static var postgresType: PostgresType { .bigint }

    package func encode(into bytes: inout [UInt8]) -> Bool { milliseconds.encode(into: &bytes) }
}

extension Key: PostgresValue {
    package static var postgresType: PostgresType { .bigint }

    package func encode(into bytes: inout [UInt8]) -> Bool { rawValue.encode(into: &bytes) }
}

extension PostgresError: EngineError {
    var storeError: any Error {
        if code == .overloaded { return StoreError.overloaded(retryAfter: .seconds(1)) }
        return switch sqlState {
        case .diskFull?: StoreError.unavailable("the disk of the database is full: \(self)")
        case .characterNotInRepertoire?:
            InvalidInput(field: "text", "holds a character that the database does not keep, such as U+0000")
        case .readOnlyTransaction?: StoreError.unavailable("the database cannot be written: \(self)")
        case .invalidStatementName?, .duplicatePreparedStatement?:
            StoreError.unavailable("\(self); database.pooling says `session`, it has to be `auto` or `transaction`")
        case .lockNotAvailable?, .deadlockDetected?, .serializationFailure?:
            StoreError.overloaded(retryAfter: .seconds(1))
        case _? where !isOfConnection: StoreError.unavailable("\(self)")
        default: StoreError.unavailable("it cannot be reached: \(self)")
        }
    }
}
