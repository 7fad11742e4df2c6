import BelfryService
import Synchronization

/// The simulation's own actions on devices and pushes: the record that the verdict reads.
final class History: Sendable {
    struct AcceptedPush: Sendable {
        let push: Push
        let platforms: [Key<Platform>]
        /// The number of actions before it.
        let moment: Int
        let audience: Set<Key<Device>>
        let active: Set<Key<Device>>
    }

    /// The devices as they were when a schedule by the clocks of each recipient was made.
    struct Beginning: Sendable {
        let moment: Int
        let active: Set<Key<Device>>
    }

    struct State: Sendable {
        private(set) var pushes: [AcceptedPush] = []
        private(set) var deadTokens = 0
        private(set) var schedules: Set<Key<Schedule>> = []
        /// Schedules whose cancel succeeded.
        private(set) var cancelled: Set<Key<Schedule>> = []
        /// How often each became a push.
        private(set) var releases: [Key<Schedule>: Int] = [:]
        private(set) var skips: [Key<Schedule>: Int] = [:]
        /// Schedules that became two pushes at one of their times.
        private(set) var repeated: Set<Key<Schedule>> = []
        private var released: Set<[Int64]> = []
        private(set) var pushesBySchedule: [Key<Schedule>: [Push]] = [:]
        private(set) var beginnings: [Key<Schedule>: Beginning] = [:]
        /// Recurring schedules that started another, or whose other sent, after they were cancelled, one sentence each.
        private(set) var startedInSpiteOfCancel: [String] = []
        /// Retry times that moved, one sentence each.
        private(set) var movedRetryTimes: [String] = []
        private(set) var cancelledPushes: Set<Key<Push>> = []
        /// Batches that were claimed to be sent after their push was cancelled, one sentence each.
        private(set) var claimedInSpiteOfCancel: [String] = []
        /// Devices that were sent to although a rule holds them back, one sentence each.
        private(set) var sentInSpiteOfRules: [String] = []
        /// The devices of each push that the last verdict holds back.
        private var heldBack: [Key<Push>: Set<Key<Device>>] = [:]
        private var moment = 0
        private var touchedAt: [Key<Device>: Int] = [:]
        private var left: Set<Key<Device>> = []
        private var doubts: [Key<Push>: [Key<Device>: Int]] = [:]
        /// Devices of batches that were claimed after a lease of theirs had lapsed: they may have been told.
        private(set) var lapsed: [Key<Push>: Set<Key<Device>>] = [:]
        /// When devices of batches may be retried, by index.
        private var retryTimes: [Key<Batch>: [Int: Instant]] = [:]

        /// Whether a client registered or unregistered the device after so many actions.
        func isTouched(_ device: Key<Device>, since moment: Int) -> Bool {
            touchedAt[device].map { $0 > moment } ?? false
        }

        /// Whether the device unregistered, or lost its token, after it last registered.
        func hasLeft(_ device: Key<Device>) -> Bool { left.contains(device) }

        /// How often a process died, or could not write, while it sent to the device.
        func doubts(_ push: Key<Push>, _ device: Key<Device>) -> Int { doubts[push]?[device] ?? 0 }

        mutating func accept(_ push: Push, on platforms: [Key<Platform>], contents: Contents) {
            moment += 1
            let audience = platforms.reduce(into: Set<Key<Device>>()) {
                $0.formUnion(contents.members(of: push.audience, on: $1))
            }
            pushes.append(
                AcceptedPush(
                    push: push, platforms: platforms, moment: moment, audience: audience,
                    active: contents.activeDevices))
        }

        mutating func schedule(_ schedule: Schedule) { schedules.insert(schedule.key) }

        mutating func begin(_ schedule: Schedule, contents: Contents) {
            moment += 1
            beginnings[schedule.key] = Beginning(moment: moment, active: contents.activeDevices)
        }

        mutating func start(of parent: Key<Schedule>, contents: Contents) {
            if cancelled.contains(parent) {
                startedInSpiteOfCancel.append("schedule \(parent): started another after it was cancelled")
            }
            let started = contents.schedules.values.filter { $0.local?.parent == parent }
            for schedule in started where beginnings[schedule.key] == nil { begin(schedule, contents: contents) }
        }

        mutating func cancel(_ schedule: Schedule) { cancelled.insert(schedule.key) }

        mutating func cancel(_ push: Key<Push>) { cancelledPushes.insert(push) }

        mutating func release(_ schedule: Schedule, as push: Push) {
            pushesBySchedule[schedule.key, default: []].append(push)
            if let parent = schedule.local?.parent, cancelled.contains(parent) {
                startedInSpiteOfCancel.append("schedule \(schedule.key): was sent after \(parent) was cancelled")
            }
            releases[schedule.key, default: 0] += 1
            let time = [schedule.key.rawValue, schedule.dueAt.milliseconds]
            if !released.insert(time).inserted { repeated.insert(schedule.key) }
        }

        mutating func skip(_ schedule: Schedule) { skips[schedule.key, default: 0] += 1 }

        mutating func register(_ device: Key<Device>, evicted: Key<Device>?) {
            moment += 1
            touchedAt[device] = moment
            left.remove(device)
            guard let evicted, evicted != device else { return }
            touchedAt[evicted] = moment
            left.insert(evicted)
        }

        mutating func unregister(_ device: Key<Device>) {
            moment += 1
            touchedAt[device] = moment
            left.insert(device)
        }

        mutating func doubt(_ batch: Batch) {
            for index in batch.ready { doubts[batch.pushKey, default: [:]][batch.devices[index], default: 0] += 1 }
        }

        mutating func claim(_ batch: Batch, at now: Instant) {
            if batch.isLapsed { lapsed[batch.pushKey, default: []].formUnion(batch.ready.map { batch.devices[$0] }) }
            if cancelledPushes.contains(batch.pushKey), !batch.isCancelled {
                claimedInSpiteOfCancel.append(
                    "batch \(batch.key): was claimed after push \(batch.pushKey) was cancelled")
            }
            let retryTimes = retryTimes[batch.key, default: [:]].filter { $0.value > now }
            if batch.retryTimes != retryTimes {
                movedRetryTimes.append(
                    "batch \(batch.key): waits until \(batch.retryTimes), and was to until \(retryTimes)")
            }
        }

        mutating func settle(_ settlement: Settlement) {
            let batch = settlement.batch
            retryTimes[batch.key] = settlement.waitEnds
            for (place, end) in settlement.waitEnds where batch.retryTimes[place].map({ $0 != end }) ?? false {
                movedRetryTimes.append("batch \(batch.key): the wait of place \(place) was moved to \(end)")
            }
        }

        mutating func pace(_ request: PacingRequest, _ verdicts: [Key<Device>: PacingVerdict]) {
            for device in request.devices {
                if let verdict = verdicts[device], verdict != .passive {
                    heldBack[request.push, default: []].insert(device)
                } else {
                    heldBack[request.push]?.remove(device)
                }
            }
        }

        mutating func ask(_ push: Key<Push>, _ device: Key<Device>) {
            guard heldBack[push]?.contains(device) ?? false, doubts(push, device) == 0 else { return }
            sentInSpiteOfRules.append("push \(push): device \(device) was sent to, and a rule holds it back")
        }

        mutating func die(sending batches: [Batch]) {
            deadTokens += 1
            for batch in batches { doubt(batch) }
        }
    }

    private let held = Mutex(State())

    var state: State { held.withLock { $0 } }

    func note(_ change: (inout State) -> Void) { held.withLock { change(&$0) } }
}

extension Contents {
    fileprivate var activeDevices: Set<Key<Device>> { Set(devices.values.lazy.filter(\.isActive).map(\.key)) }
}
