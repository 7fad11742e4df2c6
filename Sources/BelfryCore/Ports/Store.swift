package import FoundationEssentials

/// The one port to the database. Two fillings: SQLite and PostgreSQL; `StoreConformance` holds every filling to it.
///
/// Whatever returns is durable: it survives a `kill -9` of the process and the loss of power.
package typealias Store = ApplicationStore & DeviceStore & PushStore & DeliveryStore & ScheduleStore
    & TopicStore & DirectoryStore
    & LocationStore & GeofenceStore & AnalyticsStore
    & RegistryUpkeep & ReceiptStore
    & TenantStore & AdminKeyStore & AuditStore
    & IdempotencyStore & SealStore
    & RetentionStore & NodeStore & DamageStore & QuotaStore & ConnectionFaultStore

/// Applications and platforms: few, read with each request, so a store answers reads from memory.
package protocol ApplicationStore: Sendable {
    func create(_ application: NewApplication) async throws -> Application
    func applications() async throws -> [Application]
    func application(_ uuid: UUID) async throws -> Application?
    func application(_ key: Key<Application>) async throws -> Application?
    /// Deletes the application with its platforms, devices and pushes. Throws `StoreError.notEmpty` while it has
    /// platforms, unless told `force`.
    func delete(_ application: Key<Application>, force: Bool) async throws

    func create(_ platform: NewPlatform) async throws -> Platform
    func platforms(of application: Key<Application>) async throws -> [Platform]
    func platform(_ uuid: UUID) async throws -> Platform?
    func platform(_ key: Key<Platform>) async throws -> Platform?
    /// Replaces the credentials and lets a platform that was parked for their sake run again.
    func replaceCredentials(of platform: Key<Platform>, with credentials: Sealed) async throws
    /// Holds back the platform's batches until `resume`. Devices are not touched.
    func park(_ platform: Key<Platform>, _ parking: Parking) async throws
    /// Lets a parked platform's batches run again, in order, at once.
    func resume(_ platform: Key<Platform>) async throws
}

extension ApplicationStore {
    package func application(_ key: Key<Application>) async throws -> Application? {
        try await applications().first { $0.key == key }
    }
}

package struct NewApplication: Sendable {
    package let uuid: UUID
    package let name: String
    package let apiKeyHash: [UInt8]
    package let sharedSecret: Sealed
    package let tenantKey: Key<Tenant>

    package init(
        uuid: UUID, name: String, apiKeyHash: [UInt8], sharedSecret: Sealed, tenantKey: Key<Tenant> = Tenant.first
    ) {
        self.uuid = uuid
        self.name = name
        self.apiKeyHash = apiKeyHash
        self.sharedSecret = sharedSecret
        self.tenantKey = tenantKey
    }
}

package struct NewPlatform: Sendable {
    package let uuid: UUID
    package let applicationKey: Key<Application>
    package let kind: PlatformKind
    package let mode: Platform.Mode
    package let name: String
    package let secretHash: [UInt8]
    package let credentials: Sealed

    package init(
        uuid: UUID, applicationKey: Key<Application>, kind: PlatformKind, mode: Platform.Mode, name: String,
        secretHash: [UInt8], credentials: Sealed
    ) {
        self.uuid = uuid
        self.applicationKey = applicationKey
        self.kind = kind
        self.mode = mode
        self.name = name
        self.secretHash = secretHash
        self.credentials = credentials
    }
}

/// The devices of a platform.
package protocol DeviceStore: Sendable {
    /// Registers a device, or brings one up to date, by the rules of `RegistrationRules`; it is active afterwards.
    ///
    /// - Parameter uuid: the device that the caller takes itself for; nil, or one that this platform does not know,
    ///   leaves it to the token.
    func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device
    /// Deactivates; the device keeps its UUID and may come back. Does nothing for an unknown one.
    func unregister(_ uuid: UUID, on platform: Key<Platform>) async throws
    func device(_ uuid: UUID, on platform: Key<Platform>) async throws -> Device?
    /// The devices behind these UUIDs that belong to one of the platforms; the others are left out.
    func deviceKeys(_ uuids: [UUID], on platforms: [Key<Platform>]) async throws -> [Key<Device>]
    /// All devices ever registered on the platform, dead ones too.
    func deviceCount(on platform: Key<Platform>) async throws -> Int
}

/// Pushes as callers see them.
package protocol PushStore: Sendable {
    /// Keeps the push, with one fan-out for each platform. Durable when it returns.
    ///
    /// A store may fan out a short audience at once; then there is a batch, or nothing, where the fan-out would be. A
    /// receipt id that a push has already returns that push and keeps nothing: a caller that does not know whether a push
    /// was accepted may send it again.
    func accept(_ push: NewPush) async throws -> Push
    func receipt(_ receiptID: UUID) async throws -> Receipt?
    /// What became of one device of a push; nil if it has no batch, or none yet.
    func answer(of device: Key<Device>, in push: Key<Push>) async throws -> Answer?
}

/// Pushes as the delivery sees them.
package protocol DeliveryStore: Sendable {
    /// Leases due fan-outs: the most urgent lane first, within a lane one for each application in turn.
    func claimFanOuts(atMost limit: Int, lanes: [Lane], for lease: Duration) async throws -> [FanOut]
    /// The next devices of a fan-out's audience on its platform, ascending, after `after`.
    func devices(in fanOut: FanOut, after: Key<Device>?, limit: Int) async throws -> [Key<Device>]
    /// Writes the batches of a step, moves the cursor behind them and hands the fan-out back, all at once or not at
    /// all.
    ///
    /// Returns false, and changes nothing, when the fan-out was claimed by another since.
    func advance(_ step: FanOutStep) async throws -> Bool

    /// Leases due batches: the most urgent lane first, within a lane a fair share for each application.
    func claimBatches(_ claim: BatchClaim) async throws -> [Batch]
    /// What a delivery worker needs to send a batch: its push, and whom to tell. Devices that are inactive or gone are
    /// left out.
    func load(_ batch: Batch) async throws -> BatchLoad?
    /// Writes what came of a batch, all at once or not at all. A halt of credentials that were replaced since is void.
    ///
    /// Returns false, and changes nothing, when the batch was claimed by another since.
    func settle(_ settlement: Settlement) async throws -> Bool

    /// The earliest moment at which a fan-out or batch falls due, parked platforms aside; nil if none is open.
    func nextDue() async throws -> Instant?
    /// Signals that something may have fallen due, from this process or another. A hint: some are false, some missing.
    func hints() -> AsyncStream<Void>
}

/// How many batches a delivery worker wants, and from where.
package struct BatchClaim: Sendable {
    package let batchesMax: Int
    package let lanes: [Lane]
    /// How many batches each platform can take now. Those not named here take `roomElsewhere`.
    package let room: [Key<Platform>: Int]
    package let roomElsewhere: Int
    package let lease: Duration

    package init(
        batchesMax: Int, lanes: [Lane] = Lane.allCases, room: [Key<Platform>: Int] = [:], roomElsewhere: Int,
        lease: Duration
    ) {
        self.batchesMax = batchesMax
        self.lanes = lanes
        self.room = room
        self.roomElsewhere = roomElsewhere
        self.lease = lease
    }

    package func room(on platform: Key<Platform>) -> Int { room[platform] ?? roomElsewhere }
}

/// A batch made ready to be sent.
package struct BatchLoad: Sendable {
    package let push: Push
    package let platform: Platform
    /// Those of the batch's pending devices that can be told, ascending.
    package let recipients: [Recipient]

    package init(push: Push, platform: Platform, recipients: [Recipient]) {
        self.push = push
        self.platform = platform
        self.recipients = recipients
    }
}

/// What came of making a batch ready to be sent, as a database reads it.
package enum BatchLoading: Sendable {
    case done(BatchLoad)
    /// Its push or its platform is no more.
    case gone
    /// Its push cannot be read.
    case damaged
}

package struct Recipient: Sendable, Hashable {
    package let device: Key<Device>
    package let token: DeviceToken

    package init(device: Key<Device>, token: DeviceToken) {
        self.device = device
        self.token = token
    }
}

package enum StoreError: Error, Sendable, Hashable {
    /// There is nothing of that name. The words name the thing without an article: "application 7".
    case unknown(String)
    /// Not deleted, because others depend on it. The words say what.
    case notEmpty(String)
    /// The database cannot be written or read: a full disk, a read-only file, damage.
    case unavailable(String)
    /// A row is there and makes no sense: its kind and number, and what is wrong with it. Other rows are not concerned.
    case damaged(_ row: String, _ fault: String = "its columns contradict one another")
    /// More work waits than the store takes; the caller may come again.
    case overloaded(retryAfter: Duration)
    /// The caller has as much as it may have. Nothing was changed.
    case quotaExceeded(QuotaExcess)
}

extension StoreError {
    /// Reads a row, and says which one it is when it makes no sense.
    package static func reading<Value>(_ row: @autoclosure () -> String, _ read: () throws -> Value) throws -> Value {
        do { return try read() } catch let error as InvalidInput { throw StoreError.damaged(row(), "\(error)") }
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknown(let thing): "there is no \(thing)"
        case .notEmpty(let why): why
        case .unavailable(let why): "the database cannot be used: \(why)"
        case .damaged(let row, let fault): "\(row) is damaged: \(fault)"
        case .overloaded(let wait): "more work waits than the database takes, come again in \(wait)"
        case .quotaExceeded(let excess): excess.description
        }
    }
}
