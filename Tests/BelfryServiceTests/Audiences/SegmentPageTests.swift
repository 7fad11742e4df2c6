import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Segments as people use them in the dashboard.
@Suite struct SegmentPageTests {
    private func begin() async throws -> (TestDashboard, TestBrowser, TestContents, String) {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        return (dashboard, browser, contents, "/apps/\(contents.application.uuid.lowercased)")
    }

    @Test func `a segment is counted, made, changed and deleted`() async throws {
        let (dashboard, browser, _, path) = try await begin()
        let fields = [("name", "loyal ones"), ("where", "topic:dairy  seen:P7D")]
        let counted = try await browser.post("\(path)/segments", fields + [("action", "count")])
        #expect(
            counted.status == .ok && counted.contains("topic:dairy seen:P7D selects 1 device. It is not saved yet."))
        #expect(counted.contains("value=\"loyal ones\""), "the form is kept")
        let made = try await browser.post("\(path)/segments", fields)
        #expect(made.location == "/dashboard\(path)/segments/loyal%20ones?done=created")
        let page = try await browser.get("\(path)/segments/loyal%20ones")
        #expect(
            page.contains("topic:dairy seen:P7D") && page.contains("Devices now") && page.contains("Not used yet"))
        #expect(page.contains("No earlier versions.") && page.contains("compose?segment=loyal%20ones"))
        let saved = try await browser.post("\(path)/segments/loyal%20ones", [("where", "-topic:dairy")])
        #expect(saved.location.hasSuffix("/segments/loyal%20ones?done=saved"))
        let changed = try await browser.get("\(path)/segments/loyal%20ones")
        #expect(changed.contains("topic:dairy seen:P7D") && changed.contains("No devices match now."))
        let question = try await browser.post("\(path)/segments/loyal%20ones/delete")
        #expect(question.contains("Delete the segment “loyal ones”?"))
        let deleted = try await browser.post("\(path)/segments/loyal%20ones/delete", [("confirmed", "yes")])
        #expect(deleted.location == "/dashboard\(path)/segments?done=deleted")
        #expect(try await !browser.get("\(path)/segments").contains("loyal ones"))
        let actions = try await dashboard.store.auditLog().suffix(3).map(\.change.action)
        #expect(actions == ["segment.create", "segment.update", "segment.delete"])
    }

    @Test(arguments: [
        ([("name", "a"), ("where", "")], "which devices does it select?"),
        ([("name", ""), ("where", "imported")], "is empty"),
        ([("name", "a"), ("where", "colour:red")], "is no term"),
        ([("name", "a"), ("where", "segment:nobody")], "which there is not"),
        ([("name", "dairy"), ("where", "imported")], "A segment of that name exists"),
        ([("name", String(repeating: "a", count: 101)), ("where", "imported")], "the limit is 100"),
        ([("name", "a"), ("where", "colour:red"), ("action", "count")], "is no term"),
    ])
    func `a wrong segment keeps the form and names the fault`(
        fields: [(String, String)], words: String
    ) async throws {
        let (_, browser, _, path) = try await begin()
        let page = try await browser.post("\(path)/segments", fields)
        #expect(page.status == .unprocessableContent && page.contains(words), "\(page.text)")
    }

    @Test func `a segment in use stays and says why`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        _ = try await dashboard.services.segments.create(
            "both", .any([.term(.segment("dairy")), .term(.imported)]), of: contents.application,
            by: TestDashboard.author)
        let request = PushRequest(
            content: Push.Content(body: "Hello"), target: Target(.term(.segment("dairy"))))
        _ = try await PushService(store: dashboard.store).schedule(
            request, at: dashboard.clock.now + .seconds(3_600), for: contents.application.key)
        #expect(try await browser.get("\(path)/segments").contains("1 schedule, 1 segment"))
        let page = try await browser.get("\(path)/segments/dairy")
        #expect(page.contains(">both</a>") && page.contains(">Hello</a>"))
        #expect(try await browser.get("\(path)/segments/dairy").contains("from everything that uses it first"))
        let refused = try await browser.post("\(path)/segments/dairy/delete", [("confirmed", "yes")])
        #expect(refused.status == .unprocessableContent)
        #expect(refused.contains("It was not deleted: the segment is used by segment both, schedule"))
        #expect(try await dashboard.store.segment(named: "dairy", of: contents.application.key) != nil)
    }

    @Test func `an edit of an older version is refused`() async throws {
        let (_, browser, _, path) = try await begin()
        let page = try await browser.get("\(path)/segments/dairy")
        let seen = try #require(page.text.firstMatch(of: /name="seen" value="([^"]+)"/)?.1)
        _ = try await browser.post("\(path)/segments/dairy", [("where", "imported")])
        let late = try await browser.post("\(path)/segments/dairy", [("where", "everyone"), ("seen", String(seen))])
        #expect(late.status == .unprocessableContent && late.contains("Stored now: Expression: “imported”"))
    }

    @Test func `a segment's page has its daily sizes`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        #expect(try await browser.get("\(path)/segments/dairy").contains("not yet so far"))
        for day in 0..<3 as Range<Int64> {
            try await dashboard.store.note(
                SegmentPoint(
                    day: .zero + .seconds(day * 86_400),
                    size: AudienceSize(devices: 4_000 + Int(day), margin: day == 2 ? 30 : nil)),
                of: contents.segment.key)
        }
        let page = try await browser.get("\(path)/segments/dairy")
        #expect(page.contains("1970-01-03: devices 4,002") && page.contains("1970-01-01: devices 4,000"))
        let list = try await browser.get("\(path)/segments")
        #expect(list.contains("about 4,002") && list.contains("1970-01-03"))
    }

    @Test func `a push to a chosen segment is reviewed and sent`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let form = try await browser.get("\(path)/compose?segment=dairy")
        #expect(form.contains("<option value=\"segment\" selected>"))
        let fields = [("body", "Hi"), ("audience", "segment"), ("segment", "dairy"), ("reviewed", "1")]
        #expect(try await browser.post("\(path)/compose", fields).contains("segment:dairy"))
        let sent = try await browser.post("\(path)/compose", fields + [("action", "send")])
        #expect(sent.location.contains("/pushes/"))
        let push = try #require(try await dashboard.store.allPushes().last)
        #expect(
            Target(push.audience, on: nil, naming: dashboard.store.secrets.naming)?.expression
                == .term(.segment("dairy")))
        _ = contents
    }

    @Test func `a reader sees segments and no forms`() async throws {
        let (dashboard, _, contents, path) = try await begin()
        let reader = try await dashboard.browser(
            "reader@a.example", .readOnly, .application(contents.application.key, of: contents.application.tenantKey))
        for page in ["\(path)/segments", "\(path)/segments/dairy"] {
            let text = try await reader.get(page)
            #expect(text.status == .ok && text.contains("topic:dairy"))
            #expect(!text.contains("New segment") && !text.contains(">Edit<") && !text.contains("Delete the segment"))
        }
        #expect(try await reader.post("\(path)/segments/dairy", [("where", "imported")]).status == .forbidden)
    }
}
