package import PostgreSQL

/// The context of a write: a connection inside a transaction, the time, and the transaction's effects that others have
/// to learn of.
package final class PostgresWriteSession: WriteSession {
    package let db: Connection
    package let now: Instant
    package let secrets: Secrets
    package let pushes: PushCache
    let topicCache: PostgresTopicCache
    package let quotaCounts: QuotaCounts
    package let listeners: WebhookListeners
    let sharedUse: SharedUse
    package var effects = Effects()
    /// Topics to cache after the commit, and the number of deletions before they were looked up.
    var found: (topics: [TopicName: Topic], topicDeletions: Int64)?

    init(
        db: Connection, now: Instant, secrets: Secrets, pushes: PushCache, topicCache: PostgresTopicCache,
        quotaCounts: QuotaCounts, listeners: WebhookListeners,
        sharedUse: SharedUse
    ) {
        self.db = db
        self.now = now
        self.secrets = secrets
        self.pushes = pushes
        self.topicCache = topicCache
        self.quotaCounts = quotaCounts
        self.listeners = listeners
        self.sharedUse = sharedUse
    }

    /// Commits. The accounts that it changed are not recounted before the effects are published.
    func commit() throws {
        try tellSettled()
        try effects.activity.write(in: self)
        quotaCounts.beginCommit(effects.quotas)
        do { try prepared(PostgresSessionStatements.commit).run() } catch {
            quotaCounts.abandon(effects.quotas)
            throw error
        }
    }

    func prepared(_ sql: String) -> Statement { db.prepared(sql) }

    package func registryChanged() { effects.registryChanged = true }

    package func answerAtCommit() throws { try prepared(PostgresSessionStatements.answerAtCommit).send() }

    package func awaitDisk() throws { try prepared(PostgresSessionStatements.awaitDisk).run() }

    package func hold(
        _ platforms: [Key<Platform>], locating devices: [Key<Device>]
    ) throws -> (held: Set<Key<Platform>>, platformOf: [Key<Device>: Key<Platform>]) {
        // Both with one trip.
        let held = try prepared(PlatformStatements.hold).sendReading(SQLKeys(platforms)) {
            Key<Platform>($0.integer(0))
        }
        let platformOf = try db.platforms(of: devices)
        return (Set(try held.all()), platformOf)
    }

    package func unwrittenUse(_ account: QuotaAccount) -> Int? { sharedUse.unwrittenUse(account) }

    package func countUse(_ account: QuotaAccount) throws -> Int { try db.quotaUse(account) }
}

enum PostgresSessionStatements {
    static let begin = "BEGIN /* session.begin */"
    static let snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY /* session.snapshot */"
    /// The limit on a transaction that searches: `SearchBudget.longest`.
    static let searchDeadline = "SET LOCAL statement_timeout = '5s' /* session.search_deadline */"
    static let commit = "COMMIT /* session.commit */"
    static let answerAtCommit = "SET LOCAL synchronous_commit = off /* session.answer_at_commit */"
    /// A commit that logs something waits for the log up to there.
    static let awaitDisk = "SELECT pg_logical_emit_message(true, 'belfry', '') /* session.await_disk */"

    /// The database's clock, in milliseconds.
    static let now = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint /* session.now */"

    /// Has a row where transactions may only read, as on a standby.
    static let readOnly = "SELECT 1 /* session.read_only */ WHERE current_setting('transaction_read_only') = 'on'"

    /// Has a row where tables cannot be made: the role may not, or no schema of its search_path is there.
    static let tableless = """
        SELECT 1 /* session.tableless */ WHERE has_schema_privilege(current_schema(), 'CREATE') IS NOT TRUE
        """

    static let notify = "SELECT pg_notify($1, $2) /* session.notify */"

    /// Whether this node may do the maintenance now. The lock ends with the transaction.
    static let housekeeping = "SELECT pg_try_advisory_xact_lock(7236828794) /* session.housekeeping */"

    /// Whether this node may change the search index now.
    static let indexing = "SELECT pg_try_advisory_xact_lock(7236828795) /* session.indexing */"

    /// Whether this node may advance the device horizon now.
    static let settling = "SELECT pg_try_advisory_xact_lock(7236828799) /* session.settling */"

    /// Whether this node may merge into the posting lists now.
    static let merging = "SELECT pg_try_advisory_xact_lock(7236828797) /* session.merging */"

    /// The settings of each connection. An answer waits for the flush even where the server's default is not to. A node
    /// that is cut off inside a transaction keeps its locks for ten seconds. Plans are made once for each statement,
    /// and scan indexes from row to row however small a table is, for it may have grown by the next time.
    static let setup = """
        SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local');
        SET statement_timeout = '20s';
        SET lock_timeout = '10s';
        SET idle_in_transaction_session_timeout = '10s';
        SET plan_cache_mode = force_generic_plan;
        SET enable_seqscan = off;
        SET enable_bitmapscan = off;
        SET enable_hashjoin = off;
        SET enable_mergejoin = off;
        SET jit = off;
        """

    /// The settings of one transaction, where a pooler gives each another connection.
    static let transactionSetup = """
        SELECT /* session.transaction_setup */
               set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
                          ELSE current_setting('synchronous_commit') END, true),
               set_config('statement_timeout', '20s', true), set_config('lock_timeout', '10s', true),
               set_config('idle_in_transaction_session_timeout', '10s', true),
               set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
               set_config('enable_bitmapscan', 'off', true), set_config('enable_hashjoin', 'off', true),
               set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)
        """
}

extension PostgresWriteSession {
    /// Nodes store what they count; see `SharedUse`.
    package static let countsDeleted = true
    package static var tables: [StoreTable] { StoreTable.postgres }
}
