package import FoundationEssentials

/// The context of a write: the database inside a transaction, and the transaction's effects that others have to learn
/// of.
package protocol WriteSession: AnyObject, SendableMetatype {
    associatedtype Connection: SQLConnection

    var db: Connection { get }
    static var tables: [StoreTable] { get }
    var now: Instant { get }
    var secrets: Secrets { get }
    var pushes: PushCache { get }
    var quotaCounts: QuotaCounts { get }
    var listeners: WebhookListeners { get }
    var effects: Effects { get set }

    /// Called by each write that changes an application or a platform.
    func registryChanged()

    /// Answers the caller at the commit, before that is on the disk: a power failure may undo it, with all that was committed since. For
    /// work that may be done again.
    func answerAtCommit() throws
    /// Answers the caller when all that was committed before is on the disk, even if this write changes nothing.
    func awaitDisk() throws

    /// Quota use not stored yet; nil if all is stored.
    func unwrittenUse(_ account: QuotaAccount) -> Int?

    /// The use of a quota that the rows show. An embedded database throws where counting would take its writer too
    /// long.
    func countUse(_ account: QuotaAccount) throws -> Int

    // MARK: Platforms

    /// Locks the platforms against deletion until the transaction ends; returns those that exist, and of which platform
    /// each device is that exists.
    func hold(
        _ platforms: [Key<Platform>], locating devices: [Key<Device>]
    ) throws -> (held: Set<Key<Platform>>, platformOf: [Key<Device>: Key<Platform>])

    /// Whether the devices of deleted platforms count for the quota until they are deleted.
    static var countsDeleted: Bool { get }
    /// Returns when no merge into the posting lists has read devices that are to be deleted; none begins until the
    /// transaction ends.
    func awaitMerge() throws

    // MARK: Devices

    /// Registers a device, as `DeviceStore.register`, together with the other changes of the transaction.
    func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) throws -> Device

    // MARK: Topics

    /// Throws when the names would make too many new topics.
    func checkTopics(_ names: Set<String>, of application: Key<Application>) throws
    /// Creates the topic unless it exists. An expired topic of that name is deleted first.
    func intern(_ name: String, expiresAt: Instant?, in application: Key<Application>) throws -> NewTopic.CreationResult
    /// Invalidates the topic cache; call before deleting a topic.
    func forgetTopics() throws
    /// Adds topics to devices. Skips a device that was deleted, or that meanwhile got so many topics that it would have
    /// too many.
    func add(_ gains: [SubscriptionPlan.Addition], in application: Key<Application>) throws

    /// Called with the number of devices of each platform that were indexed, up to a device.
    func noteIndexed(_ counts: [Int64: Int], until device: Int64) throws

    // MARK: Delivery

    /// Inserts pushes, and returns their keys in order; nil for one whose receipt id another push has already.
    func insert(_ pushes: [NewPush]) throws -> [Key<Push>?]
    /// The platforms with due work, lane by lane.
    func bids(for work: ClaimedWork, in lanes: [Lane]) throws -> (Lane) throws -> [Bid]
    /// Leases due fan-outs, the longest due first, and sets aside those whose push cannot be read.
    func leaseFanOuts(
        in lane: Lane, on platform: Key<Platform>, atMost limit: Int, until end: Instant
    ) throws -> [FanOut]
    /// Leases batches of up to so many bursts, the longest due first, and puts those out of the way that cannot be read.
    func leaseBatches(
        in lane: Lane, on platform: Key<Platform>, atMost count: Int, of burst: Burst, until end: Instant
    ) throws -> [Batch]
    /// Leases up to so many batches, whether they are due or not, and ends the leases at once. It waits for those that
    /// another node is claiming or settling.
    func takeBatches(in lane: Lane, on platform: Key<Platform>, atMost limit: Int) throws -> [Batch]
    /// Deactivates devices that registered before the time of their verdict, and counts them.
    func deactivate(
        _ deadTokens: [Settlement.DeadToken], on platform: Key<Platform>, as loss: PlatformActivity.Figure
    ) throws
    /// Records the new tokens that a provider named for devices.
    func relocate(_ moves: [Settlement.Move], on platform: Key<Platform>) throws
}

/// The effects of a transaction that others have to learn of after its commit.
package struct Effects {
    /// Kinds of work that may have fallen due.
    var due: DueWork = []
    /// Applications or platforms have changed.
    var registryChanged = false
    /// Unreadable rows that were set aside.
    var damaged: [String] = []
    var quotas = QuotaChanges()
    /// The counts of devices and answers to add to platforms.
    var activity = ActivityChanges()
    /// The number of calls that found no room to wait for an old server.
    var unmirrored = 0
    /// Pushes that this transaction may settle, where anything listens to that.
    var settled: Set<Key<Push>> = []
    /// The kinds of events that applications listen to from now on.
    var wanted: [Key<Application>: WebhookKinds] = [:]
}

extension WriteSession {
    func prepared(_ sql: SQLText) throws -> Connection.Statement { try db.prepared(sql) }

    /// Changes a row; throws `StoreError.unknown` when there is none.
    ///
    /// - Parameter row: what the row is, such as `tenant 7`.
    func change<each Value: SQLValue>(
        _ sql: SQLText, _ values: repeat each Value, of row: @autoclosure () -> String
    ) throws {
        guard try prepared(sql).run(repeat each values) > 0 else { throw StoreError.unknown(row()) }
    }

    /// The key of the row that the statement inserts, which returns it.
    func insert<each Value: SQLValue>(_ sql: SQLText, _ values: repeat each Value) throws -> Int64 {
        let key = try prepared(sql).first(repeat each values) { $0.integer(0) }
        guard let key else { throw StoreError.unavailable("an insertion returned no key") }
        return key
    }

    /// Throws `StoreError.conflict` if one more row would exceed the limit.
    ///
    /// - Parameter count: counts the rows that there are, up to the limit.
    func checkRoom<each Value: SQLValue>(
        _ limit: RowLimit, _ count: SQLText, _ values: repeat each Value
    ) throws {
        try limit.check(prepared(count).count(repeat each values))
    }
}

package struct WriteOff: Sendable, Hashable {
    /// The number of devices that became `skipped: damaged`.
    package let devices: Int
    /// The number of platforms where the rest of the audience will not be scanned.
    package let fanOuts: Int

    package static let nothing = WriteOff(devices: 0, fanOuts: 0)
}

/// The handling of unreadable rows.
package enum Damage {
    /// The time for which an unreadable row is set aside before it is retried.
    package static let setAsideFor = Duration.seconds(3_600)
}
