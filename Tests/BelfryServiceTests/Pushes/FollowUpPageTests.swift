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
