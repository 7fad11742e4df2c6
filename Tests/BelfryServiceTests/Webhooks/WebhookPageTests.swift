import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// The pages of webhooks.
@Suite struct WebhookPageTests {
    @Test func `a webhook is made, tested, changed and deleted`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/webhooks"
        let store = dashboard.store
        let fields = [("name", "crm"), ("url", "https://crm.example/"), ("user.changed", "yes")]
        let wrong = try await browser.post(path, Array(fields.prefix(2)))
        #expect(wrong.status == .unprocessableContent && wrong.contains("is empty"))
        #expect(wrong.contains("value=\"https://crm.example/\""))
        let made = try await browser.post(path, fields)
        #expect(made.contains("Shown only once") && made.contains("whsec_"))
        let webhook = try #require(
            try await store.webhooks(of: contents.application.key).first { $0.name == "crm" })
        #expect(webhook.kinds == [.userChanged])
        let own = "\(path)/\(webhook.uuid.lowercased)"
        #expect(try await browser.get(path).contains("https://crm.example/"))
        let tested = try await browser.post("\(own)/test")
        #expect(tested.contains("The receiver did not take the test: this process sends no messages."))
        #expect(try await browser.get(own).contains("webhook.test"))
        #expect(try await browser.post("\(own)/pause").location.hasSuffix("?done=paused"))
        #expect(try await browser.get("\(own)?done=paused").contains("events wait until you resume"))
        #expect(try await browser.post("\(own)/resume").location.hasSuffix("?done=resumed"))
        let edited = [("name", "crm"), ("url", "https://b.example/"), ("user.deleted", "yes")]
        #expect(try await browser.post(own, edited).location.hasSuffix("?done=saved"))
        let changed = try #require(try await store.webhook(webhook.uuid, of: contents.application.key))
        #expect(changed.url == "https://b.example/" && changed.kinds == [.userDeleted])
        #expect(try await browser.post("\(own)/rotate").contains("Make a new secret for"))
        #expect(try await browser.post("\(own)/rotate", [("confirmed", "yes")]).contains("whsec_"))
        #expect(try await browser.post("\(own)/delete").contains("Delete the webhook"))
        let gone = try await browser.post("\(own)/delete", [("confirmed", "yes")])
        #expect(gone.location.hasSuffix("/webhooks?done=deleted"))
        #expect(try await browser.get(own).status == .notFound)
    }

    @Test func `deliveries show the event and send it again`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let own = "/apps/\(contents.application.uuid.lowercased)/webhooks/\(contents.webhook.webhook.uuid.lowercased)"
        let event = contents.webhook.event
        let page = try await browser.get(own)
        #expect(page.contains("/events/\(event.id)") && page.contains(">500<"))
        let shown = try await browser.get("\(own)/events/\(event.id)")
        #expect(shown.contains("&quot;subject&quot;: &quot;dairy&quot;") && shown.contains("Send it again"))
        let again = try await browser.post("\(own)/replay", [("event", event.id)])
        #expect(again.location.hasSuffix("?done=replayed"))
        #expect(try await browser.get("\(own)?done=replayed").contains("The events are sent again."))
        #expect(try await browser.post("\(own)/replay", []).status == .unprocessableContent)
        let since = try await browser.post("\(own)/replay", [("since", "2001-01-01T00:00")])
        #expect(since.location.hasSuffix("?done=replayed"))
        let later = try await browser.post("\(own)/replay", [("since", "2199-01-01T00:00")])
        #expect(later.status == .unprocessableContent && later.contains("has no event after it"))
        #expect(try await browser.get("\(own)/events/evt_0").status == .notFound)
    }

    @Test func `the feed is switched on by its form`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let app = "/apps/\(contents.application.uuid.lowercased)"
        let set = try await browser.post("\(app)/feed", [("push.settled", "yes"), ("device.gone", "yes")])
        #expect(set.location.hasSuffix("/webhooks?done=feed"))
        #expect(try await browser.get("\(app)/webhooks").contains("push.settled, device.gone"))
        let feed = try await dashboard.store.webhookFeed(of: contents.application.key)
        #expect(feed.kinds == [.pushSettled, .deviceGone])
    }

    @Test(arguments: [Webhook.Pause.failing, .gone])
    func `the overview names a webhook that stopped`(pause: Webhook.Pause) async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        #expect(!(try await browser.get("")).contains("Nothing is posted to a webhook"))
        _ = try await dashboard.store.set(pause, on: contents.webhook.webhook.key)
        for path in ["", "/apps/\(contents.application.uuid.lowercased)"] {
            let page = try await browser.get(path)
            #expect(page.contains("Nothing is posted to a webhook"), "\(path)")
            #expect(page.contains("webhooks/\(contents.webhook.webhook.uuid.lowercased)/resume"), "\(path)")
        }
    }
}
