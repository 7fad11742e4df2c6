import CPostgreSQL
import Synchronization

/// One connection to a PostgreSQL server, in pipeline mode, for one thread at a time.
///
/// Statements that were `sent` travel with the next one whose answer is wanted, and cost no round trip of their own.
/// All calls block the thread they are made on, for at most `ConnectionOptions.answerTimeout`: they belong on a thread
/// of their own, such as those of `ConnectionPool`.
public final class Connection {
    let handle: OpaquePointer
    let options: ConnectionOptions
    /// Whether each transaction may have another connection to the server: statements are not prepared then, sessions have no
    /// settings, and nothing is listened to.
    public private(set) var isPooled = false
    /// Names of the statements that the server has prepared.
    private var prepared: [String: String] = [:]
    private var nextName = 0
    /// Commands sent since the last answer was read, in order.
    private var pending: [Pending] = []
    /// The buffer for parameter lists.
    private var scratch = Parameters()
    /// Whether the wait for an answer was abandoned; later answers are ignored.
    var isGivenUp = false
    private let era: ServerEra
    private let begunIn: Int

    private enum Pending {
        case prepare(sql: String, name: String)
        /// `take` is given the rows where they are wanted.
        case command(take: ((Rows) -> Void)?)
    }

    /// The most commands that wait for an answer together.
    private static let pendingMax = 512

    public init(_ options: ConnectionOptions) throws {
        self.options = options
        era = ServerEra.of(options.string)
        begunIn = era.number()
        handle = try Self.connect(options)
        isPooled = try options.pooling == .transaction || (options.pooling == .auto && isOfPooler())
        if !isPooled { for statement in options.setup { try run(script: statement) } }
        guard PQenterPipelineMode(handle) == 1 else { throw failure(.connectionFailed) }
    }

    deinit { PQfinish(handle) }

    /// Whether it is usable, as far as known without asking the server.
    public var isAlive: Bool {
        guard !isGivenUp, !isOfDemoted, PQstatus(handle) == CONNECTION_OK else { return false }
        // The server sends nothing unasked, unless it closes the connection: the end comes after its last words.
        while isReadable { guard PQconsumeInput(handle) == 1, PQstatus(handle) == CONNECTION_OK else { return false } }
        return true
    }

    /// Whether another connection found that the server writes no more.
    var isOfDemoted: Bool { era.number() != begunIn }

    public var serverProcess: Int32 { PQbackendPID(handle) }

    /// The statement, to be prepared when it is first used.
    public func prepared(_ sql: String) -> Statement { Statement(connection: self, sql: sql) }

    // MARK: Transactions

    /// Whether a transaction is open, or was when something failed in it.
    public var isInTransaction: Bool {
        let status = PQtransactionStatus(handle)
        return status != PQTRANS_IDLE && status != PQTRANS_UNKNOWN
    }

    /// Sends what begins a transaction, and what it needs where the session has no settings.
    public func begin(_ sql: String) throws {
        try prepared(sql).send()
        if isPooled, let setup = options.transactionSetup { try prepared(setup).send() }
    }

    /// Rolls the transaction back; waits first for the answers to what was sent.
    ///
    /// Returns false when the connection cannot be used any more.
    public func rollBack() -> Bool {
        guard !isGivenUp else { return false }
        do { try settle() } catch let error as PostgresError where error.code == .refused {} catch { return false }
        guard isInTransaction else { return PQstatus(handle) == CONNECTION_OK }
        return (try? prepared("ROLLBACK").run()) != nil
    }

    // MARK: Commands

    /// Runs statements without parameters, one after the other, as one command.
    public func run(script sql: String) throws {
        try settle()
        let isPipelined = PQpipelineStatus(handle) != PQ_PIPELINE_OFF
        if isPipelined, PQexitPipelineMode(handle) != 1 { throw failure(.connectionLost) }
        defer { if isPipelined { PQenterPipelineMode(handle) } }
        guard PQsendQuery(handle, sql) == 1 else { throw failure(.connectionLost) }
        var refusal: PostgresError?
        let deadline = ContinuousClock.now + options.answerTimeout
        while let result = try nextResult(until: deadline) {
            if !result.isFine { refusal = refusal ?? PostgresError(refusal: result.handle) }
        }
        if let refusal { throw refusal }
    }

    /// Sends a command whose answer is read with the next one's.
    func send<each Value: PostgresValue>(
        _ sql: String, _ values: repeat each Value, take: ((Rows) -> Void)? = nil
    ) throws {
        if pending.count >= Self.pendingMax { try settle() }
        scratch.clear()
        repeat scratch.append(each values)
        let name = isPooled ? nil : try name(of: sql)
        let sent = scratch.withPointers { count, values, lengths, formats in
            if let name { return PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1) }
            return PQsendQueryParams(handle, sql, count, scratch.types, values, lengths, formats, 1)
        }
        guard sent == 1 else { throw failure(.connectionLost) }
        pending.append(.command(take: take))
    }

    /// Sends a command, and reads all answers up to its own.
    func ask<each Value: PostgresValue>(_ sql: String, _ values: repeat each Value) throws -> Rows {
        try send(sql, repeat each values)
        guard let rows = try settle() else { preconditionFailure("a command was sent and has an answer") }
        return rows
    }

    /// Reads the answers that are due; returns the last one's rows. The first error is thrown when all are read.
    @discardableResult
    func settle() throws -> Rows? {
        guard !pending.isEmpty else { return nil }
        guard PQpipelineSync(handle) == 1 else { throw failure(.connectionLost) }
        let deadline = ContinuousClock.now + options.answerTimeout
        var refusal: PostgresError?
        var last: Rows?
        for command in pending {
            while let result = try nextResult(until: deadline) {
                guard result.isFine else {
                    if !result.isPassedOver { refusal = refusal ?? self.refusal(result) }
                    continue
                }
                switch command {
                case .prepare(let sql, let name): prepared[sql] = name
                case .command(let take): take?(result)
                }
                last = result
            }
        }
        pending.removeAll(keepingCapacity: true)
        // The sync after the last command.
        guard try nextResult(until: deadline) != nil else { throw failure(.connectionLost) }
        if let refusal {
            throw PQstatus(handle) == CONNECTION_OK
                ? refusal : PostgresError(.connectionLost, sqlState: refusal.sqlState, message: refusal.message)
        }
        return last
    }

    /// The server's name of the statement, which is prepared when the server does not know it.
    private func name(of sql: String) throws -> String {
        if let name = prepared[sql] { return name }
        for case .prepare(sql: sql, let name) in pending { return name }
        nextName += 1
        let name = "s\(nextName)"
        guard PQsendPrepare(handle, name, sql, Int32(scratch.types.count), scratch.types) == 1 else {
            throw failure(.connectionLost)
        }
        pending.append(.prepare(sql: sql, name: name))
        return name
    }

    func failure(_ code: PostgresError.Code) -> PostgresError { PostgresError(code, message: Self.words(of: handle)) }

    /// A statement that was prepared and is not there, or is there already, tells of a pooler that was taken for none.
    private func refusal(_ rows: Rows) -> PostgresError {
        let error = PostgresError(refusal: rows.handle)
        // The server is a standby now, and keeps its connections: the next one may lead to the new primary.
        if error.sqlState == .readOnlyTransaction {
            isGivenUp = true
            era.end(begunIn)
        }
        guard error.sqlState == .invalidStatementName || error.sqlState == .duplicatePreparedStatement else {
            return error
        }
        return PostgresError(
            .refused, sqlState: error.sqlState,
            message: "a pooler gives transactions to different connections: "
                + error.message)
    }
}

extension Rows {
    fileprivate var isFine: Bool {
        switch PQresultStatus(handle) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY, PGRES_PIPELINE_SYNC: true
        default: false
        }
    }

    /// Whether the command was skipped because one before it failed.
    fileprivate var isPassedOver: Bool { PQresultStatus(handle) == PGRES_PIPELINE_ABORTED }
}

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

/// The time for which a server is the one that writes, for all connections of a connection string.
///
/// A server that was demoted may keep its connections. One of them finds out by a write that is refused; the others, which may only
/// read or listen, would go on with what that server had then. Where every server refuses writes, an era lasts some seconds all the same, so
/// that not every refused write makes all connections anew.
final class ServerEra: Sendable {
    private struct State {
        var number = 0
        /// When the last era but the first began.
        var beganAt: ContinuousClock.Instant?
        /// When it ends, where that is known.
        var endsAt: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    static let shortest = Duration.seconds(5)
    private static let all = Mutex<[String: ServerEra]>([:])

    static func of(_ connection: String) -> ServerEra {
        all.withLock { all in
            if let era = all[connection] { return era }
            let era = ServerEra()
            all[connection] = era
            return era
        }
    }

    func number(at now: @autoclosure () -> ContinuousClock.Instant = .now) -> Int {
        state.withLock { state in
            if let endsAt = state.endsAt, now() >= endsAt {
                state = State(number: state.number + 1, beganAt: endsAt)
            }
            return state.number
        }
    }

    /// Ends an era, once.
    func end(_ era: Int, at now: ContinuousClock.Instant = .now) {
        guard number(at: now) == era else { return }
        state.withLock { state in
            guard state.number == era, state.endsAt == nil else { return }
            state.endsAt = max(now, state.beganAt.map { $0 + Self.shortest } ?? now)
        }
    }
}

extension ConnectionOptions {
    /// The fault of a URL, in words that repeat none of it but the name of a parameter; nil for a sound one.
    ///
    /// libpq takes a `@`, `/` or `?` of a password for the end of it, and quotes what it then takes for a host or a port. Source:
    /// PostgreSQL manual, "Connection URIs".
    public static func fault(of url: String) -> String? {
        guard let mark = url.firstRange(of: "://") else { return nil }
        let rest = url[mark.upperBound...]
        let authority = rest.prefix { !"/?".contains($0) }
        let tail = rest[authority.endIndex...]
        let query = tail.firstIndex(of: "?").map { tail[tail.index(after: $0)...] } ?? ""
        let path = tail.prefix { $0 != "?" }
        guard authority.count(where: { $0 == "@" }) <= 1, !path.contains("@") else {
            return "has an @ where none belongs. \(encoding)"
        }
        let hosts = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        guard hosts.split(separator: ",").allSatisfy(hasPort) else {
            return "has a port that is no number. \(encoding)"
        }
        guard hasSoundPercents(rest) else { return "has a % that no two hex digits follow. \(encoding)" }
        return fault(ofQuery: query)
    }

    private static let encoding =
        "In user and password @ : / ? # % are written as %40 %3A %2F %3F %23 %25"

    /// Whether what stands behind the colon of a host is a number, or nothing.
    private static func hasPort(_ host: Substring) -> Bool {
        let name = host.hasPrefix("[") ? host.drop { $0 != "]" } : host
        guard let colon = name.firstIndex(of: ":") else { return true }
        return name[name.index(after: colon)...].utf8.allSatisfy { 0x30...0x39 ~= $0 }
    }

    private static func hasSoundPercents(_ text: Substring) -> Bool {
        text.split(separator: "%", omittingEmptySubsequences: false).dropFirst().allSatisfy {
            $0.utf8.count >= 2 && $0.prefix(2).allSatisfy(\.isHexDigit)
        }
    }

    private static func fault(ofQuery query: Substring) -> String? {
        let known = keywords
        for item in query.split(separator: "&") {
            let name = item.prefix { $0 != "=" }
            // libpq knows `ssl=true` as the drivers of Java write it.
            if known.contains(String(name)) || name == "ssl" { continue }
            let isName =
                name.utf8.count <= 40 && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
            guard isName, !query.contains("@") else { return "has a ? or & in a place where none belongs. \(encoding)" }
            return "has the parameter `\(name)`, which libpq does not know (PostgreSQL manual, \"Parameter Key Words\")"
        }
        return nil
    }

    /// The parameters of the libpq that this program runs with.
    private static var keywords: Set<String> {
        guard let options = PQconndefaults() else { return [] }
        defer { PQconninfoFree(options) }
        var names: Set<String> = []
        var next = options
        while let keyword = next.pointee.keyword {
            names.insert(String(cString: keyword))
            next += 1
        }
        return names
    }
}
