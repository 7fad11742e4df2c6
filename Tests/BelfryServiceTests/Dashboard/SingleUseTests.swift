import BelfryTesting
import FoundationEssentials
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import BelfryService

@Suite struct SingleUseTests {
    private static func key(in page: TestPage) throws -> String {
        String(try #require(page.text.firstMatch(of: /name="key" value="([0-9a-f-]{36})"/)).1)
    }

    private static func browser(_ dashboard: TestDashboard) async throws -> TestBrowser {
        try await dashboard.browser("ann@a.example")
    }

    /// The number of tenants that a form made.
    private static func tenants(_ dashboard: TestDashboard) async throws -> Int {
        try await dashboard.store.tenants(after: nil, limit: 100).count { ["Bakery", "Mill"].contains($0.name) }
    }

    @Test func `a form posted twice is done once`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await Self.browser(dashboard)
        let fields = [("name", "Bakery"), ("key", try Self.key(in: await browser.get("/admin/tenants")))]
        let first = try await browser.post("/admin/tenants", fields)
        let second = try await browser.post("/admin/tenants", fields)
        #expect(first.status == .seeOther && second.status == .seeOther)
        #expect(try await Self.tenants(dashboard) == 1)
        let result = try await browser.get(
            String(try #require(second.headers[.location]).dropFirst("/dashboard".count)))
        #expect(result.status == .ok && result.text.contains("You sent this form twice"))
    }

    @Test func `a second click meanwhile leads to the first one's result`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await Self.browser(dashboard)
        let fields = [("name", "Bakery"), ("key", try Self.key(in: await browser.get("/admin/tenants")))]
        async let first = browser.post("/admin/tenants", fields)
        async let second = browser.post("/admin/tenants", fields)
        let answers = try await [first, second]
        #expect(answers.allSatisfy { $0.status == .seeOther })
        #expect(try await Self.tenants(dashboard) == 1)
    }

    @Test func `a secret is shown once, and its form makes one`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await Self.browser(dashboard)
        let fields = [
            ("name", "erp"), ("role", "operator"), ("scope", "operator"),
            ("key", try Self.key(in: await browser.get("/admin/keys"))),
        ]
        let posted = try await browser.post("/admin/keys", fields)
        let path = String(try #require(posted.headers[.location]).dropFirst("/dashboard".count))
        let again = try await browser.post("/admin/keys", fields)
        #expect(again.headers[.location]?.contains(path) == true)
        let told = try await browser.get(String(again.location.dropFirst("/dashboard".count)))
        #expect(told.text.contains("You sent this form twice") && told.text.contains("href=\"/dashboard\(path)\""))
        #expect(!told.text.contains("bfy_"))
        // Whatever tries the link shows nothing, and uses nothing up.
        let tried = try await browser.head(path)
        #expect(tried.status == .ok && tried.text.isEmpty)
        let shown = try await browser.get(path)
        #expect(shown.status == .ok && shown.text.contains("Shown only once"))
        let reloaded = try await browser.get(path)
        #expect(reloaded.status == .ok && reloaded.text.contains("A secret is shown once"))
        #expect(!reloaded.text.contains("bfy_"))
        #expect(try await dashboard.store.adminKeys(within: .everything, after: nil, limit: 10).count == 1)
    }

    @Test func `another person cannot open a result`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await Self.browser(dashboard)
        let fields = [
            ("name", "erp"), ("role", "operator"), ("scope", "operator"),
            ("key", try Self.key(in: await browser.get("/admin/keys"))),
        ]
        let posted = try await browser.post("/admin/keys", fields)
        let path = String(try #require(posted.headers[.location]).dropFirst("/dashboard".count))
        let other = try await dashboard.browser("bob@b.example")
        #expect(try await other.get(path).status == .notFound)
        #expect(try await browser.get(path).text.contains("Shown only once"))
    }

    @Test func `a fault in a field uses no key up`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await Self.browser(dashboard)
        let key = try Self.key(in: await browser.get("/admin/tenants"))
        #expect(try await browser.post("/admin/tenants", [("name", ""), ("key", key)]).status == .unprocessableContent)
        #expect(try await browser.post("/admin/tenants", [("name", "Bakery"), ("key", key)]).status == .seeOther)
        #expect(try await Self.tenants(dashboard) == 1)
    }

    @Test func `results of a person take a bounded room`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await Self.browser(dashboard)
        var paths: [String] = []
        for number in 0...SingleUse.resultsMax {
            let fields = [
                ("name", "key \(number)"), ("role", "operator"), ("scope", "operator"), ("key", SingleUse.newKey()),
            ]
            let posted = try await browser.post("/admin/keys", fields)
            paths.append(String(posted.location.dropFirst("/dashboard".count)))
            dashboard.clock.advance(by: .seconds(1))
        }
        #expect(try await browser.get(paths[0]).status == .notFound)
        #expect(try await browser.get(paths[1]).contains("Shown only once"))
        let kept = try await dashboard.store.number("SELECT coalesce(sum(length(content)), 0) FROM idempotency")
        #expect(kept < 2 * SingleUse.resultsMax * SingleUse.resultBytesMax)
    }

    @Test func `a long result shows at once and leads back afterwards`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let browser = try await Self.browser(dashboard)
        let app = "/apps/\(contents.application.uuid.lowercased)"
        let fields = [
            ("body", String(repeating: "x", count: 3_500)), ("audience", "everyone"), ("action", "test"),
            ("my_device", contents.device.uuid.lowercased), ("form_page", "/dashboard\(app)/compose?draft=7"),
            ("draft", "7"), ("key", SingleUse.newKey()),
        ]
        let shown = try await browser.post("\(app)/compose", fields)
        #expect(shown.status == .ok && shown.contains("Your device"), "\(shown.text)")
        let again = try await browser.post("\(app)/compose", fields)
        #expect(again.status == .seeOther && again.location == "/dashboard\(app)/compose?draft=7&again=1")
    }

    @Test func `other values after Back are asked about`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await Self.browser(dashboard)
        let ann = try await dashboard.person(of: browser)
        let key = ("key", try Self.key(in: await browser.get("/admin/tenants")))
        let fields = try dashboard.formFields("/dashboard/admin/tenants", of: ann) + [key]
        _ = try await browser.post("/admin/tenants", fields + [("name", "Bakery")])
        let other = try await browser.post("/admin/tenants", fields + [("name", "Mill")])
        #expect(other.status == .unprocessableContent && other.text.contains("it is done a second time"))
        #expect(other.text.contains("value=\"Mill\""))
        #expect(try await Self.tenants(dashboard) == 1)
        _ = try await browser.post("/admin/tenants", [("name", "Mill"), ("key", try Self.key(in: other))])
        #expect(try await Self.tenants(dashboard) == 2)
        let lost = try await browser.post("/admin/tenants", Array(fields.dropFirst()) + [("name", "Mill")])
        #expect(lost.status == .unprocessableContent && !lost.text.contains("name=\"name\" value=\"Mill\""))
    }

    @Test func `secrets never return to a page and are asked again`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "Bakery")
        let browser = try await Self.browser(dashboard)
        let path = "/apps/\(contents.application.uuid.lowercased)/platforms/new"
        let page = try await browser.get("\(path)?type=ios")
        let own = try dashboard.formFields("/dashboard\(path)?type=ios", of: try await dashboard.person(of: browser))
        let key = ("key", try Self.key(in: page))
        let fields = own + [("type", "ios"), key, ("mode", "production"), ("topic", "org.example.app")]
        let first = try await browser.post(path, fields + [("name", "Mine"), ("passphrase", "first-secret")])
        #expect(first.status == .seeOther)
        let other = try await browser.post(path, fields + [("name", "Other"), ("passphrase", "second-secret")])
        #expect(other.status == .unprocessableContent && other.text.contains("it is done a second time"))
        #expect(!other.text.contains("second-secret"))
        #expect(other.text.contains("name=\"passphrase\"") && other.text.contains("value=\"Other\""))
        // Nor where its page is not known.
        let bare = try await browser.post(path, [("type", "ios"), key, ("passphrase", "third-secret")])
        #expect(bare.status == .unprocessableContent && !bare.text.contains("third-secret"))
    }

    @Test(arguments: [
        ("android", "gcm_api_key"), ("windows8", "client_secret"), ("web", "vapid_key"), ("webhook", "secret"),
        ("bb10", "password"), ("huawei", "app_secret"), ("amazon", "client_secret"),
    ])
    func `a form with a fault repeats no secret`(type: String, secret: String) async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "Bakery")
        let path = "/apps/\(contents.application.uuid.lowercased)/platforms/new"
        let shown = try await Self.browser(dashboard).post(
            path, [("type", type), ("name", "Mine"), (secret, "first-secret")])
        #expect(shown.status == .unprocessableContent && shown.text.contains("name=\"\(secret)\""))
        #expect(!shown.text.contains("first-secret"))
    }
}
