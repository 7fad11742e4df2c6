import BelfryCore
import PostgreSQL

extension Error {
    /// The port's word for the error; errors that are not the database's stay what they are.
    var asStoreError: any Error {
        guard let error = self as? PostgresError else { return self }
        if error.code == .overloaded { return StoreError.overloaded(retryAfter: .seconds(1)) }
        return switch error.sqlState {
        case .diskFull?: StoreError.unavailable("the disk of the database is full: \(error)")
        case .characterNotInRepertoire?:
            InvalidInput(field: "text", "holds a character that the database does not keep, such as U+0000")
        case .readOnlyTransaction?: StoreError.unavailable("the database cannot be written: \(error)")
        case .lockNotAvailable?, .deadlockDetected?, .serializationFailure?:
            StoreError.overloaded(retryAfter: .seconds(1))
        case _? where !error.isOfConnection: StoreError.unavailable("\(error)")
        default: StoreError.unavailable("it cannot be reached: \(error)")
        }
    }
}
