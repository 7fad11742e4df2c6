/// How a connection is made, and how long it waits.
public struct ConnectionOptions: Sendable, Hashable {
    /// Poolers between a client and the server.
    public enum Pooling: String, Sendable, Hashable, CaseIterable {
        /// A pooler is recognized, and taken for one that gives each transaction another connection.
        case auto
        /// A connection is one to the server, as long as it is open: there is no pooler, or one in session mode.
        case session
        /// Each transaction may have another connection to the server.
        case transaction
    }

    /// In the form of libpq: `postgres://user@host/database?sslmode=verify-full` or `host=… user=…`. TLS and
    /// authentication are libpq's own, with its environment variables and files. Source: PostgreSQL manual, "Connection
    /// Strings".
    public var string: String
    /// The longest time to connect, for all hosts together. libpq itself waits for name servers.
    public var connectTimeout: Duration
    /// The longest wait for an answer; then the connection is closed.
    public var answerTimeout: Duration
    /// The longest that the server's machine may leave a packet unacknowledged; then the connection is lost. It does
    /// not affect a statement that runs for long. `tcp_user_timeout` and `keepalives` in the string take precedence.
    public var silenceTimeout: Duration
    /// Statements run once on each new connection, such as `SET`.
    public var setup: [String]
    public var pooling: Pooling
    /// The statement in place of `setup` where transactions are pooled: run first in each, so its settings must be local to that.
    public var transactionSetup: String?

    public init(
        _ string: String, connectTimeout: Duration = .seconds(5), answerTimeout: Duration = .seconds(30),
        silenceTimeout: Duration = .seconds(8), setup: [String] = [], pooling: Pooling = .auto,
        transactionSetup: String? = nil
    ) {
        self.string = string
        self.connectTimeout = connectTimeout
        self.answerTimeout = answerTimeout
        self.silenceTimeout = silenceTimeout
        self.setup = setup
        self.pooling = pooling
        self.transactionSetup = transactionSetup
    }
}
