import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

@Suite struct PlatformPageTests {
    @Test(arguments: [
        (CredentialsTest.works, "The credentials are replaced. The provider accepts the credentials."),
        (.refused("BadKey"), "The provider refuses the credentials: BadKey. They are stored all the same."),
        (.unknown("no route"), "No verdict: no route. They are stored all the same."),
    ])
    func `credentials are tested as they are saved`(verdict: CredentialsTest, words: String) async throws {
        let dashboard = try TestDashboard(verdict: verdict)
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "Dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/platforms"
        let fields = [("type", "ios"), ("name", "Phones"), ("mode", "production"), ("topic", "org.example.app")]
        let made = try await browser.post("\(path)/new", fields)
        #expect(made.contains("The platform is added.") && made.contains("Platform secret"))
        let said = words.replacing("The credentials are replaced. ", with: "")
        #expect(made.contains(said), "\(made.text)")
        let platform = try #require(
            try await dashboard.store.platforms(of: contents.application.key).first { $0.name == "Phones" })
        let replaced = try await browser.post(
            "\(path)/\(platform.uuid.lowercased)/credentials", [("topic", "org.example.other")])
        #expect(replaced.contains("The credentials are replaced.") && replaced.contains(words))
        let stored = try #require(try await dashboard.store.platform(platform.key)).credentials
        #expect(stored.bytes != platform.credentials.bytes, "whatever the provider says")
        let actions = try await dashboard.store.auditLog().map(\.change.action)
        #expect(actions.count { $0 == "platform.test_credentials" } == 2)
    }

    @Test func `faults of credentials stand at their fields by label`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let path = "/apps/\(try await TestContents(dashboard, text: "Dairy").application.uuid.lowercased)/platforms/new"
        let refused = try await browser.post(path, [("type", "ios"), ("name", "Phones"), ("mode", "production")])
        #expect(refused.status == .unprocessableContent && !refused.contains("credentials.topic"))
        #expect(refused.contains("<p class=\"fault\">is missing</p>"))
        let kind = PlatformKind.ios
        var form = Form("/a", "Add", CredentialFields.fields(of: kind) + CredentialFields.rareFields(of: kind))
        form.show(
            "needs key_id and team_id", at: "credentials.apns_key", names: CredentialFields.names(of: kind))
        var page = HTMLWriter(Shell())
        page.write([form])
        #expect(form.problem.isEmpty && page.text.contains("<p class=\"fault\">needs “"))
        #expect(!page.text.contains("needs key_id") && !page.text.contains("and team_id"))
    }

    @Test func `providers of most new apps are offered first`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let application = try await TestContents(dashboard, text: "Dairy").application
        let page = try await browser.get("/apps/\(application.uuid.lowercased)/platforms/new")
        let parts = page.text.split(separator: "<details class=\"group\"")
        let (first, later) = (parts[0], parts.dropFirst().joined())
        for kind in PlatformKind.allCases {
            let isFirst = PlatformKind.offeredFirst.contains(kind)
            #expect((isFirst ? first : later[...]).contains("type=\(kind.rawValue)\""), "\(kind)")
        }
    }
}
