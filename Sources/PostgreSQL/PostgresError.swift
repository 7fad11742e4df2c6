import CPostgreSQL
import Dispatch
import Synchronization

/// Why a database operation failed.
public struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible {
    /// More codes may be added.
    public struct Code: Sendable, Hashable {
        private let word: String

        private init(_ word: String) { self.word = word }

        /// No connection could be opened, or not in time.
        public static let connectionFailed = Code("connection failed")
        /// The connection broke. If a commit was running, its result is unknown.
        public static let connectionLost = Code("connection lost")
        /// The server did not answer in time; the connection was closed.
        public static let timedOut = Code("timed out")
        /// The server refused; `sqlState` gives the reason.
        public static let refused = Code("refused")
        /// More work waits than the pool accepts.
        public static let overloaded = Code("overloaded")
        /// The pool was closed.
        public static let closed = Code("closed")
    }

    public let code: Code
    /// The server's code; nil when the error is not the server's.
    public let sqlState: SQLState?
    /// A human-readable reason, without values of parameters.
    public let message: String

    public init(_ code: Code, sqlState: SQLState? = nil, message: String) {
        self.code = code
        self.sqlState = sqlState
        self.message = message
    }

    /// Whether its connection is unusable.
    public var isOfConnection: Bool { code == .connectionFailed || code == .connectionLost || code == .timedOut }

    /// Whether the server rejected a value, and not for the state that it is in.
    public var isOfValues: Bool { ["22", "23", "54"].contains(sqlState?.kind) }

    /// Whether the same transaction may succeed when retried: it conflicted with another one.
    public var isWorthRepeating: Bool { sqlState == .serializationFailure || sqlState == .deadlockDetected }

    public var description: String { sqlState.map { "\(message) (SQLSTATE \($0))" } ?? message }

    /// The primary message alone: details may quote values.
    init(refusal result: OpaquePointer) {
        func field(_ code: Int32) -> String? { PQresultErrorField(result, code).map { String(cString: $0) } }
        let state = field(Field.sqlState).map(SQLState.init(rawValue:))
        let message = field(Field.primary) ?? String(cString: PQresultErrorMessage(result)).firstLine
        self.init(.refused, sqlState: state, message: message)
    }

    /// Source: `PG_DIAG_…` of postgres_ext.h, character literals that are not imported.
    private enum Field {
        static let sqlState = Int32(UInt8(ascii: "C"))
        static let primary = Int32(UInt8(ascii: "M"))
    }
}

extension String {
    var firstLine: String { String(prefix { !$0.isNewline }) }
}

/// A code of the SQL standard and of PostgreSQL. Source: Appendix A of its manual.
public struct SQLState: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The first two characters, which identify its class.
    public var kind: String { String(rawValue.prefix(2)) }

    public var description: String { rawValue }

    public static let characterNotInRepertoire = SQLState(rawValue: "22021")
    public static let uniqueViolation = SQLState(rawValue: "23505")
    public static let readOnlyTransaction = SQLState(rawValue: "25006")
    public static let invalidStatementName = SQLState(rawValue: "26000")
    public static let duplicatePreparedStatement = SQLState(rawValue: "42P05")
    public static let serializationFailure = SQLState(rawValue: "40001")
    public static let deadlockDetected = SQLState(rawValue: "40P01")
    public static let undefinedTable = SQLState(rawValue: "42P01")
    public static let diskFull = SQLState(rawValue: "53100")
    public static let lockNotAvailable = SQLState(rawValue: "55P03")
    public static let queryCanceled = SQLState(rawValue: "57014")
}
