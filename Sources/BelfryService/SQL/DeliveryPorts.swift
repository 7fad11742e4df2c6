package import FoundationEssentials

/// The part of a store that delivery needs. The simulation checks it against a model: `MemoryStore`.
package typealias DeliveryPorts = ApplicationStore & DeviceStore & PushStore & DeliveryStore

/// Applications and platforms: read with each request, so a store answers most reads from memory.
package protocol ApplicationStore: Sendable {
    /// Throws `StoreError.taken` when any application of any tenant has the UUID.
    func create(_ application: NewApplication) async throws -> Application
    func applications() async throws -> [Application]
    func application(_ key: Key<Application>) async throws -> Application?

    /// Throws `StoreError.taken` when any platform of any tenant has the UUID.
    func create(_ platform: NewPlatform) async throws -> Platform
    func platforms(of application: Key<Application>) async throws -> [Platform]
    func platform(_ key: Key<Platform>) async throws -> Platform?
    /// The first platforms that are parked, or have a push service that is.
    func parkedPlatforms(atMost limit: Int) async throws -> [Platform]
    /// Replaces the credentials and resumes a platform that was parked because of the old ones.
    func replaceCredentials(
        of platform: Key<Platform>, with credentials: Sealed, facts: CredentialFacts?
    ) async throws
    /// Holds back the platform's batches until `resume`. Devices are not changed.
    func park(_ platform: Key<Platform>, _ parking: Parking) async throws
    /// Lets a parked platform's batches run again at once, in order.
    func resume(_ platform: Key<Platform>) async throws
}

extension ApplicationStore {
    package func replaceCredentials(of platform: Key<Platform>, with credentials: Sealed) async throws {
        try await replaceCredentials(of: platform, with: credentials, facts: nil)
    }

    package func application(_ key: Key<Application>) async throws -> Application? {
        try await applications().first { $0.key == key }
    }

    package func parkedPlatforms(atMost limit: Int) async throws -> [Platform] {
        var parked: [Platform] = []
        for application in try await applications() {
            parked += try await platforms(of: application.key).filter { $0.parked != nil || !$0.parkedServices.isEmpty }
        }
        return Array(parked.prefix(limit))
    }
}

/// An application before it is created.
package struct NewApplication: Sendable {
    package let uuid: UUID
    package let name: String
    package let apiKeyHash: [UInt8]
    package let sharedSecret: Sealed
    package let tenantKey: Key<Tenant>
    package let description: String

    package init(
        uuid: UUID, name: String, apiKeyHash: [UInt8], sharedSecret: Sealed, tenantKey: Key<Tenant> = Tenant.first,
        description: String = ""
    ) {
        self.uuid = uuid
        self.name = name
        self.apiKeyHash = apiKeyHash
        self.sharedSecret = sharedSecret
        self.tenantKey = tenantKey
        self.description = description
    }
}

/// A platform before it is created.
package struct NewPlatform: Sendable {
    package let uuid: UUID
    package let applicationKey: Key<Application>
    package let kind: PlatformKind
    package let mode: Platform.Mode
    package let name: String
    package let secretHash: [UInt8]
    package let credentials: Sealed
    package let facts: CredentialFacts?
    package let description: String

    package init(
        uuid: UUID, applicationKey: Key<Application>, kind: PlatformKind, mode: Platform.Mode, name: String,
        secretHash: [UInt8], credentials: Sealed, facts: CredentialFacts? = nil, description: String = ""
    ) {
        self.uuid = uuid
        self.applicationKey = applicationKey
        self.kind = kind
        self.mode = mode
        self.name = name
        self.secretHash = secretHash
        self.credentials = credentials
        self.facts = facts
        self.description = description
    }
}

package protocol DeviceStore: Sendable {
    /// Registers a device, or brings one up to date, by the rules of `RegistrationRules`; it is active afterwards.
    ///
    /// - Parameter uuid: the UUID that the caller believes it has; nil, or one that this platform does not know, leaves
    ///   the decision to the token.
    func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device
    /// Deactivates the device. It keeps its UUID and can register again. Unknown UUIDs are ignored.
    func unregister(_ uuid: UUID, on platform: Key<Platform>) async throws
    func device(_ uuid: UUID, on platform: Key<Platform>) async throws -> Device?
    /// The devices that a push names one by one, on each of the platforms: those with one of the UUIDs, inactive ones too, and
    /// the active ones of the custom user ids, of which there may be one more for each than a batch takes. With them the UUIDs
    /// that no device of the platforms has, in the given order.
    func devices(
        named names: NamedTargets, on platforms: [Key<Platform>]
    ) async throws -> (found: DevicesByPlatform, unknown: [UUID])
    /// The expression that is saved under a name; nil where none is.
    func segmentExpression(_ name: String, of application: Key<Application>) async throws -> AudienceExpression?
    /// The receipts of a campaign's pushes, at most `AudienceExpression.valuesMax`; nil where there is no such campaign.
    func campaignReceipts(_ name: String, of application: Key<Application>) async throws -> [UUID]?
    /// The message of a saved template; nil where there is none of that name, or of that version.
    func templateContent(_ reference: TemplateReference, of application: Key<Application>) async throws -> Push.Content?
}

/// Recipients that a target names individually.
package enum NamedTargets: Sendable, Hashable {
    case devices([UUID])
    case users([String])
}

/// Pushes and schedules, for callers.
package protocol PushStore: Sendable {
    /// Stores the push. Durable when it returns. Devices that it names are looked up with it.
    ///
    /// A push whose devices are known gets all its batches at once, and so may one with a short audience; any other
    /// gets a fan-out for each platform. A receipt id that a push has already returns that push and stores nothing: a
    /// caller that does not know whether a push was accepted may send it again.
    func accept(_ push: NewPush) async throws -> Push
    func receipt(_ receiptID: UUID) async throws -> Receipt?
    /// Ends the push: once this returns, none of its batches is claimed any more to be sent. Waiting devices become
    /// `skipped: cancelled`, and so do those that its fan-outs have yet to find. Batches that are being sent are finished;
    /// their retries are cancelled too. Its reminders end with it. A push that is settled, or was cancelled before, is left as it is.
    func cancel(_ push: Key<Push>) async throws -> Cancellation
    /// The progress of a push for one of its devices; nil if it is in no batch (yet).
    func delivery(of device: Key<Device>, in push: Key<Push>) async throws -> DeviceDelivery?

    // MARK: Schedules

    /// Stores the push request until it is due. Durable when it returns.
    ///
    /// - Parameter recurrence: has the times after the first; nil for a schedule that is sent once.
    func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, recurring recurrence: Recurrence?,
        for application: Key<Application>
    ) async throws -> Schedule
    /// Whether it waits or has ended; nil if the application has no such schedule, or no longer.
    func schedule(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Schedule?
    /// Returns nil, and changes nothing, if it does not wait any more. Throws `EditConflict` when it is in another version than
    /// the change was made for, and `InvalidInput` as `Schedule.changed` does.
    func change(
        _ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change
    ) async throws -> Schedule?
    /// Returns false if it does not wait any more. After true it is never sent, and neither are the schedules that it started.
    func cancel(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Bool

    /// Due schedules, the longest due first.
    func dueSchedules(atMost limit: Int) async throws -> [Schedule]
    /// When the next schedule is due; nil when none waits.
    func nextScheduleDue() async throws -> Instant?
    /// Ends the schedule, or moves it on to its next time, and accepts its push, both or neither.
    ///
    /// Returns nil, and does nothing, if it was changed or has ended since it was read.
    func release(_ schedule: Schedule, as push: NewPush) async throws -> Push?
    /// Ends the schedule, or moves it on to its next time, without a push; returns false if it was changed or has ended since it was read.
    func end(_ schedule: Schedule, _ how: Schedule.How) async throws -> Bool
    /// Moves a schedule on to another time, of which nothing is noted; returns false if it was changed or has ended since it was read.
    func pass(_ schedule: Schedule, to next: Instant) async throws -> Bool
    /// The latest push of a kind, or of any, that went to devices since a time; without the schedule's own, updates, retractions and reminders.
    func sentPush(
        of kind: String?, since: Instant, besides schedule: Schedule
    ) async throws -> (receiptID: UUID, at: Instant)?
    /// Moves a recurring schedule on to the time after an occurrence, or ends it, and makes a schedule of the occurrence, both or neither;
    /// returns false, and does nothing, if it was changed or has ended since it was read.
    ///
    /// No quota refuses the new schedule, which was promised; it counts for them.
    func start(_ occurrence: Schedule.Occurrence, of schedule: Schedule) async throws -> Bool
    /// The last times of a schedule that has several, the latest first.
    func runs(of schedule: Key<Schedule>) async throws -> [ScheduleRun]
    /// The time zones that devices have, with case folded.
    func timeZones(of application: Key<Application>) async throws -> [String]
}

package struct Cancellation: Sendable, Hashable {
    /// The number of devices that became `skipped: cancelled`.
    package var devices = 0
    /// The number of devices that are being sent to now, or may have been sent to by a worker that died.
    package var devicesInFlight = 0
    /// The number of platforms where the rest of the audience is yet to be found; it will become `skipped: cancelled`.
    package var fanOuts = 0

    package init(devices: Int = 0, devicesInFlight: Int = 0, fanOuts: Int = 0) {
        self.devices = devices
        self.devicesInFlight = devicesInFlight
        self.fanOuts = fanOuts
    }

    package static let nothing = Cancellation()

    package mutating func add(_ other: Cancellation) {
        devices += other.devices
        devicesInFlight += other.devicesInFlight
        fanOuts += other.fanOuts
    }
}

extension PushStore {
    /// Stores a push request that is sent once.
    package func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, for application: Key<Application>
    ) async throws -> Schedule {
        try await schedule(pushRequest, at: dueAt, recurring: nil, for: application)
    }

    /// The answer for one device of a push; nil if it is in no batch (yet).
    package func answer(of device: Key<Device>, in push: Key<Push>) async throws -> Answer? {
        try await delivery(of: device, in: push)?.answer
    }
}

package protocol DeliveryStore: Sendable {
    /// Leases due fan-outs: the most urgent lane first, within a lane one for each application in turn.
    func claimFanOuts(atMost limit: Int, lanes: [Lane], for lease: Duration) async throws -> [FanOut]
    /// The next devices of an audience on a platform, ascending, after `after`.
    func devices(
        of audience: Audience, on platform: Key<Platform>, after: Key<Device>?, limit: Int
    ) async throws -> [Key<Device>]
    /// The next devices of an audience, as `devices`, as far as one read goes: it ends after a fraction of a second.
    func slice(
        of audience: Audience, on platform: Key<Platform>, after: Key<Device>?, limit: Int
    ) async throws -> AudienceSlice
    /// Writes the batches of a step, moves the cursor past them and hands the fan-out back, all or nothing.
    ///
    /// Returns false, and changes nothing, if the fan-out was claimed by another worker since.
    func advance(_ step: FanOutStep) async throws -> Bool

    /// Leases due batches, burst by burst: the most urgent lane first, within a lane a fair share for each application. A power failure may
    /// undo it: then they are due again.
    func claimBursts(_ claim: BatchClaim) async throws -> [[Batch]]
    /// Returns when the leases of before are on the disk, and no power failure undoes them.
    func awaitDisk() async throws
    /// Loads the pushes and recipients that a delivery worker needs to send batches of one platform. Devices that are
    /// inactive or gone are left out.
    ///
    /// Returns a load for each batch, in order; nil for one that is not to be sent. It stops, after one at least, when
    /// their pushes would take more memory than `Burst.contentBytesMax`.
    func load(_ batches: [Batch]) async throws -> [BatchLoad?]
    /// Counts the badges of batches whose pushes count, and reads the values of placeholders, on the devices that are sent to
    /// now. The counts are kept beside the batch: a batch that is sent again shows the same numbers.
    ///
    /// Returns for each, in order, nil when its batch was claimed by another worker since. Devices without values are left out.
    ///
    /// - Parameter requests: of batches of one platform.
    func fill(_ requests: [FillingRequest]) async throws -> [[Key<Device>: PersonalizedValues.Values]?]
    /// Decides by the rules of their application which devices wait, and which are left out, and counts those that caps count. Of the same
    /// push each user counts once, however often a batch is sent.
    ///
    /// - Parameter requests: of batches of one application.
    func pace(_ requests: [PacingRequest]) async throws -> [[Key<Device>: PacingVerdict]]
    /// Writes the results of batches in one transaction, each whole or not at all. A request to park for credentials that were
    /// replaced since is void.
    ///
    /// Returns for each, in order, false when its batch was claimed by another worker since; then nothing of it is changed.
    func settle(_ settlements: [Settlement]) async throws -> [Bool]

    /// Takes the turn to try a push service again that refused our credentials: no other worker does so before `end`. Returns
    /// false while its time has not come, or another worker has the turn.
    func takeProbe(of service: String, on platform: Key<Platform>, until end: Instant) async throws -> Bool
    /// Writes the result of an attempt with credentials that were refused. It is void once they were replaced.
    ///
    /// - Parameter service: nil for the platform as a whole.
    func note(_ finding: ProbeFinding, of service: String?, on platform: Platform) async throws

    /// Stores the fault in place of the platform's last one. Does nothing if the platform was deleted.
    func note(_ fault: ConnectionFault, on platform: Key<Platform>) async throws

    /// The earliest time at which a fan-out or batch is due, parked platforms aside; nil if none is open.
    func nextDue() async throws -> Instant?
    /// Signals that some of the work may be due, from this process or another. Only a hint: some are false, some are missing.
    func hints(of work: DueWork) -> AsyncStream<Void>
}

extension DeliveryStore {
    package func load(_ batch: Batch) async throws -> BatchLoad? { try await load([batch])[0] }

    package func settle(_ settlement: Settlement) async throws -> Bool { try await settle([settlement])[0] }
}

/// The result of an attempt with refused credentials.
package enum ProbeFinding: Sendable, Hashable {
    /// They are accepted: all waiting batches are sent.
    case accepted
    /// Refused, in the provider's words: the next attempt comes later.
    case refused(String)
    /// Nothing was sent, so another worker may try at once.
    case unused

    /// The parking of a push service after the attempt.
    ///
    /// - Parameters:
    ///   - before: its present one.
    ///   - seen: the one that the worker saw. One that another worker made since stays.
    package func parking(_ before: Parking?, seen: Parking?, at now: Instant) -> Parking? {
        switch self {
        case .accepted: return seen == nil ? before : nil
        case .unused: return before?.probed(until: now)
        case .refused(let words):
            guard let before else { return Parking(refused: words, at: now) }
            return seen?.probe?.count == before.probe?.count ? before.refused(words, at: now) : before
        }
    }
}

/// The number of bursts that a delivery worker wants, and the platforms that can take them.
package struct BatchClaim: Sendable {
    package let burstsMax: Int
    package let lanes: [Lane]
    /// The number of bursts that each platform can take now. Other platforms take `roomElsewhere`.
    package let room: [Key<Platform>: Int]
    package let roomElsewhere: Int
    package let lease: Duration
    package let burst: Burst

    package init(
        burstsMax: Int, lanes: [Lane] = Lane.allCases, room: [Key<Platform>: Int] = [:], roomElsewhere: Int,
        lease: Duration, burst: Burst = Burst()
    ) {
        self.burstsMax = burstsMax
        self.lanes = lanes
        self.room = room
        self.roomElsewhere = roomElsewhere
        self.lease = lease
        self.burst = burst
    }

    package func room(on platform: Key<Platform>) -> Int { room[platform] ?? roomElsewhere }
}

/// The data that the store loads for a batch before it is sent. A class, because it is passed on often, and a copy of a push and a
/// platform counts twenty references.
package final class BatchLoad: Sendable {
    package let push: Push
    package let platform: Platform
    /// Pending, active devices of the batch, ascending.
    package let recipients: [Recipient]

    package init(push: Push, platform: Platform, recipients: [Recipient]) {
        self.push = push
        self.platform = platform
        self.recipients = recipients
    }
}

/// A push as it was read from the database.
package enum PushLoading: Sendable {
    case found(Push)
    /// The push does not exist any more.
    case gone
    /// The push cannot be read.
    case damaged
}

/// A device to send to, and its token.
package struct Recipient: Sendable {
    package let device: Key<Device>
    package let token: DeviceToken
    /// The time of its last registration, as far as it is known.
    package let registeredAt: Instant?
    /// The values that the push shows on this device alone; nil where all devices get the same.
    package let filling: PersonalizedValues?

    package init(
        device: Key<Device>, token: DeviceToken, registeredAt: Instant? = nil, filling: PersonalizedValues? = nil
    ) {
        self.device = device
        self.token = token
        self.registeredAt = registeredAt
        self.filling = filling
    }
}

extension Recipient: Hashable {
    package static func == (left: Self, right: Self) -> Bool {
        left.device == right.device && left.token == right.token && left.filling?.values == right.filling?.values
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(device) }
}

/// The reason why a store operation failed.
package enum StoreError: Error, Sendable, Hashable {
    /// There is no such thing. The text names it without an article: "application 7".
    case unknown(String)
    /// The name is in use, perhaps by another tenant: the text names the thing that cannot be made, and nothing of the other.
    case taken(String)
    /// The operation contradicts existing rows: others depend on one, or there is one already. The text says which.
    case conflict(String)
    /// The database cannot be written or read: a full disk, a read-only file, damage.
    case unavailable(String)
    /// A row is unreadable: its kind and number, and what is wrong with it. Other rows are not affected.
    case damaged(_ row: String, _ fault: String = "its columns contradict one another")
    /// More work waits than the store accepts; the caller may retry.
    case overloaded(retryAfter: Duration)
    /// The caller's quota is used up. Nothing was changed.
    case quotaExceeded(QuotaExcess)
}

extension StoreError {
    /// Whether the same may succeed later.
    var isPassing: Bool {
        switch self {
        case .unavailable, .overloaded: true
        default: false
        }
    }

    package static func hasPlatforms(_ count: Int) -> StoreError {
        .conflict(
            "the application has \(count == 1 ? "a platform" : "\(count) platforms"): --force (?force=true in the API) deletes it with "
                + "its platforms, their devices and their pushes")
    }

    package static var hasActiveDevices: StoreError {
        .conflict("the platform has active devices: --force (?force=true in the API) deletes them with it")
    }

    /// Reads a row, and names it in the error when it is unreadable.
    package static func reading<Value>(_ row: @autoclosure () -> String, _ read: () throws -> Value) throws -> Value {
        do { return try read() } catch let error as InvalidInput { throw StoreError.damaged(row(), "\(error)") }
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknown(let thing): "there is no \(thing)"
        case .taken(let thing): "the UUID of \(thing) is taken"
        case .conflict(let why): why
        case .unavailable(let why): "the database cannot be used: \(why)"
        case .damaged(let row, let fault): "\(row) is damaged: \(fault)"
        case .overloaded(let wait): "more work waits than the database accepts; retry in \(wait)"
        case .quotaExceeded(let excess): excess.description
        }
    }
}

/// The error for changing something that has changed since the caller saw it. Nothing was changed.
package struct EditConflict: Error, Sendable, Hashable {
    package init() {}

    /// Throws unless the stored value is the one that the caller saw.
    package static func check<Value: Equatable>(_ stored: Value, is seen: Value) throws(EditConflict) {
        guard stored == seen else { throw EditConflict() }
    }
}

/// Some devices of an audience, in the order of their keys.
package struct AudienceSlice: Sendable {
    package let devices: [Key<Device>]
    /// The key up to which the audience was read; nil where it has ended.
    package let end: Key<Device>?
}

extension DeliveryStore {
    package func slice(
        of audience: Audience, on platform: Key<Platform>, after: Key<Device>?, limit: Int
    ) async throws -> AudienceSlice {
        let found = try await devices(of: audience, on: platform, after: after, limit: limit)
        return AudienceSlice(devices: found, end: found.count < limit ? nil : found.last)
    }

    /// The first devices of an audience, by a deadline; fewer where that passes.
    package func firstDevices(
        of audience: Audience, on platform: Key<Platform>, atMost limit: Int, by deadline: ContinuousClock.Instant
    ) async throws -> [Key<Device>] {
        var (found, after): ([Key<Device>], Key<Device>?) = ([], nil)
        while found.count < limit {
            let slice = try await slice(of: audience, on: platform, after: after, limit: limit - found.count)
            found += slice.devices
            guard let end = slice.end, ContinuousClock.now < deadline else { break }
            after = end
        }
        return found
    }
}
