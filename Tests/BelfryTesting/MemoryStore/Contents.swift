package import BelfryService
import FoundationEssentials

/// The contents of a `MemoryStore`, as plain tables.
package struct Contents: Sendable {
    package var applications: [Key<Application>: Application] = [:]
    package var platforms: [Key<Platform>: Platform] = [:]
    package var devices: [Key<Device>: Device] = [:]
    /// The device that has a token now.
    package var holders: [Address: Key<Device>] = [:]
    package var deviceDetails: [Key<Device>: DeviceDetail] = [:]
    package var pushes: [Key<Push>: PushRow] = [:]
    package var fanOuts: [FanOutKey: FanOutRow] = [:]
    package var batches: [Key<Batch>: BatchRow] = [:]
    package var capUses = CapUses()
    package var schedules: [Key<Schedule>: Schedule] = [:]
    /// The earliest first.
    package var scheduleRuns: [Key<Schedule>: [ScheduleRun]] = [:]
    /// The time zones of users whose profiles have one, by their ids, in all applications.
    package var userTimeZones: [String: String] = [:]
    package var connectionFaults: [Key<Platform>: PlatformFault] = [:]
    /// Operations that the port forbids, in the order in which a caller did them.
    package var misuses: [String] = []

    package let naming: DeviceNaming
    /// The platforms that were ever parked for their credentials.
    var refused: Set<Key<Platform>> = []
    /// Whether a platform was parked and is not any more.
    var hasResumed = false
    /// Raised with each claim, so that a remainder does not always go to the same application.
    var turn = 0
    private var lastKeys = [ObjectIdentifier: Int64]()

    /// - Parameter naming: gives devices their UUIDs.
    package init(naming: DeviceNaming = DeviceNaming(secret: Array(0..<32))) { self.naming = naming }

    /// A series for each noun, as a database has one for each table.
    mutating func nextKey<Noun>() -> Key<Noun> {
        lastKeys[ObjectIdentifier(Noun.self), default: 0] += 1
        return Key(lastKeys[ObjectIdentifier(Noun.self), default: 0])
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

extension Dictionary where Value == Int {
    /// Raises a count; zero is not stored.
    mutating func add(_ amount: Int, to key: Key) {
        let sum = self[key, default: 0] + amount
        self[key] = sum == 0 ? nil : sum
    }
}

extension Contents {
    /// The devices of an audience as a plain set: the model that `AudienceScan` is compared with.
    package func members(of audience: Audience, on platform: Key<Platform>) -> Set<Key<Device>> {
        switch audience {
        case .list(let list):
            members(of: list, on: platform)
        case .any(let parts):
            parts.reduce(into: []) { $0.formUnion(members(of: $1, on: platform)) }
        case .all(let parts):
            parts.dropFirst().reduce(into: parts.first.map { members(of: $0, on: platform) } ?? []) {
                $0.formIntersection(members(of: $1, on: platform))
            }
        case .except(let whole, let part):
            members(of: whole, on: platform).subtracting(members(of: part, on: platform))
        case .checked(let whole, let checks):
            members(of: whole, on: platform).filter { device in checks.allSatisfy { isHeld($0, by: device) } }
        case .meant(_, let audience): members(of: audience, on: platform)
        }
    }

    private func members(of list: PostingList, on platform: Key<Platform>) -> Set<Key<Device>> {
        let kind = platforms[platform]?.kind ?? .ios
        let own = devices.values.lazy.filter { $0.platformKey == platform }
        return switch list {
        case .devices(let keys): Set(keys.filter { devices[$0]?.platformKey == platform })
        case .sent(let push, let part):
            batches.values.lazy.map(\.batch).filter { $0.pushKey == push && $0.platformKey == platform }
                .reduce(into: []) { found, batch in
                    found.formUnion(zip(batch.devices, batch.answers).filter { part.includes($1) }.map(\.0))
                }
        case .label(let label):
            Set(own.filter { $0.isActive && timeZone(of: $0.key).map { label == .timeZone($0) } ?? false }.map(\.key))
        default: Set(own.filter { list.has($0, kind: kind) }.map(\.key))
        }
    }

    private func timeZone(of device: Key<Device>) -> String? { deviceDetails[device]?.timeZone }

    /// The model knows the time zones of users, and no more that is looked up in rows: any other check holds.
    private func isHeld(_ check: DeviceCheck, by device: Key<Device>) -> Bool {
        guard case .property(.userTimeZone, let test) = check.test else { return true }
        let zone = devices[device]?.customUserID.flatMap { userTimeZones[$0] }
        let isTrue = if case .equals(let values) = test { values.contains { $0.text == zone } } else { zone != nil }
        return isTrue != check.isNegated
    }
}

extension PostingList {
    fileprivate func has(_ device: Device, kind: PlatformKind) -> Bool {
        switch self {
        case .active: device.isActive
        case .interactive:
            device.isActive && DeviceState(kind: kind, osVersion: device.about.osVersion) == .interactive
        case .registered: true
        case .topic(let name): device.isActive && device.topics.contains(name)
        case .customUser(let id): device.isActive && device.customUserID == id
        case .devices(let keys): keys.contains(device.key)
        case .platforms(let platforms): device.isActive && platforms.contains(device.platformKey)
        // The model knows no other labels than time zones, and no reports.
        case .sent, .reported, .geofence, .label, .labels: false
        }
    }
}
