package import BelfryService
package import FoundationEssentials

/// The contents of a `MemoryStore`, as plain tables.
package struct Contents: Sendable {
    package var tenants: [Key<Tenant>: Tenant] = [Tenant.first: .byDefault]
    package var adminKeys: [Key<AdminKey>: AdminKey] = [:]
    package var people = PeopleTables()
    /// The audit log, in the order of writing.
    package var audit: [AuditEntry] = []
    package var applications: [Key<Application>: Application] = [:]
    package var platforms: [Key<Platform>: Platform] = [:]
    package var devices: [Key<Device>: Device] = [:]
    /// The device that has a token now.
    package var holders: [Address: Key<Device>] = [:]
    package var brokerInstances: [String: BrokerInstance] = [:]
    package var brokerBindings: [String: BrokerBinding] = [:]
    package var topics: [Key<Topic>: TopicRow] = [:]
    package var users: [UserPlace: User] = [:]
    package var openEndpoints: [Key<OpenEndpoint>: (endpoint: OpenEndpoint, keyHash: [UInt8])] = [:]
    package var gatewayCredentials: [Key<GatewayCredential>: GatewayCredential] = [:]
    package var carmaAccounts: [CarmaAccount] = []
    package var carmaApps: [CarmaApp] = []
    package var carmaTriggers: [CarmaTrigger] = []
    package var carmaDevices: [CarmaDevice] = []
    package var carmaImports: [CarmaImport] = []
    package var carmaMessages: [(message: CarmaMessage, pageHash: [UInt8])] = []
    package var acrobitsAppIDs: [AcrobitsAppID] = []
    /// Acrobits registrations; the most recently seen come last.
    package var acrobitsRegistrations: [AcrobitsRegistration] = []
    package var deviceDetails: [Key<Device>: DeviceDetail] = [:]
    package var feedback: [FeedbackRow] = []
    package var pushes: [Key<Push>: PushRow] = [:]
    package var fanOuts: [FanOutKey: FanOutRow] = [:]
    package var batches: [Key<Batch>: BatchRow] = [:]
    package var drafts: [ComposeDraft.Place: ComposeDraft] = [:]
    /// By name.
    package var idempotency: [[UInt8]: IdempotencyRecord] = [:]
    /// The callers of all records, including deleted ones.
    package var idempotencyCallers: [[UInt8]: Principal] = [:]
    package var schedules: [Key<Schedule>: Schedule] = [:]
    package var nodes: [UUID: NodeRow] = [:]
    package var commandCounts: [CommandCount.Series: Int64] = [:]
    package var connectionFaults: [Key<Platform>: PlatformFault] = [:]
    package var mirrorEntries: [MirrorEntry] = []
    package var importJobs: [ImportJob] = []
    package var importVerdicts: [Key<ImportJob>: [ImportVerdictLines]] = [:]
    var mirrorHolder: (node: UUID, until: Instant)?
    package var map = Map()
    package var events = Events()
    /// Operations that the port forbids, in the order in which a caller did them.
    package var misuses: [String] = []

    package let naming: DeviceNaming
    /// The platforms that were ever parked for their credentials.
    var refused: Set<Key<Platform>> = []
    /// Whether a platform was parked and is not any more.
    var hasResumed = false
    /// Raised with each claim, so that a remainder does not always go to the same application.
    var turn = 0
    private var lastKeys = [ObjectIdentifier(Tenant.self): Tenant.first.rawValue]

    /// - Parameter naming: gives devices their UUIDs.
    package init(naming: DeviceNaming = DeviceNaming(secret: Array(0..<32))) { self.naming = naming }

    /// A series for each noun, as a database has one for each table.
    mutating func nextKey<Noun>() -> Key<Noun> {
        lastKeys[ObjectIdentifier(Noun.self), default: 0] += 1
        return Key(lastKeys[ObjectIdentifier(Noun.self), default: 0])
    }

    /// Keys that come later are above this one.
    mutating func raiseKey<Noun>(to key: Key<Noun>) {
        let name = ObjectIdentifier(Noun.self)
        lastKeys[name] = max(lastKeys[name, default: 0], key.rawValue)
    }

    package struct FeedbackRow: Sendable {
        package let key: Key<Feedback>
        package let platform: Key<Platform>
        package let device: Key<Device>
        package let since: Instant
    }

    package struct UserPlace: Hashable, Sendable {
        package let application: Key<Application>
        package let id: String
    }

    package struct Address: Hashable, Sendable {
        package let platform: Key<Platform>
        private let identity: [UInt8]

        package init(platform: Key<Platform>, token: DeviceToken) {
            self.platform = platform
            identity = token.identity
        }
    }

    package struct PushRow: Sendable {
        package let push: Push
        /// The number of devices by answer, `pending` too; kept by each change, so that it can be compared with the batches.
        package var counts: [Answer: Int] = [:]
        package var firstAnswerAt: Instant?
        package var settledAt: Instant?
        /// Whether its batches were deleted, before the push itself.
        package var hasLostAnswers = false
        package var unknownDevices = UnknownDevices()
    }

    package struct FanOutKey: Hashable, Comparable, Sendable {
        package let push: Key<Push>
        package let platform: Key<Platform>

        package static func < (left: Self, right: Self) -> Bool {
            (left.push, left.platform) < (right.push, right.platform)
        }
    }

    package struct FanOutRow: Sendable {
        package var fanOut: FanOut
        package var lease: Lease
    }

    package struct BatchRow: Sendable {
        package var batch: Batch
        package var lease: Lease
        /// When devices may be retried that wait for longer than the batch, by index.
        package var retryTimes: [Int: Instant]
        /// The notes of its attempts.
        package var history = ""
        package var answeredAt: Instant?
        /// The number on the icon of each device, once it has been counted.
        package var badges: [Key<Device>: Int64]?

        package init(batch: Batch, lease: Lease, retryTimes: [Int: Instant] = [:]) {
            self.batch = batch
            self.lease = lease
            self.retryTimes = retryTimes
        }
    }

    package struct NodeRow: Sendable {
        package var report: NodeReport
        package let since: Instant
        package var lastSeenAt: Instant
    }

    /// When something is due, and whether a worker has it. A lease is a due time in the future.
    package struct Lease: Sendable, Hashable {
        /// nil when nothing is left to do.
        package var dueAt: Instant?
        /// Whether it was claimed and not handed back; true after its due time when the holder died.
        package var isHeld = false

        package init(dueAt: Instant?, isHeld: Bool = false) {
            self.dueAt = dueAt
            self.isHeld = isHeld
        }

        func isDue(at now: Instant) -> Bool { dueAt.map { $0 <= now } ?? false }
    }
}

extension Contents {
    func isParked(_ platform: Key<Platform>) -> Bool { platforms[platform]?.parked != nil }

    /// Settles the push once its whole audience has batches and each device has its answer.
    mutating func settleIfDone(_ push: Key<Push>, now: Instant) {
        guard var row = pushes[push], row.settledAt == nil else { return }
        guard row.counts[.pending, default: 0] == 0 else { return }
        guard !isSpreading(push) else { return }
        row.settledAt = now
        pushes[push] = row
    }

    func isSpreading(_ push: Key<Push>) -> Bool {
        fanOuts.contains { $0.key.push == push && $0.value.lease.dueAt != nil }
    }
}

extension Tenant {
    fileprivate static var byDefault: Tenant {
        Tenant(key: Tenant.first, uuid: UUID(words: 6, 1), name: "default", createdAt: .zero)
    }
}

extension Dictionary where Value == Int {
    /// Raises a count; zero is not stored.
    mutating func add(_ amount: Int, to key: Key) {
        let sum = self[key, default: 0] + amount
        self[key] = sum == 0 ? nil : sum
    }
}
