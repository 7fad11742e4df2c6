import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// The report of a push, and the stories of its devices.
@Suite struct PushPageTests {
    private struct Fixture {
        let dashboard: TestDashboard
        let contents: TestContents
        let browser: TestBrowser

        init() async throws {
            dashboard = try TestDashboard()
            browser = try await dashboard.browser("root@a.example")
            contents = try await TestContents(dashboard, text: "dairy")
            try await dashboard.store.resume(contents.platform.key)
        }

        var app: String { "/apps/\(contents.application.uuid.lowercased)" }
        var path: String { "\(app)/pushes/\(contents.push.receiptID.lowercased)" }

        func story(of device: Device) -> String { "\(path)/devices/\(device.uuid.lowercased)" }

        func register(_ token: UInt8, user: String, topics: Set<String>) async throws -> Device {
            try await dashboard.store.register(
                try Registration(
                    token: DeviceToken(bytes: Array(repeating: token, count: 32)), about: Device.About(),
                    customUserID: .set(user), topics: .replace(topics)),
                as: nil, on: contents.platform)
        }
    }

    @Test func `an answer leads to the story of its device`() async throws {
        let fixture = try await Fixture()
        let device = fixture.contents.device
        let waiting = try await fixture.browser.get(fixture.story(of: device))
        #expect(waiting.contains("Looking up the audience") && waiting.contains(">Waiting<"))
        try await fixture.dashboard.store.deliver { _, _ in .refused(.badToken) }
        let page = try await fixture.browser.get(fixture.path)
        #expect(page.contains("href=\"/dashboard\(fixture.story(of: device))\">Token refused</a>"))
        #expect(page.contains("<small>refused: badToken</small>"))
        let story = try await fixture.browser.get(fixture.story(of: device))
        for words in [
            "Push accepted", "Put into a batch", "Token refused",
            "The token is not one of the provider&#39;s, or of its other environment.",
            "Compare the platform&#39;s mode", "Nothing: the device has its answer.",
        ] {
            #expect(story.contains(words), "\(words)")
        }
        for path in ["\(fixture.app)/devices/\(device.uuid.lowercased)", "\(fixture.app)/users?id=dairy"] {
            #expect(try await fixture.browser.get(path).contains("href=\"/dashboard\(fixture.story(of: device))\""))
        }
        #expect(try await fixture.browser.get("\(fixture.path)/devices/\(UUID().lowercased)").status == .notFound)
    }

    @Test func `a story says why a dead token's device is active`() async throws {
        let fixture = try await Fixture()
        let device = fixture.contents.device
        try await fixture.dashboard.store.deliver { _, _ in .gone }
        let kept = try await fixture.browser.get(fixture.story(of: device))
        #expect(kept.contains("Token no longer valid") && kept.contains("The device stays active"))
        fixture.dashboard.clock.advance(by: Comebacks.lagMax)
        _ = try await fixture.dashboard.store.register(
            try Registration(
                token: try #require(device.token), about: device.about, customUserID: .keep, topics: .keep),
            as: device.uuid, on: fixture.contents.platform)
        let again = try await fixture.browser.get(fixture.story(of: device))
        #expect(again.contains("The device is active again: its app registered at "))
        #expect(again.contains("Registered again"))
    }

    @Test func `a story has what the app reported`() async throws {
        let fixture = try await Fixture()
        let device = fixture.contents.device
        try await fixture.dashboard.store.deliver { _, _ in .accepted }
        let event = AnalyticsEvent(
            kind: .opened, time: fixture.dashboard.clock.now, device: device.uuid,
            receiptID: fixture.contents.push.receiptID)
        _ = try await fixture.dashboard.store.record([event], on: fixture.contents.platform, lateMax: .seconds(86_400))
        let story = try await fixture.browser.get(fixture.story(of: device))
        #expect(story.contains("<b>Opened</b>") && !story.contains("<b>Received</b>"))
        #expect(!story.contains("What helps"))
    }

    @Test func `a device outside the audience is told why`() async throws {
        let fixture = try await Fixture()
        try await fixture.dashboard.store.deliver { _, _ in .accepted }
        fixture.dashboard.clock.advance(by: .seconds(60))
        let other = try await fixture.register(7, user: "ann", topics: ["butter"])
        let found = try await fixture.browser.get("\(fixture.path)?find=ann")
        #expect(found.contains("href=\"/dashboard\(fixture.story(of: other))\">Not in the audience</a>"))
        let story = try await fixture.browser.get(fixture.story(of: other))
        #expect(story.contains("The target of the push does not mean it: topics: dairy."))
        #expect(story.contains("after the push was accepted") && !story.contains("What happened"))
    }

    @Test func `failures are grouped by cause, and devices found`() async throws {
        let fixture = try await Fixture()
        let device = fixture.contents.device
        let other = try await fixture.register(7, user: "ann", topics: ["dairy"])
        try await fixture.dashboard.store.deliver { $1 == device.key ? .refused(.badToken) : .skipped(.capped) }
        let page = try await fixture.browser.get(fixture.path)
        #expect(page.contains("Why devices did not get it") && page.contains("Frequency cap reached"))
        #expect(page.contains("Download as CSV (the first 20,000)"))
        #expect(page.contains("Pushes of the kind transactional are exempt.") && page.contains(">50 %<"))
        let (here, there) = (fixture.story(of: device), fixture.story(of: other))
        for (query, shown, hidden) in [
            ("answer=refused%3A%20badToken", here, there), ("answer=skipped", there, here), ("find=ann", there, here),
            ("find=\(device.uuid.lowercased)", here, there),
        ] {
            let page = try await fixture.browser.get("\(fixture.path)?\(query)")
            #expect(page.contains("\(shown)\"") && !page.contains("\(hidden)\""), "\(query)")
        }
        #expect(try await fixture.browser.get("\(fixture.path)?find=bob").contains("No device has this id"))
        let file = try await fixture.browser.get("\(fixture.path)/devices.csv?answer=skipped%3A%20capped")
        #expect(file.text == "device_uuid,answer\r\n\(other.uuid.lowercased),skipped: capped\r\n")
    }

    @Test func `a report compares a push, and is a file`() async throws {
        let fixture = try await Fixture()
        let store = fixture.dashboard.store
        try await store.deliver { _, _ in .accepted }
        let request = PushRequest(content: Push.Content(body: "Fresh butter"), target: .everyone)
        let push = try await fixture.dashboard.services.pushes.send(
            request, for: fixture.contents.application, by: TestDashboard.author)
        let path = "\(fixture.app)/pushes/\(push.receiptID.lowercased)"
        let running = try await fixture.browser.get(path)
        #expect(running.contains("0 of 0 devices found so far have their answer"))
        #expect(running.contains("Sent by") && running.contains("local:test"))
        try await store.deliver { _, _ in .accepted }
        let page = try await fixture.browser.get(path)
        for words in [
            "From audience to opening", "By platform", "Compared with the pushes before it",
            fixture.contents.push.receiptID.lowercased, "class=\"preview phone\"",
            "&quot;body&quot;: &quot;Fresh butter&quot;",
        ] {
            #expect(page.contains(words), "\(words)")
        }
        #expect(!page.contains("<progress") && !page.contains("Why devices did not get it"))
        // The devices of an answer stand before the figures and the details.
        let places = ["Devices", "From audience to opening", "Details"].map { words in
            page.text.firstRange(of: "<h2>\(words)</h2>")?.lowerBound
        }
        #expect(places == places.compactMap(\.self).sorted())
        let file = try await fixture.browser.get("\(path)/report.csv")
        #expect(file.headers[.contentType]?.hasPrefix("text/csv") == true)
        #expect(file.contains(#""funnel","Accepted","1","100 %""#) && file.contains(#""compared""#))
        let reader = try await fixture.dashboard.browser(
            "reader@a.example", .readOnly, .application(fixture.contents.application.key, of: Tenant.first))
        #expect(try await !reader.get(path).contains("Sent by"))
    }

    @Test func `a device's and a user's pushes have pages`() async throws {
        let fixture = try await Fixture()
        for number in 1...27 {
            let request = PushRequest(content: Push.Content(body: "Push <\(number)>"), target: .everyone)
            _ = try await fixture.dashboard.services.pushes.send(request, for: fixture.contents.application.key)
            try await fixture.dashboard.store.deliver { _, _ in .accepted }
        }
        for path in [
            "\(fixture.app)/devices/\(fixture.contents.device.uuid.lowercased)", "\(fixture.app)/users?id=dairy",
        ] {
            let first = try await fixture.browser.get(path)
            #expect(first.contains("Push &lt;27&gt;") && first.contains("Push &lt;3&gt;"))
            #expect(!first.contains("Push &lt;2&gt;"))
            let next = try #require(first.text.firstMatch(of: /before=([0-9]+)" rel="next"/)?.1)
            let second = try await fixture.browser.get(path + (path.contains("?") ? "&" : "?") + "before=\(next)")
            #expect(second.contains("Push &lt;2&gt;") && second.contains("Push &lt;1&gt;"))
            #expect(!second.contains("Push &lt;3&gt;") && !second.contains("rel=\"next\""))
        }
    }

    @Test func `every answer has words, and refusals differ`() {
        #expect(Answer.all.count == 5 + Skip.allCases.count + Refusal.allCases.count)
        #expect(Set(Answer.all.map(\.words.title)).count == Answer.all.count)
        for answer in Answer.all {
            #expect(answer.words.reason.first?.isLowercase == true && !answer.words.help.hasSuffix("."), "\(answer)")
        }
    }

    @Test(arguments: [
        (0, 0, "—"), (0, 9, "0 %"), (1, 9_999, "< 0.1 %"), (1, 8, "12.5 %"), (9_998, 9_999, "> 99.9 %"),
        (9, 9, "100 %"),
    ])
    func `a share is rounded, but not to nothing or all`(part: Int, whole: Int, words: String) {
        #expect(part.share(of: whole) == words)
    }

    @Test func `answers over time are few equal parts`() {
        func times(_ seconds: [Int]) -> AnswerTimes {
            AnswerTimes(seconds.map { .init(closedAt: .zero + .seconds($0), devices: 10) })
        }
        #expect(times([]).parts(since: .zero, atMost: 4).devices.isEmpty)
        let short = times([0, 2, 2]).parts(since: .zero, atMost: 4)
        #expect(short.width == .seconds(1) && short.devices == [10, 0, 20])
        let long = times([0, 61, 3_000]).parts(since: .zero, atMost: 4)
        #expect(long.width == .seconds(900) && long.devices == [20, 0, 0, 10])
        #expect(times([0, 61, 3_000]).answered(since: .zero + .seconds(61)) == 20)
        #expect(times([400 * 86_400]).parts(since: .zero, atMost: 4).devices.count == 4)
    }
}
