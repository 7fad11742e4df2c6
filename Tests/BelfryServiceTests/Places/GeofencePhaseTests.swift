import BelfryService
import Testing

@Suite struct GeofencePhaseTests {
    private func plan(_ start: Int64, _ end: Int64) throws -> GeofencePlan {
        try GeofencePlan(
            locations: [Key(1)], trigger: .enter, data: GeofenceData([:]), startsAt: Instant(milliseconds: start),
            expiresAt: Instant(milliseconds: end))
    }

    @Test(
        arguments: [
            (9, .waiting), (10, .active), (19, .active), (20, .over), (99, .over),
        ] as [(Int64, GeofencePhase)])
    func `a geofence is active from its start to its end`(now: Int64, phase: GeofencePhase) throws {
        #expect(try GeofencePhase(of: plan(10, 20), at: Instant(milliseconds: now)) == phase)
    }

    @Test func `a clock that is set back changes no phase`() throws {
        let plan = try plan(10, 20)
        #expect(GeofencePhase.active.advanced(of: plan, at: .zero) == .active)
        #expect(GeofencePhase.over.advanced(of: plan, at: Instant(milliseconds: 15)) == .over)
        #expect(GeofencePhase.waiting.advanced(of: plan, at: Instant(milliseconds: 25)) == .over)
    }

    @Test func `a phase knows its end`() throws {
        let plan = try plan(10, 20)
        #expect(GeofencePhase.allCases.map { $0.end(of: plan)?.milliseconds } == [10, 20, nil])
    }

    @Test(arguments: [(0, 100, 100), (100, 100, 101), (500, 100, 501), (99, 100, 100)] as [(Int64, Int64, Int64)])
    func `stamps ascend whatever the clock does`(last: Int64, now: Int64, next: Int64) {
        let stamp = GeofenceStamp.next(after: Instant(milliseconds: last), now: Instant(milliseconds: now))
        #expect(stamp == Instant(milliseconds: next))
    }

    @Test func `a plan keeps each location and tag once, in order`() throws {
        let plan = try GeofencePlan(
            locations: [Key(2), Key(1), Key(2)], trigger: .exit, tags: ["b", "a", "b"], data: GeofenceData([:]),
            expiresAt: Instant(milliseconds: 1))
        #expect(plan.locations == [Key(2), Key(1)] && plan.tags == ["b", "a"])
    }

    @Test func `a plan has bounded locations and bytes`() throws {
        let many = (1...Int64(GeofencePlan.locationsMax + 1)).map { Key<Location>($0) }
        #expect(throws: InvalidInput.self) {
            try GeofencePlan(
                locations: many, trigger: .exit, data: GeofenceData([:]), expiresAt: Instant(milliseconds: 1))
        }
        let long = String(repeating: "x", count: GeofenceData.bytesMax)
        #expect(throws: InvalidInput.self) { try GeofenceData(["ios": .object(["alertBody": .string(long)])]) }
    }

    @Test(
        arguments: [
            (.all, PlatformKind.allCases), (.ios, [.ios]), (.android, [.android, .androidFCM, .androidBaidu]),
            (.androidFCM, [.androidFCM]),
        ] as [(GeofencePlatform, [PlatformKind])])
    func `a geofence is for the devices that its platform means`(platform: GeofencePlatform, kinds: [PlatformKind]) {
        #expect(PlatformKind.allCases.filter(platform.includes) == kinds)
    }

    @Test func `a geofence update is a background push with root keys`() throws {
        let payload = try IOSPayload(.geofenceUpdate, receiptID: nil, sentAt: .distantPast)
        #expect(payload.isBackground)
        let text = String(decoding: payload.bytes, as: UTF8.self)
        #expect(text == #"{"aps":{"content-available":1},"pivotal.push.geofence_update_available":true}"#)
    }
}
