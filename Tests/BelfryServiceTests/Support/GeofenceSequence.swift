import BelfryService
import BelfryTesting
import Synchronization
import Testing

/// A clock that stands still, jumps ahead and is set back.
final class WaywardClock: WallClock {
    private let time = Mutex(Instant(milliseconds: 1_700_000_000_000))

    var now: Instant { time.withLock { $0 } }
    func move(by duration: Duration) { time.withLock { $0 = $0 + duration } }
    func sleep(for duration: Duration) async throws {}
}

/// A seeded run of changes, fetches and moves of the clock. After each fetch the device has to have what a fresh one gets.
struct GeofenceSequence {
    private let store: any Store
    private let clock: WaywardClock
    private let application: Key<Application>
    private let platforms: [Platform]
    private let locations: [Location]
    private var devices: [FencedDevice]
    private var geofences: [Key<Geofence>] = []
    private var random: SplitMix64

    init(store: any Store, clock: WaywardClock, seed: UInt64) async throws {
        self.store = store
        self.clock = clock
        random = SplitMix64(seed: seed)
        let application = try await store.create(.named("news"))
        self.application = application.key
        platforms = [
            try await store.create(.of(application)), try await store.create(.of(application, kind: .androidFCM)),
        ]
        var locations: [Location] = []
        for number in 0..<4 { locations.append(try await store.create(.named("\(number)"), of: application.key)) }
        self.locations = locations
        devices = Array(repeating: FencedDevice(), count: 4)
    }

    mutating func run(steps: Int) async throws {
        for _ in 0..<steps {
            try await step()
            if random.chance(0.4) { try await fetch(random.below(devices.count)) }
        }
        for device in devices.indices { try await fetch(device) }
    }

    private mutating func step() async throws {
        switch random.below(10) {
        case 0...2: geofences.append(try await store.create(try plan(), of: application).key)
        case 3, 4:
            guard !geofences.isEmpty else { return }
            let plan = try plan()
            _ = try await store.update(random.pick(geofences), of: application) { _ in plan }
        case 5:
            guard !geofences.isEmpty else { return }
            _ = try await store.delete(geofences.remove(at: random.below(geofences.count)), of: application)
        case 6:
            let latitude = Double(random.draw(-90...90))
            _ = try await store.update(random.pick(locations).key, of: application) { try $0.moved(to: latitude) }
        case 7: clock.move(by: random.duration(-4...0))
        case 8: _ = try await store.startAndEndDueGeofences()
        default: clock.move(by: random.duration(0...6))
        }
    }

    private mutating func plan() throws -> GeofencePlan {
        let start = clock.now + random.duration(-3...5)
        let count = random.draw(1...locations.count)
        return try .around(
            locations.prefix(count).map(\.key), platform: random.pick(GeofencePlatform.allCases),
            startsAt: random.chance(0.3) ? .zero : start, expiresAt: start + random.duration(1...10),
            text: "\(random.below(100))")
    }

    private mutating func fetch(_ number: Int) async throws {
        let platform = platforms[number % platforms.count]
        try await devices[number].fetch(on: platform, store)
        let fresh = try await FencedDevice(of: platform, store)
        #expect(devices[number].geofences == fresh.geofences)
        let now = clock.now
        #expect(fresh.geofences.values.allSatisfy { $0.plan.expiresAt > now || $0.phase == .active })
    }
}
