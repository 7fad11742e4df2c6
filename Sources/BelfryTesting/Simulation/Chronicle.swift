import BelfryCore
import Synchronization

/// What the simulation itself did to devices and pushes: the witness that the verdict calls.
final class Chronicle: Sendable {
    struct AcceptedPush: Sendable {
        let push: Push
        let platforms: [Key<Platform>]
        /// The number of deeds before it.
        let moment: Int
        let audience: Set<Key<Device>>
        let active: Set<Key<Device>>
    }

    struct State: Sendable {
        private(set) var pushes: [AcceptedPush] = []
        private(set) var deaths = 0
        private(set) var schedules: Set<Key<Schedule>> = []
        /// Those whose cancel was answered with success.
        private(set) var cancelled: Set<Key<Schedule>> = []
        /// How often each became a push.
        private(set) var releases: [Key<Schedule>: Int] = [:]
        /// Rests that ended at another time than they were to, each in a sentence.
        private(set) var movedRests: [String] = []
        private var moment = 0
        private var touchedAt: [Key<Device>: Int] = [:]
        private var left: Set<Key<Device>> = []
        private var doubts: [Key<Push>: [Key<Device>: Int]] = [:]
        /// Until when devices of pages rest, by their place.
        private var rests: [Key<Page>: [Int: Instant]] = [:]

        /// Whether somebody registered or unregistered the device after the push.
        func isTouched(_ device: Key<Device>, since push: AcceptedPush) -> Bool {
            touchedAt[device].map { $0 > push.moment } ?? false
        }

        /// Whether the device unregistered, or lost its token, after it last registered.
        func hasLeft(_ device: Key<Device>) -> Bool { left.contains(device) }

        /// How often a process died, or could not write, while it carried the device.
        func doubts(_ push: Key<Push>, _ device: Key<Device>) -> Int { doubts[push]?[device] ?? 0 }

        mutating func accept(_ push: Push, on platforms: [Key<Platform>], contents: Contents) {
            moment += 1
            let audience = platforms.reduce(into: Set<Key<Device>>()) {
                $0.formUnion(contents.members(of: push.audience, on: $1))
            }
            let active = Set(contents.devices.values.lazy.filter(\.isActive).map(\.key))
            pushes.append(
                AcceptedPush(push: push, platforms: platforms, moment: moment, audience: audience, active: active))
        }

        mutating func schedule(_ schedule: Schedule) { schedules.insert(schedule.key) }

        mutating func cancel(_ schedule: Schedule) { cancelled.insert(schedule.key) }

        mutating func release(_ schedule: Schedule) { releases[schedule.key, default: 0] += 1 }

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

        mutating func doubt(_ page: Page) {
            for index in page.ready { doubts[page.pushKey, default: [:]][page.devices[index], default: 0] += 1 }
        }

        mutating func claim(_ page: Page, at now: Instant) {
            let rests = rests[page.key, default: [:]].filter { $0.value > now }
            if page.rests != rests {
                movedRests.append("page \(page.key): rests until \(page.rests), and was to until \(rests)")
            }
        }

        mutating func settle(_ settlement: Settlement) {
            let page = settlement.page
            rests[page.key] = settlement.restEnds
            for (place, end) in settlement.restEnds where page.rests[place].map({ $0 != end }) ?? false {
                movedRests.append("page \(page.key): the rest of place \(place) was moved to \(end)")
            }
        }

        mutating func die(carrying pages: [Page]) {
            deaths += 1
            for page in pages { doubt(page) }
        }
    }

    private let held = Mutex(State())

    var state: State { held.withLock { $0 } }

    func note(_ change: (inout State) -> Void) { held.withLock { change(&$0) } }
}
