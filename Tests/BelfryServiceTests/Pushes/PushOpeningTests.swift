import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

@Suite struct PushOpeningConformance {
    @Test(arguments: Engine.allCases)
    func `accepted and opened are counted by language`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let devices = [
                try await fixture.register("a"), try await fixture.register("b"), try await fixture.register("c"),
            ]
            for (device, language) in zip(devices, ["de", "de"]) {
                try await store.setDetail(
                    of: device.key, on: fixture.platform.key, DeviceDetail.Change(language: language))
            }
            let push = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            let answers = batch.devices.map { $0 == devices[1].key ? Answer.refused(.badToken) : .accepted }
            #expect(try await store.settle(Settlement(batch: batch, answers: answers, retryAt: nil)))
            let now = fixture.clock.now
            let events = [devices[0], devices[2]].map {
                AnalyticsEvent(kind: .opened, time: now, device: $0.uuid, receiptID: push.receiptID)
            }
            #expect(try await store.record(events, on: fixture.platform, lateMax: .seconds(60)).counted == 2)
            let found = try await store.languages(of: push.key, devices: 3)
            #expect(found.devices == 3 && found.rows.map(\.title) == ["de", "not reported"])
            #expect(found.rows.map { [$0.devices, $0.accepted, $0.opened] } == [[2, 1, 1], [1, 1, 1]])
            let openings = try await store.openings(of: push.key)
            #expect(openings.map(\.count) == [2])
            #expect(try #require(openings.first).start <= now)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a push nobody opened has no openings`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let push = try await fixture.push()
            #expect(try await fixture.store.openings(of: push.key).isEmpty)
            #expect(try await fixture.store.languages(of: push.key, devices: 0).rows.isEmpty)
        }
    }
}

@Suite struct PushOpeningPageTests {
    @Test func `a report shows languages and openings`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let store = dashboard.store
        let path = "/apps/\(contents.application.uuid.lowercased)/pushes/\(contents.push.receiptID.lowercased)"
        let before = try await browser.get(path)
        #expect(!before.contains("By language") && !before.contains("Openings over time"))
        try await store.resume(contents.platform.key)
        try await store.setDetail(
            of: contents.device.key, on: contents.platform.key, DeviceDetail.Change(language: "fr-CA"))
        try await store.deliver { _, _ in .accepted }
        dashboard.clock.advance(by: .seconds(2 * 3_600))
        let event = AnalyticsEvent(
            kind: .opened, time: dashboard.clock.now, device: contents.device.uuid,
            receiptID: contents.push.receiptID)
        _ = try await store.record([event], on: contents.platform, lateMax: .seconds(86_400))
        let page = try await browser.get(path)
        for words in ["By language", "fr-CA".asLanguage, "1 · 100 %", "Openings over time", ": opened 1</title>"] {
            #expect(page.contains(words), "\(words)")
        }
        #expect(!page.contains("spread over the push"))
        let file = try await browser.get("\(path)/report.csv")
        #expect(file.contains("\"language\",\"\("fr-CA".asLanguage)\",\"1\",\"opened\"\r\n"))
        #expect(file.text.split(separator: "\r\n").count { $0.hasPrefix("\"opened\",") } == 3)
        dashboard.clock.advance(by: .seconds(60))
        let again = AnalyticsEvent(
            kind: .opened, time: dashboard.clock.now, device: contents.device.uuid,
            receiptID: contents.push.receiptID)
        #expect(try await store.record([again], on: contents.platform, lateMax: .seconds(86_400)).counted == 1)
        let figures = PushFigures(
            try #require(try await store.receipt(contents.push.receiptID)),
            try await store.counts(of: contents.push.key), try await store.reporters(of: contents.push.key), [:])
        #expect(figures.opened == 1)
    }
}
