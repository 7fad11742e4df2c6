import CPostgreSQL

/// Why the database did not do what it was asked.
public struct PostgresError: Error, Sendable, Hashable {
    /// More may come.
    public struct Code: Sendable, Hashable {
        private let word: String

        private init(_ word: String) { self.word = word }

        /// No connection could be made, or not in time.
        public static let connectionFailed = Code("connection failed")
        /// The connection broke. Whether what was under way took place is not known, if it was a commit.
        public static let connectionLost = Code("connection lost")
        /// The server did not answer in time; the connection was given up.
        public static let timedOut = Code("timed out")
        /// The server said no; `sqlState` says why.
        public static let refused = Code("refused")
        /// More work waits for the pool than it takes.
        public static let overloaded = Code("overloaded")
        /// The pool was closed.
        public static let closed = Code("closed")
    }

    public let code: Code
    /// The server's code; nil when the error is not the server's.
    public let sqlState: SQLState?
    /// For a person. Values of parameters are not in it.
    public let message: String

    public init(_ code: Code, sqlState: SQLState? = nil, message: String) {
        self.code = code
        self.sqlState = sqlState
        self.message = message
    }

    /// Whether the connection it came from cannot be used any more.
    public var isOfConnection: Bool { code == .connectionFailed || code == .connectionLost || code == .timedOut }

    /// Whether the server said no to a value, and not for the state that it is in.
    public var isOfValues: Bool { sqlState?.kind == "22" || sqlState?.kind == "23" }

    /// Whether the same transaction, run again, may succeed: it met another one.
    public var isWorthRepeating: Bool { sqlState == .serializationFailure || sqlState == .deadlockDetected }
}

extension PostgresError: CustomStringConvertible {
    public var description: String { sqlState.map { "\(message) (SQLSTATE \($0))" } ?? message }
}

extension PostgresError {
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

    /// The first two characters, which say of what kind it is.
    public var kind: String { String(rawValue.prefix(2)) }

    public var description: String { rawValue }

    public static let characterNotInRepertoire = SQLState(rawValue: "22021")
    public static let uniqueViolation = SQLState(rawValue: "23505")
    public static let readOnlyTransaction = SQLState(rawValue: "25006")
    public static let serializationFailure = SQLState(rawValue: "40001")
    public static let deadlockDetected = SQLState(rawValue: "40P01")
    public static let undefinedTable = SQLState(rawValue: "42P01")
    public static let diskFull = SQLState(rawValue: "53100")
    public static let tooManyConnections = SQLState(rawValue: "53300")
    public static let lockNotAvailable = SQLState(rawValue: "55P03")
    public static let queryCanceled = SQLState(rawValue: "57014")
    public static let adminShutdown = SQLState(rawValue: "57P01")
    public static let crashShutdown = SQLState(rawValue: "57P02")
    public static let cannotConnectNow = SQLState(rawValue: "57P03")
}
