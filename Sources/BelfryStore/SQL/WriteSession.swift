import BelfryCore

/// What a write sees: the database inside a transaction, and what the transaction has changed so far that others have to
/// know.
protocol WriteSession: AnyObject, SendableMetatype {
    associatedtype Connection: SQLConnection

    var db: Connection { get }
    var now: Instant { get }
    var secrets: Secrets { get }
    var pushes: PushCache { get }
    var quotaCounts: QuotaCounts { get }
    var effects: Effects { get set }

    /// To be called by each write that changes an application or a platform.
    func registryChanged()

    /// What rows do not have of the use of a quota yet; nil where they have all.
    func unwrittenUse(_ account: QuotaAccount) -> Int?

    /// The use of a quota as the rows have it. An embedded database throws where that takes too long for its writer.
    func countUse(_ account: QuotaAccount) throws -> Int

    // MARK: Platforms

    /// Those of the platforms that are there, and stay until the transaction ends.
    func hold(_ platforms: [Key<Platform>]) throws -> Set<Key<Platform>>

    /// Whether devices of a deleted platforms count for the quota until they are deleted.
    static var countsDeleted: Bool { get }
    /// Deletes rows, up to `$2`, of a platform `$1` from tables that only one engine has.
    static var clearedWithPlatform: [SQLText] { get }
    /// Tables with rows of applications that only one engine has.
    static var clearedWithApplication: [OwnedTable] { get }
    /// Returns when no merge of new devices into the posting lists holds devices that are to be deleted; none begins
    /// until the transaction ends.
    func awaitMerge() throws

    // MARK: Topics

    /// Throws when the topics of these names that are not there yet would be too many.
    func checkTopics(_ names: Set<String>, of application: Key<Application>) throws
    /// Makes the topic unless there is one. One of the name whose time has come is deleted first.
    func intern(_ name: String, expiresAt: Instant?, in application: Key<Application>) throws -> NewTopic.Fate
    /// To be called before a topic is deleted: what is remembered of topics no longer holds.
    func forgetTopics() throws
    /// Gives devices the topics they are to have. Does nothing for a device that is gone, or has got so many topics meanwhile
    /// that it would have too many.
    func add(_ gains: [SubscriptionPlan.Gain], in application: Key<Application>) throws
    /// As `clearedWithPlatform`, of a topic.
    static var clearedWithTopic: [SQLText] { get }

    /// To be told of how many devices of each platform were indexed, up to one.
    func noteIndexed(_ counts: [Int64: Int], until device: Int64) throws

    // MARK: Delivery

    /// To be told of each push that is accepted.
    func noteAccepted(_ push: Push)
    /// The platforms that have something due, lane by lane.
    func bids(for work: ClaimedWork, in lanes: [Lane]) throws -> (Lane) throws -> [Bid]
    /// Leases due fan-outs, the longest due first, and puts those out of the way whose push cannot be read.
    func leaseFanOuts(
        in lane: Lane, on platform: Key<Platform>, atMost limit: Int, until end: Instant
    ) throws -> [FanOut]
    /// Leases batches, the longest due first, and puts those out of the way that cannot be read.
    ///
    /// - Parameter waiting: for batches that another node is claiming or settling, instead of passing over them.
    func leaseBatches(
        in lane: Lane, on platform: Key<Platform>, dueBy: Instant, atMost limit: Int, until end: Instant, waiting: Bool
    ) throws -> [Batch]
    /// Deactivates devices that registered before the time of their verdict.
    func delete(_ deadTokens: [Settlement.DeadToken], on platform: Key<Platform>) throws
    /// Writes down which devices a provider knows by another token.
    func relocate(_ moves: [Settlement.Move], on platform: Key<Platform>) throws
}

/// What a transaction changed that others have to know after its commit.
struct Effects {
    /// Something may have fallen due.
    var fallsDue = false
    /// Applications or platforms are not what they were.
    var registryChanged = false
    /// Rows that cannot be read and were set aside.
    var damaged: [String] = []
    /// By how much the use of quotas changed.
    var quotas = QuotaChanges()
}

extension WriteSession {
    func prepared(_ sql: SQLText) throws -> Connection.Statement { try db.prepared(sql) }

    /// The key of the row that the statement inserts, which returns it.
    func insert<each Value: SQLValue>(_ sql: SQLText, _ values: repeat each Value) throws -> Int64 {
        let key = try prepared(sql).first(repeat each values) { $0.integer(0) }
        guard let key else { throw StoreError.unavailable("an insertion returned no key") }
        return key
    }
}
