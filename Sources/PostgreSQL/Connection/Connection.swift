import CPostgreSQL

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
        // The server sends nothing unasked, unless it closes the connection.
        guard isReadable else { return true }
        return PQconsumeInput(handle) == 1 && PQstatus(handle) == CONNECTION_OK
    }

    /// Whether another connection found that the server writes no more.
    var isOfDemoted: Bool { era.number() != begunIn }

    /// The id of the server's process.
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
        do { try prepared("ROLLBACK").run() } catch { return false }
        return true
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

    func failure(_ code: PostgresError.Code) -> PostgresError {
        PostgresError(code, message: Self.words(of: handle))
    }

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
