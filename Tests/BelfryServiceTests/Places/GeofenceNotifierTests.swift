import BelfryTesting
import Testing

@testable import BelfryService

@Suite struct GeofenceNotifierTests {
    private let clock = ManualClock()
    private let store: SQLiteStore
    private let log = CapturedLog()
    private let geofenceNotifier: GeofenceNotifier

    init() throws {
        store = try .temporary(clock: clock)
        geofenceNotifier = GeofenceNotifier(store: store, clock: clock, logger: log.logger)
    }

    private func fence(_ application: Application, startsIn: Duration? = nil) async throws -> Geofence {
        let shop = try await store.create(
            Place(name: "shop", latitude: 0, longitude: 0, radius: 10), of: application.key)
        let plan = try GeofencePlan(
            locations: [shop.key], trigger: .enter, data: GeofenceData([:]),
            startsAt: startsIn.map { clock.now + $0 } ?? .zero, expiresAt: clock.now + .seconds(86_400))
        return try await store.create(plan, of: application.key)
    }

    private var pushes: [Push] {
        get async throws { try await store.allPushes() }
    }

    private func platforms(of push: Push) async throws -> [Key<Platform>] {
        try await store.read { db in
            try db.prepared("SELECT platform_id FROM fan_out WHERE push_id = $1 ORDER BY platform_id").all(push.key) {
                Key($0.integer(0))
            }
        }
    }

    @Test func `several changes make one push to all, in last lane`() async throws {
        let application = try await store.create(.numbered(1))
        let ios = try await store.create(.numbered(1, of: application.key))
        let fcm = try await store.create(.numbered(2, of: application.key, kind: .androidFCM))
        for _ in 0..<3 { _ = try await fence(application) }
        try await geofenceNotifier.round()
        #expect(try await pushes.isEmpty)
        clock.advance(by: .seconds(1))
        try await geofenceNotifier.round()
        try await geofenceNotifier.round()
        let push = try #require(try await pushes.first)
        #expect(try await pushes.count == 1)
        #expect(push.content == .geofenceUpdate && push.audience == .list(.active) && push.lane == .bulk)
        #expect(push.expiresAt == clock.now + .seconds(86_400))
        #expect(try await platforms(of: push) == [ios.key, fcm.key])
    }

    @Test func `a start is sent at its time, even after downtime`() async throws {
        let application = try await store.create(.numbered(1))
        _ = try await store.create(.numbered(1, of: application.key))
        _ = try await fence(application, startsIn: .seconds(60))
        clock.advance(by: .seconds(30))
        try await geofenceNotifier.round()
        #expect(try await pushes.isEmpty)
        clock.advance(by: .seconds(600))
        try await geofenceNotifier.round()
        clock.advance(by: .seconds(1))
        try await geofenceNotifier.round()
        #expect(try await pushes.count == 1)
    }

    @Test func `a parked platform gathers one push for its resumption`() async throws {
        let application = try await store.create(.numbered(1))
        let ios = try await store.create(.numbered(1, of: application.key))
        let fcm = try await store.create(.numbered(2, of: application.key, kind: .androidFCM))
        try await store.park(fcm.key, Parking(cause: .noProvider, detail: "no provider", since: clock.now))
        for _ in 0..<50 {
            _ = try await fence(application)
            clock.advance(by: .seconds(2))
            try await geofenceNotifier.round()
        }
        #expect(try await pushes.count == 50)
        for push in try await pushes { #expect(try await platforms(of: push) == [ios.key]) }
        try await store.resume(fcm.key)
        clock.advance(by: .seconds(120))
        try await geofenceNotifier.round()
        #expect(try await pushes.count == 51)
        #expect(try await platforms(of: try #require(try await pushes.last)) == [fcm.key])
    }

    @Test func `each application has a push of its own`() async throws {
        for number in 1...2 {
            let application = try await store.create(.numbered(number))
            _ = try await store.create(.numbered(number, of: application.key))
            _ = try await fence(application)
        }
        clock.advance(by: .seconds(1))
        try await geofenceNotifier.round()
        #expect(Set(try await pushes.map(\.applicationKey)).count == 2)
        #expect(try await pushes.count == 2)
    }

    @Test func `an unaccepted push is made in the next round`() async throws {
        let application = try await store.create(.numbered(1))
        _ = try await store.create(.numbered(1, of: application.key))
        _ = try await fence(application)
        clock.advance(by: .seconds(1))
        let refusing = InterceptedStore(store) { access in
            if access == .write { throw StoreError.unavailable("by the test") }
        }
        let broken = GeofenceNotifier(store: refusing, clock: clock, logger: log.logger)
        await #expect(throws: StoreError.self) { try await broken.round() }
        try await geofenceNotifier.round()
        #expect(try await pushes.count == 1)
    }

    @Test func `the retention sweeper forgets what is too old`() async throws {
        let application = try await store.create(.numbered(1))
        let platform = try await store.create(.numbered(1, of: application.key))
        let device = try await store.register(.sample(1), as: nil, on: platform)
        let retentionSweeper = RetentionSweeper(
            store: store, clock: clock,
            options: RetentionSweeper.Options(
                retention: Retention(counts: .seconds(86_400 * 9), eventsLateMax: .seconds(86_400 * 2))),
            logger: log.logger)
        let event = AnalyticsEvent(kind: .heartbeat, time: clock.now, device: device.uuid)
        #expect(try await store.record([event], on: platform, lateMax: .seconds(86_400 * 2)).counted == 1)
        clock.advance(by: .seconds(86_400 * 2))
        try await retentionSweeper.round()
        #expect(try await store.record([event], on: platform, lateMax: .seconds(86_400 * 2)).repeated == 1)
        clock.advance(by: .seconds(86_400 * 6))
        try await retentionSweeper.round()
        #expect(try await store.heartbeats(on: platform.key, after: nil, limit: 9).count == 1)
        clock.advance(by: .seconds(86_400 * 2))
        try await retentionSweeper.round()
        #expect(try await store.heartbeats(on: platform.key, after: nil, limit: 9).isEmpty)
    }
}
