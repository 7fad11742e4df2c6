import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct AnalyticsConformance {
    private static let day: Duration = .seconds(86_400)

    private func record(_ fixture: TestStore, _ events: [AnalyticsEvent]) async throws -> AnalyticsTally {
        try await fixture.store.record(events, on: fixture.platform, lateMax: Self.day)
    }

    @Test(arguments: Engine.allCases)
    func `a push's events are counted by platform and hour`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (a, b) = (try await fixture.register("a"), try await fixture.register("b"))
            let push = try await fixture.push()
            try await fixture.fanOut()
            _ = try await fixture.store.settle(Settlement(try await fixture.claimOne(), all: .accepted))
            let now = fixture.clock.now
            let events = [a, b].map {
                AnalyticsEvent(kind: .received, time: now, device: $0.uuid, receiptID: push.receiptID)
            }
            let opened = AnalyticsEvent(kind: .opened, time: now, device: a.uuid, receiptID: push.receiptID)
            let dismissed = AnalyticsEvent(kind: .dismissed, time: now, device: b.uuid, receiptID: push.receiptID)
            #expect(try await record(fixture, events + [opened, dismissed]) == AnalyticsTally(counted: 4))
            let counts: AnalyticsCounts = [.sent: 2, .received: 2, .opened: 1, .dismissed: 1]
            #expect(try await fixture.store.counts(of: push.key) == [fixture.platform.key: counts])
            let buckets = try await fixture.store.counts(
                on: fixture.platform.key, from: now, until: now + .seconds(1), by: .hour)
            #expect(buckets.map(\.counts) == [counts])
            #expect(try #require(buckets.first).start <= now && now < buckets[0].start + .seconds(3_600))
        }
    }

    @Test(arguments: Engine.allCases)
    func `an event is counted once, however often it is told`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a")
            let push = try await fixture.push()
            let event = AnalyticsEvent(
                kind: .received, time: fixture.clock.now, device: device.uuid, receiptID: push.receiptID)
            #expect(try await record(fixture, [event, event]) == AnalyticsTally(counted: 1, repeated: 1))
            fixture.clock.advance(by: .seconds(3_600))
            #expect(try await record(fixture, [event]) == AnalyticsTally(repeated: 1))
            let later = AnalyticsEvent(
                kind: .received, time: fixture.clock.now, device: device.uuid, receiptID: push.receiptID)
            #expect(try await record(fixture, [later]) == AnalyticsTally(counted: 1))
            #expect(try await fixture.store.counts(of: push.key)[fixture.platform.key]?[.received] == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `another caller's rows are skipped`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a")
            let second = try await fixture.store.create(.of(fixture.application))
            let neighbour = try await fixture.register("b", on: second)
            let stranger = try await fixture.store.create(.named("stranger"))
            let theirs = try await fixture.store.create(.of(stranger))
            let foreign = try await fixture.push(on: [theirs], of: stranger)
            let shop = try await fixture.store.create(.named("shop"), of: stranger.key)
            let fence = try await fixture.store.create(
                .around([shop.key], expiresAt: fixture.clock.now + Self.day), of: stranger.key)
            let push = try await fixture.push()
            let now = fixture.clock.now
            let events = [
                AnalyticsEvent(kind: .received, time: now, device: device.uuid, receiptID: foreign.receiptID),
                AnalyticsEvent(kind: .received, time: now, device: device.uuid, receiptID: UUID()),
                AnalyticsEvent(kind: .received, time: now, device: neighbour.uuid, receiptID: push.receiptID),
                AnalyticsEvent(kind: .received, time: now, device: UUID(), receiptID: push.receiptID),
                AnalyticsEvent(kind: .geofenceTriggered, time: now, device: device.uuid, geofence: fence.key),
                AnalyticsEvent(
                    kind: .received, time: now + .seconds(-86_401), device: device.uuid, receiptID: push.receiptID),
                AnalyticsEvent(
                    kind: .received, time: now + .seconds(86_401), device: device.uuid, receiptID: push.receiptID),
            ]
            #expect(try await record(fixture, events) == AnalyticsTally(ignored: 7))
            #expect(try await fixture.store.counts(of: push.key).isEmpty)
            #expect(try await fixture.store.counts(of: foreign.key).isEmpty)
            #expect(try await fixture.store.geofenceTriggers(of: stranger.key, after: nil, limit: 9).isEmpty)
            let all = try await fixture.store.counts(
                on: fixture.platform.key, from: .zero, until: now + Self.day, by: .day)
            let hasCounts = all.contains { !$0.counts.isEmpty }
            #expect(!hasCounts, "a device joined, and nothing else")
        }
    }

    @Test(arguments: Engine.allCases)
    func `a clock that is ahead counts as now`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a")
            let now = fixture.clock.now
            let event = AnalyticsEvent(kind: .heartbeat, time: now + .seconds(7_200), device: device.uuid)
            #expect(try await record(fixture, [event]) == AnalyticsTally(counted: 1))
            let beats = try await fixture.store.heartbeats(on: fixture.platform.key, after: nil, limit: 9)
            #expect(beats == [Heartbeat(device: device.key, lastAt: now, count: 1, latency: nil)])
        }
    }

    @Test(arguments: Engine.allCases)
    func `geofences are counted by their locations`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a")
            let shop = try await fixture.locate()
            let fence = try await fixture.fence([shop])
            let now = fixture.clock.now
            let event = { (location: Key<Location>?, seconds: Int) in
                AnalyticsEvent(
                    kind: .geofenceTriggered, time: now + .seconds(-seconds), device: device.uuid, geofence: fence.key,
                    location: location)
            }
            let events = [event(shop.key, 0), event(shop.key, 5), event(nil, 0), event(Key(9_999), 1)]
            #expect(try await record(fixture, events) == AnalyticsTally(counted: 4))
            let spots = [nil, shop.key].map {
                GeofenceTriggers.Spot(geofence: fence.key, location: $0, platform: fixture.platform.key)
            }
            let all = spots.map { GeofenceTriggers(spot: $0, count: 2, lastAt: now) }
            let store = fixture.store
            #expect(try await store.geofenceTriggers(of: fixture.application.key, after: nil, limit: 9) == all)
            #expect(try await store.geofenceTriggers(of: fixture.application.key, after: nil, limit: 1) == [all[0]])
            #expect(
                try await store.geofenceTriggers(of: fixture.application.key, after: spots[0], limit: 9) == [all[1]])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a heartbeat tells when and how fast`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (a, b) = (try await fixture.register("a"), try await fixture.register("b"))
            let push = try await fixture.push()
            fixture.clock.advance(by: .seconds(5))
            let now = fixture.clock.now
            let events = [
                AnalyticsEvent(kind: .heartbeat, time: now, device: a.uuid, receiptID: push.receiptID),
                AnalyticsEvent(kind: .heartbeat, time: now + .seconds(-3), device: a.uuid, receiptID: push.receiptID),
                AnalyticsEvent(kind: .heartbeat, time: now + .seconds(-60), device: b.uuid, receiptID: push.receiptID),
            ]
            #expect(try await record(fixture, events) == AnalyticsTally(counted: 3))
            let beats = [
                Heartbeat(device: a.key, lastAt: now, count: 2, latency: .seconds(5)),
                Heartbeat(device: b.key, lastAt: now + .seconds(-60), count: 1, latency: nil),
            ]
            #expect(try await fixture.store.heartbeats(on: fixture.platform.key, after: nil, limit: 9) == beats)
            #expect(try await fixture.store.heartbeats(on: fixture.platform.key, after: a.key, limit: 9) == [beats[1]])
            #expect(try await fixture.store.heartbeats(on: fixture.platform.key, after: nil, limit: 1) == [beats[0]])
            let recent = try await fixture.store.heartbeatSummary(on: fixture.platform.key, since: now + .seconds(-9))
            #expect(recent.devices == 1 && recent.lastAt == now && recent.latency?.p99 == .seconds(5))
            let all = try await fixture.store.heartbeatSummary(on: fixture.platform.key, since: .zero)
            #expect(all.devices == 2 && all.latency == recent.latency)
            let none = try await fixture.store.heartbeatSummary(on: fixture.platform.key, since: now + .seconds(1))
            #expect(none == HeartbeatSummary(devices: 0, lastAt: nil, latency: nil))
        }
    }

    @Test(arguments: Engine.allCases)
    func `hours add up to days, within the range asked for`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a")
            let midnight = Instant(bucket: fixture.clock.now.bucket(of: .day) + 1, of: .day)
            fixture.clock.advance(to: midnight)
            for _ in 0..<30 {
                let event = AnalyticsEvent(kind: .heartbeat, time: fixture.clock.now, device: device.uuid)
                #expect(try await record(fixture, [event]).counted == 1)
                fixture.clock.advance(by: .seconds(3_600))
            }
            let key = fixture.platform.key
            let days = try await fixture.store.counts(
                on: key, from: midnight, until: midnight + .seconds(86_400 * 2), by: .day)
            #expect(days.map(\.start) == [midnight, midnight + .seconds(86_400)])
            #expect(days.map { $0.counts[.heartbeat] } == [24, 6])
            let hours = try await fixture.store.counts(
                on: key, from: midnight + .seconds(3_600), until: midnight + .seconds(4 * 3_600), by: .hour)
            #expect(hours.map(\.start) == (1...3).map { midnight + .seconds($0 * 3_600) })
            #expect(hours.allSatisfy { $0.counts == [.heartbeat: 1] })
        }
    }

    @Test(arguments: Engine.allCases)
    func `old rows are forgotten and recent ones stay`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a")
            let fence = try await fixture.fence([try await fixture.locate()], expiresIn: .seconds(86_400 * 9))
            let old = fixture.clock.now
            let tell = { (time: Instant) in
                [
                    AnalyticsEvent(kind: .heartbeat, time: time, device: device.uuid),
                    AnalyticsEvent(kind: .geofenceTriggered, time: time, device: device.uuid, geofence: fence.key),
                ]
            }
            #expect(try await record(fixture, tell(old)).counted == 2)
            fixture.clock.advance(by: .seconds(86_400 * 3))
            let new = fixture.clock.now
            #expect(try await record(fixture, tell(new)).counted == 2)
            let until = { (time: Instant) in
                let events = try await fixture.store.deleteExpired(.events, before: time)
                let counts = try await fixture.store.deleteExpired(.counts, before: time)
                return events.isMore || counts.isMore
            }
            while try await until(new) {}
            let kept = try await fixture.store.counts(
                on: fixture.platform.key, from: .zero, until: new + Self.day, by: .hour)
            let counted = kept.filter { !$0.counts.isEmpty }
            #expect(counted.map(\.start) == [Instant(bucket: new.bucket(of: .hour), of: .hour)])
            #expect(try await record(fixture, tell(new)).repeated == 2)
            #expect(try await fixture.store.heartbeats(on: fixture.platform.key, after: nil, limit: 9).count == 1)
            while try await until(new + .seconds(86_400 * 2)) {}
            #expect(try await fixture.store.heartbeats(on: fixture.platform.key, after: nil, limit: 9).isEmpty)
            #expect(try await fixture.store.geofenceTriggers(of: fixture.application.key, after: nil, limit: 9).isEmpty)
            #expect(try await record(fixture, tell(new)).counted == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a deleted application takes its map and its counts along`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a")
            let shop = try await fixture.locate()
            let fence = try await fixture.fence([shop])
            let push = try await fixture.push()
            let event = AnalyticsEvent(
                kind: .received, time: fixture.clock.now, device: device.uuid, receiptID: push.receiptID)
            #expect(try await record(fixture, [event]).counted == 1)
            try await fixture.store.delete(fixture.application.key, force: true)
            #expect(try await fixture.store.counts(of: push.key).isEmpty)
            #expect(try await fixture.store.geofence(fence.key, of: fixture.application.key) == nil)
            #expect(try await fixture.store.location(shop.key, of: fixture.application.key) == nil)
            fixture.clock.advance(by: .seconds(9))
            #expect(try await fixture.dueUpdates().isEmpty)
        }
    }
}
