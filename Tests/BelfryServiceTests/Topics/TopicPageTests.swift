import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

@Suite struct TopicPageTests {
    @Test func `the expiry of a topic is changed on its page`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/topics/dairy"
        #expect(try await browser.get(path).contains("compose?topic=dairy"))
        #expect(try await browser.post(path, [("expires_at", "2199-01-31T08:30")]).location.hasSuffix("?done=saved"))
        let topic = try await dashboard.store.topic(named: "dairy", of: contents.application.key)
        #expect(topic?.expiresAt?.text.hasPrefix("2199-01-31T08:30") == true)
        #expect(try await browser.get(path).contains("value=\"2199-01-31T08:30\""))
        for wrong in ["soon", "1999-01-31T08:30"] {
            #expect(try await browser.post(path, [("expires_at", wrong)]).status == .unprocessableContent)
        }
        _ = try await browser.post(path, [("expires_at", "")])
        #expect(try await dashboard.store.topic(named: "dairy", of: contents.application.key)?.expiresAt == nil)
        #expect(try await dashboard.store.auditLog().last?.change.action == "topic.update")
    }

    @Test(arguments: [".", "..", "a"]) func `the page of a topic has an address`(name: String) async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/topics"
        _ = try await browser.post(path, [("names", name)])
        let address = Address.of(contents.application, "topics", name)
        #expect(try await browser.get(path).contains("href=\"\(address)\""))
        #expect(!["/topics/.", "/topics/.."].contains { address.hasSuffix($0) })
        let page = try await browser.get(String(address.dropFirst("/dashboard".count)))
        #expect(page.status == .ok && page.contains("compose?topic=\(name)\""))
    }

    @Test func `the next page follows the last topic shown`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/topics"
        _ = try await browser.post(path, [("names", (10...60).map { "t\($0)" }.joined(separator: ","))])
        let first = try await browser.get(path)
        #expect(first.contains(">t58<") && !first.contains(">t59<"))
        _ = try await browser.post("\(path)/t10/delete", [("confirmed", "yes")])
        let second = try await browser.get("\(path)?after=t58")
        #expect(first.contains("after=t58\"") && second.contains(">t59<") && !second.contains(">t58<"))
    }

    @Test func `a wrong name says its line and creates no topic`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/topics"
        let long = String(repeating: "x", count: Registration.topicBytesMax + 1)
        let wrong = try await browser.post(path, [("names", "eggs, milk\r\n\r\n\(long)\r\nbread")])
        #expect(wrong.status == .unprocessableContent && wrong.contains("line 3: is "))
        let (store, app) = (dashboard.store, contents.application.key)
        #expect(try await store.topic(named: "eggs", of: app) == nil)
        #expect(try await browser.post(path, [("names", "eggs, milk\r\nbread")]).status == .seeOther)
        for name in ["eggs", "milk", "bread"] { #expect(try await store.topic(named: name, of: app) != nil) }
        let line = try #require(try await store.auditLog().last?.change)
        #expect(line.action == "topic.create" && line.details["topics"] == "3")
    }
}
