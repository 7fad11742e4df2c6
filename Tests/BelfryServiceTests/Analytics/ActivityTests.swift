import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct ActivityTests {
    @Test func `times are read between the bounds`() {
        var activity = PlatformActivity()
        #expect(activity.time(ofShare: 0.5) == nil)
        activity.add(100, acceptedWithin: .milliseconds(700))
        #expect(activity.time(ofShare: 0.5) == .milliseconds(750))
        #expect(activity.time(ofShare: 0.99) == .milliseconds(995))
        activity.add(300, acceptedWithin: .milliseconds(-5))
        #expect(activity.time(ofShare: 0.5) == .milliseconds(67))
        #expect(activity.accepted == 400)
    }

    @Test func `a time beyond the last bound is the bound`() {
        var activity = PlatformActivity()
        activity.add(1, acceptedWithin: .seconds(90_000))
        #expect(activity.time(ofShare: 0.5) == .seconds(3_600))
        #expect(activity.numbers.count == PlatformActivity.count)
    }

    @Test func `each bound is counted below itself`() {
        for (place, bound) in PlatformActivity.timesMax.enumerated() {
            var activity = PlatformActivity()
            activity.add(1, acceptedWithin: .milliseconds(bound))
            #expect(activity.numbers[PlatformActivity.Figure.allCases.count + place] == 1)
        }
    }
}

@Suite struct ActivityConformance {
    private func activity(_ fixture: TestStore) async throws -> PlatformActivity {
        let now = fixture.clock.now
        return try await fixture.store.counts(
            on: fixture.platform.key, from: now + .seconds(-7_200), until: now + .seconds(7_200), by: .hour
        ).reduce(into: PlatformActivity()) { $0 += $1.activity }
    }

    @Test(arguments: Engine.allCases)
    func `new devices count before and after they are indexed`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(20)
            try await fixture.register("1")
            #expect(try await activity(fixture)[.joined] == 20)
            for _ in 0..<3 { try await fixture.store.index(SearchIndexSizes(segment: 8, staleDevices: 8)) }
            #expect(try await activity(fixture)[.joined] == 20)
            #expect(try await activity(fixture).devicesLost == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `losses are counted once by their cause`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let devices = [
                try await fixture.register("a"), try await fixture.register("b"), try await fixture.register("c"),
            ]
            let registrations = RegistrationService(store: fixture.store)
            for _ in 0..<2 {
                try await registrations.unregister(devices[0].uuid, on: fixture.platform.key)
                try await fixture.store.unregister(devices[1].uuid, on: fixture.platform.key)
            }
            let batch = try await fixture.claimBatch()
            let dead = Settlement.DeadToken(device: devices[2].key, since: .distantFuture)
            #expect(try await fixture.store.settle(Settlement(batch, all: .gone, deadTokens: [dead])))
            let lost = try await activity(fixture)
            #expect(lost[.optedOut] == 1 && lost[.lost] == 1 && lost[.gone] == 1 && lost[.failed] == 1)
            try await fixture.register("a", as: devices[0].uuid)
            #expect(try await activity(fixture)[.joined] == 4)
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices cancelled as they wait or are found fail`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(3)
            let (store, push) = (fixture.store, try await fixture.push())
            let fanOut = try #require(
                try await store.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60)).first)
            let found = try await store.devices(in: fanOut, after: nil, limit: 2)
            #expect(try await store.advance(FanOutStep(fanOut: fanOut, batches: [found], isLast: false)))
            _ = try await store.cancel(push.key)
            #expect(try await activity(fixture)[.failed] == 2)
            try await fixture.fanOut()
            #expect(try await activity(fixture)[.failed] == 3)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device that loses its token is lost`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let first = try await fixture.register("a")
            try await fixture.register("b")
            try await fixture.register("b", as: first.uuid)
            let activity = try await activity(fixture)
            #expect(activity[.joined] == 2 && activity[.lost] == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `accepted messages count as sent by their time`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(3)
            let batch = try await fixture.claimBatch()
            let settlement = Settlement(
                batch: batch, answers: [.accepted, .accepted, .refused(.badToken)], retryAt: nil,
                acceptedAt: fixture.clock.now + .seconds(-2))
            #expect(try await fixture.store.settle(settlement))
            _ = try await fixture.store.settle(settlement)
            let activity = try await activity(fixture)
            #expect(activity.accepted == 2 && activity[.failed] == 1)
            let half = try #require(activity.time(ofShare: 0.5))
            #expect(half > .seconds(1) && half <= .milliseconds(2_500))
            let now = fixture.clock.now
            let buckets = try await fixture.store.counts(
                on: fixture.platform.key, from: now, until: now + .seconds(1), by: .hour)
            #expect(buckets.map { $0.counts[.sent] } == [2])
        }
    }
}

@Suite struct ActivityPageTests {
    @Test func `overview and application show devices, answers and times`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)"
        #expect(!(try await browser.get(path)).contains("Delivery rate"))
        try await dashboard.store.resume(contents.platform.key)
        let store = dashboard.store
        for fanOut in try await store.claimFanOuts(atMost: 9, lanes: Lane.allCases, for: .seconds(60)) {
            let found = try await store.devices(in: fanOut, after: nil, limit: 9)
            _ = try await store.advance(FanOutStep(fanOut: fanOut, batches: [found], isLast: true))
        }
        for batch in try await store.claimBatches(BatchClaim(burstsMax: 9, roomElsewhere: 9, lease: .seconds(60))) {
            let answers = batch.devices.map { _ in Answer.accepted }
            _ = try await store.settle(
                Settlement(batch: batch, answers: answers, retryAt: nil, acceptedAt: contents.push.acceptedAt))
        }
        try await RegistrationService(store: dashboard.store).unregister(
            contents.device.uuid, on: contents.platform.key)
        for page in ["?period=24h", "\(path)?period=24h"] {
            let text = try await browser.get(page).text
            for words in [
                "Joined and lost, 24h", "joined 1; opted out 1; lost 0", "accepted 100 %", "half within 50 ms",
            ] {
                #expect(text.contains(words), "\(page) \(words)")
            }
        }
        let csv = try await browser.get("\(path)/analytics.csv?period=24h")
        #expect(csv.contains(",1,1,0,0,0,50,99\r\n"))
    }
}

extension Store {
    /// Indexes new devices.
    fileprivate func index(_ sizes: SearchIndexSizes) async throws {
        try await write { session in
            if let session = session as? PostgresWriteSession { try DeviceHorizon(session: session).step() }
            try DeviceSearchIndex(session: session, sizes: sizes).step()
        }
    }
}
