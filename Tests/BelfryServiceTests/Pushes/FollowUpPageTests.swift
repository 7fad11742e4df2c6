import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// The pages on which a push is updated and retracted.
@Suite struct FollowUpPageTests {
    @Test func `a push is updated and retracted on its page`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let pushes = "/apps/\(contents.application.uuid.lowercased)/pushes"
        let path = "\(pushes)/\(contents.push.receiptID.lowercased)"
        try await dashboard.store.resume(contents.platform.key)
        try await dashboard.store.deliver { _, _ in .accepted }
        let page = try await browser.get(path)
        #expect(page.contains("\(path)/update") && page.contains("\(path)/retract"))
        #expect(try await browser.get("\(path)/update").contains("Send the update"))
        let empty = try await browser.post("\(path)/update", [("title", ""), ("body", "")])
        #expect(empty.status == .unprocessableContent && empty.contains("is missing"))
        let sent = try await browser.post("\(path)/update", [("title", "News"), ("body", "Changed")])
        #expect(sent.location.hasSuffix("?done=sent"), "\(sent.text)")
        let update = try #require(try await dashboard.store.allPushes().first { $0.content.body == "Changed" })
        #expect(update.content.shared.title == "News")
        #expect(try await browser.get(path).contains("Updated by"))
        #expect(try await browser.get("\(pushes)/\(update.receiptID.lowercased)").contains("Updates"))
        #expect(try await browser.get("\(path)/retract").contains("Retract it"))
        #expect(try await browser.post("\(path)/retract").location.hasSuffix("?done=retracted"))
        #expect(try await browser.get("\(path)?done=retracted").contains("Retracted by"))
        #expect(try await dashboard.store.auditLog().last?.change.action == "push.retract")
        let retraction = try #require(
            try await dashboard.store.allPushes().first { $0.content.follows?.isRetraction == true })
        let own = try await browser.get("\(pushes)/\(retraction.receiptID.lowercased)")
        #expect(own.contains("[retraction]") && own.contains("Retracts") && !own.contains("/retract\""))
    }

    @Test func `an update keeps the text that stays, with its translations`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        func translations(_ texts: JSONObject) throws -> Translations {
            try Translations(.object(["de": .object(texts)]), field: "")
        }
        var content = Push.Content(body: "One\nTwo")
        content.shared = SharedFields([.title: "Old"])
        content.translations = try translations(["title": .string("Alt"), "body": .string("Eins")])
        let push = try await PushService(store: dashboard.store).send(
            PushRequest(content: content, target: .everyone), for: contents.application.key)
        try await dashboard.store.resume(contents.platform.key)
        try await dashboard.store.deliver { _, _ in .accepted }
        let path = "/apps/\(contents.application.uuid.lowercased)/pushes/\(push.receiptID.lowercased)/update"
        let untitled = try await browser.post(path, [("title", ""), ("body", "One\r\nTwo")])
        #expect(untitled.status == .unprocessableContent && untitled.contains("an update removes no title"))
        let sent = try await browser.post(path, [("title", "New"), ("body", "One\r\nTwo")])
        #expect(sent.location.hasSuffix("?done=sent"), "\(sent.text)")
        let update = try #require(try await dashboard.store.allPushes().first { $0.content.shared.title == "New" })
        #expect(try update.content.translations == translations(["body": .string("Eins")]))
        #expect(update.content.body == "One\nTwo")
    }

    @Test func `a refused retraction says why on its page`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/pushes/\(contents.push.receiptID.lowercased)"
        try await dashboard.store.resume(contents.platform.key)
        try await dashboard.store.deliver { _, _ in .refused(.badToken) }
        let page = try await browser.post("\(path)/retract")
        #expect(page.status == .unprocessableContent && page.contains("The push went to no device"))
    }
}
