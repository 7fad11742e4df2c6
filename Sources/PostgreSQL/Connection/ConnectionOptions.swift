/// How a connection is made, and how long it waits.
public struct ConnectionOptions: Sendable, Hashable {
    /// As libpq takes it: `postgres://user@host/database?sslmode=verify-full` or `host=… user=…`. TLS and every way to
    /// authenticate are libpq's own, with its environment variables and files.
    /// Source: PostgreSQL manual, "Connection Strings".
    public var string: String
    /// The longest a connection may take to come up, all its hosts together. A name server is waited for by libpq itself.
    public var connectTimeout: Duration
    /// The longest an answer may take; then the connection is given up.
    public var answerTimeout: Duration
    /// The longest the server's machine may leave a packet without a sign of life; then the connection is lost. It takes no
    /// answer from a statement that runs for long, and what the string says of `tcp_user_timeout` and `keepalives` goes
    /// before it.
    public var silenceTimeout: Duration
    /// Statements run once on each new connection, such as `SET`.
    public var setup: [String]

    public init(
        _ string: String, connectTimeout: Duration = .seconds(5), answerTimeout: Duration = .seconds(30),
        silenceTimeout: Duration = .seconds(8), setup: [String] = []
    ) {
        self.string = string
        self.connectTimeout = connectTimeout
        self.answerTimeout = answerTimeout
        self.silenceTimeout = silenceTimeout
        self.setup = setup
    }
}
