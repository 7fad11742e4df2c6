import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

@Suite struct ChannelPageTests {
    @Test func `a broadcast channel is made and deleted on its page`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let application = try await TestContents(dashboard, text: "dairy").application
        let platform = try await dashboard.admin.createPlatform(
            of: application, kind: .apple(.broadcast), mode: .production, name: Name("Live"),
            credentials: ["topic": .string("org.example.app")], by: TestDashboard.author
        ).platform
        let page = "/apps/\(application.uuid.lowercased)/platforms/\(platform.uuid.lowercased)"
        #expect(try await browser.get(page).contains("/channels\""))
        let path = "\(page)/channels"
        #expect(try await browser.get(path).contains("There is no channel."))
        #expect(try await browser.post(path, [("storage", "all")]).status == .unprocessableContent)
        #expect(try await browser.post(path, [("storage", "nothing")]).location.hasSuffix("channels?done=created"))
        let shown = try await browser.get(path)
        let channel = try #require(shown.text.firstMatch(of: /name="channel" value="([^"]+)"/)?.1)
        #expect(try await dashboard.store.deviceCount(on: platform.key) == 1)
        let fields = [("channel", String(channel))]
        #expect(try await browser.post("\(path)/delete", fields).contains("Delete the channel"))
        let sure = fields + [("confirmed", "yes")]
        #expect(try await browser.post("\(path)/delete", sure).location.hasSuffix("channels?done=deleted"))
        let again = try await browser.post("\(path)/delete", sure)
        #expect(again.status == .unprocessableContent && again.contains("the provider has no such channel"))
        let actions = try await dashboard.store.auditLog().map(\.change.action)
        #expect(actions.suffix(2) == ["channel.create", "channel.delete"])
    }
}
