import BelfryCore
import BelfryTesting
import Foundation
import Testing

@Suite struct AnalyticsConformance {
    private static let day: Duration = .seconds(86_400)

    private func record(_ scene: Scene, _ events: [AnalyticsEvent]) async throws -> AnalyticsTally {
        try await scene.store.record(events, on: scene.platform, lateMax: Self.day)
    }

    @Test(arguments: Engine.allCases)
    func `what happened to a push is counted by platform and by hour`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let (a, b) = (try await scene.register("a"), try await scene.register("b"))
            let push = try await scene.push()
            try await scene.spread()
            _ = try await scene.store.settle(Settlement(try await scene.claimOne(), all: .accepted))
            let now = scene.clock.now
            let events = [a, b].map {
                AnalyticsEvent(kind: .received, time: now, device: $0.uuid, receiptID: push.receiptID)
            }
            let opened = AnalyticsEvent(kind: .opened, time: now, device: a.uuid, receiptID: push.receiptID)
            #expect(try await record(scene, events + [opened]) == AnalyticsTally(counted: 3))
            let counts: AnalyticsCounts = [.sent: 2, .received: 2, .opened: 1]
            #expect(try await scene.store.counts(of: push.key) == [scene.platform.key: counts])
            let buckets = try await scene.store.counts(
                on: scene.platform.key, from: now, until: now + .seconds(1), by: .hour)
            #expect(buckets.map(\.counts) == [counts])
            #expect(try #require(buckets.first).start <= now && now < buckets[0].start + .seconds(3_600))
        }
    }

    @Test(arguments: Engine.allCases)
    func `an event is counted once, however often it is told`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("a")
            let push = try await scene.push()
            let event = AnalyticsEvent(
                kind: .received, time: scene.clock.now, device: device.uuid, receiptID: push.receiptID)
            #expect(try await record(scene, [event, event]) == AnalyticsTally(counted: 1, repeated: 1))
            scene.clock.advance(by: .seconds(3_600))
            #expect(try await record(scene, [event]) == AnalyticsTally(repeated: 1))
            let later = AnalyticsEvent(
                kind: .received, time: scene.clock.now, device: device.uuid, receiptID: push.receiptID)
            #expect(try await record(scene, [later]) == AnalyticsTally(counted: 1))
            #expect(try await scene.store.counts(of: push.key)[scene.platform.key]?[.received] == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `what is not the caller's is passed over`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("a")
            let second = try await scene.store.create(.of(scene.application))
            let neighbour = try await scene.register("b", on: second)
            let stranger = try await scene.store.create(.named("stranger"))
            let theirs = try await scene.store.create(.of(stranger))
            let foreign = try await scene.push(on: [theirs], of: stranger)
            let shop = try await scene.store.create(.named("shop"), of: stranger.key)
            let fence = try await scene.store.create(
                .around([shop.key], expiresAt: scene.clock.now + Self.day), of: stranger.key)
            let push = try await scene.push()
            let now = scene.clock.now
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
            #expect(try await record(scene, events) == AnalyticsTally(ignored: 7))
            #expect(try await scene.store.counts(of: push.key).isEmpty)
            #expect(try await scene.store.counts(of: foreign.key).isEmpty)
            #expect(try await scene.store.geofenceTriggers(of: stranger.key, after: nil, limit: 9).isEmpty)
            let all = try await scene.store.counts(
                on: scene.platform.key, from: .zero, until: now + Self.day, by: .day)
            #expect(all.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a clock that is ahead counts as now`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("a")
            let now = scene.clock.now
            let event = AnalyticsEvent(kind: .heartbeat, time: now + .seconds(7_200), device: device.uuid)
            #expect(try await record(scene, [event]) == AnalyticsTally(counted: 1))
            let beats = try await scene.store.heartbeats(on: scene.platform.key, after: nil, limit: 9)
            #expect(beats == [Heartbeat(device: device.key, lastAt: now, count: 1, latency: nil)])
        }
    }

    @Test(arguments: Engine.allCases)
    func `geofences are counted by their locations`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("a")
            let shop = try await scene.locate()
            let fence = try await scene.fence([shop])
            let now = scene.clock.now
            let event = { (location: Key<Location>?, seconds: Int) in
                AnalyticsEvent(
                    kind: .geofenceTriggered, time: now + .seconds(-seconds), device: device.uuid, geofence: fence.key,
                    location: location)
            }
            let events = [event(shop.key, 0), event(shop.key, 5), event(nil, 0), event(Key(9_999), 1)]
            #expect(try await record(scene, events) == AnalyticsTally(counted: 4))
            let spots = [nil, shop.key].map {
                GeofenceTriggers.Spot(geofence: fence.key, location: $0, platform: scene.platform.key)
            }
            let all = spots.map { GeofenceTriggers(spot: $0, count: 2, lastAt: now) }
            let store = scene.store
            #expect(try await store.geofenceTriggers(of: scene.application.key, after: nil, limit: 9) == all)
            #expect(try await store.geofenceTriggers(of: scene.application.key, after: nil, limit: 1) == [all[0]])
            #expect(try await store.geofenceTriggers(of: scene.application.key, after: spots[0], limit: 9) == [all[1]])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a heartbeat tells when and how fast`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let (a, b) = (try await scene.register("a"), try await scene.register("b"))
            let push = try await scene.push()
            scene.clock.advance(by: .seconds(5))
            let now = scene.clock.now
            let events = [
                AnalyticsEvent(kind: .heartbeat, time: now, device: a.uuid, receiptID: push.receiptID),
                AnalyticsEvent(kind: .heartbeat, time: now + .seconds(-3), device: a.uuid, receiptID: push.receiptID),
                AnalyticsEvent(kind: .heartbeat, time: now + .seconds(-60), device: b.uuid, receiptID: push.receiptID),
            ]
            #expect(try await record(scene, events) == AnalyticsTally(counted: 3))
            let beats = [
                Heartbeat(device: a.key, lastAt: now, count: 2, latency: .seconds(5)),
                Heartbeat(device: b.key, lastAt: now + .seconds(-60), count: 1, latency: nil),
            ]
            #expect(try await scene.store.heartbeats(on: scene.platform.key, after: nil, limit: 9) == beats)
            #expect(try await scene.store.heartbeats(on: scene.platform.key, after: a.key, limit: 9) == [beats[1]])
            #expect(try await scene.store.heartbeats(on: scene.platform.key, after: nil, limit: 1) == [beats[0]])
        }
    }

    @Test(arguments: Engine.allCases)
    func `hours add up to days, within the range asked for`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("a")
            let midnight = Instant(bucket: scene.clock.now.bucket(of: .day) + 1, of: .day)
            scene.clock.advance(to: midnight)
            for _ in 0..<30 {
                let event = AnalyticsEvent(kind: .heartbeat, time: scene.clock.now, device: device.uuid)
                #expect(try await record(scene, [event]).counted == 1)
                scene.clock.advance(by: .seconds(3_600))
            }
            let key = scene.platform.key
            let days = try await scene.store.counts(
                on: key, from: midnight, until: midnight + .seconds(86_400 * 2), by: .day)
            #expect(days.map(\.start) == [midnight, midnight + .seconds(86_400)])
            #expect(days.map { $0.counts[.heartbeat] } == [24, 6])
            let hours = try await scene.store.counts(
                on: key, from: midnight + .seconds(3_600), until: midnight + .seconds(4 * 3_600), by: .hour)
            #expect(hours.map(\.start) == (1...3).map { midnight + .seconds($0 * 3_600) })
            #expect(hours.allSatisfy { $0.counts == [.heartbeat: 1] })
        }
    }

    @Test(arguments: Engine.allCases)
    func `what is old is forgotten, and what is not is kept`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("a")
            let fence = try await scene.fence([try await scene.locate()], expiresIn: .seconds(86_400 * 9))
            let old = scene.clock.now
            let tell = { (time: Instant) in
                [
                    AnalyticsEvent(kind: .heartbeat, time: time, device: device.uuid),
                    AnalyticsEvent(kind: .geofenceTriggered, time: time, device: device.uuid, geofence: fence.key),
                ]
            }
            #expect(try await record(scene, tell(old)).counted == 2)
            scene.clock.advance(by: .seconds(86_400 * 3))
            let new = scene.clock.now
            #expect(try await record(scene, tell(new)).counted == 2)
            let until = { (time: Instant) in
                try await scene.store.forgetAnalytics(countsBefore: time, eventsBefore: time)
            }
            while try await until(new) {}
            let kept = try await scene.store.counts(
                on: scene.platform.key, from: .zero, until: new + Self.day, by: .hour)
            #expect(kept.map(\.start) == [Instant(bucket: new.bucket(of: .hour), of: .hour)])
            #expect(try await record(scene, tell(new)).repeated == 2)
            #expect(try await scene.store.heartbeats(on: scene.platform.key, after: nil, limit: 9).count == 1)
            while try await until(new + .seconds(86_400 * 2)) {}
            #expect(try await scene.store.heartbeats(on: scene.platform.key, after: nil, limit: 9).isEmpty)
            #expect(try await scene.store.geofenceTriggers(of: scene.application.key, after: nil, limit: 9).isEmpty)
            #expect(try await record(scene, tell(new)).counted == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a deleted application takes its map and its counts along`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("a")
            let shop = try await scene.locate()
            let fence = try await scene.fence([shop])
            let push = try await scene.push()
            let event = AnalyticsEvent(
                kind: .received, time: scene.clock.now, device: device.uuid, receiptID: push.receiptID)
            #expect(try await record(scene, [event]).counted == 1)
            try await scene.store.delete(scene.application.key, force: true)
            #expect(try await scene.store.counts(of: push.key).isEmpty)
            #expect(try await scene.store.geofence(fence.key, of: scene.application.key) == nil)
            #expect(try await scene.store.location(shop.key, of: scene.application.key) == nil)
            scene.clock.advance(by: .seconds(9))
            #expect(try await scene.dueNotices().isEmpty)
        }
    }
}
