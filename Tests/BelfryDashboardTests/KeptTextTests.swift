import BelfryCore
import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryDashboard

/// What people typed, when the session ends or they leave the page; and what is asked before something is gone.
@Suite struct KeptTextTests {
    private static func value(_ name: String, in page: TestPage) throws -> String {
        let pattern = try Regex("name=\"\(name)\" value=\"([^\"]*)\"", as: (Substring, Substring).self)
        return String(try #require(page.text.firstMatch(of: pattern), "\(name)").1)
    }

    private static func post(
        _ dashboard: TestDashboard, _ path: String, _ fields: [(String, String)], cookies: String = ""
    ) async throws -> TestPage {
        let body = FormData.urlEncoded(fields)
        let headers: HTTPFields = [
            .cookie: cookies, .contentType: "application/x-www-form-urlencoded", .contentLength: "\(body.utf8.count)",
        ]
        return try await dashboard.send(.post, "/dashboard" + path, headers, body)
    }

    @Test func `a session that ends in the middle of a form leads back to it, filled`() async throws {
        let dashboard = try TestDashboard()
        _ = try await dashboard.person("ann@a.example")
        let fields = [
            ("csrf", "0"), ("form_page", "/dashboard/admin/tenants?after=0"), ("name", "Dairy \"&amp; sons\""),
            ("password", "secret words"),
        ]
        let login = try await Self.post(dashboard, "/admin/tenants", fields)
        #expect(login.status == .unauthorized && login.contains("the form comes back"))
        #expect(!login.contains("Dairy") && !login.contains("secret words"), "it travels sealed")
        let visit = try #require(login.headers[.setCookie]?.split(separator: ";").first.map(String.init))
        var held = try Self.value("held", in: login)
        for password in ["wrong", TestDashboard.password] {
            let answer = try await Self.post(
                dashboard, "/login",
                [
                    ("csrf", try Self.value("csrf", in: login)), ("email", "ann@a.example"), ("password", password),
                    ("held", held),
                ], cookies: visit)
            guard password == TestDashboard.password else {
                held = try Self.value("held", in: answer)
                continue
            }
            #expect(answer.status == .ok && answer.contains("so nothing was done"))
            #expect(try Self.value("name", in: answer) == "Dairy &quot;&amp;amp; sons&quot;")
            #expect(!answer.contains("secret words"))
            #expect(answer.headers[values: .setCookie].contains { $0.hasPrefix("belfry_session=") })
        }
        #expect(!(try await dashboard.store.tenants(after: nil, limit: 9)).contains { $0.name.hasPrefix("Dairy") })
    }

    @Test func `a form of an earlier login is shown again, and not done`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("ann@a.example")
        let fields = [("form_page", "/dashboard/admin/tenants"), ("name", "Dairy")]
        let page = try await browser.post("/admin/tenants", fields, token: FormToken.of("another session"))
        #expect(page.status == .forbidden && page.contains("of an earlier login"))
        #expect(try Self.value("name", in: page) == "Dairy")
        #expect(!(try await dashboard.store.tenants(after: nil, limit: 9)).contains { $0.name == "Dairy" })
    }

    @Test func `a held form is of its visit, and of no other site`() async throws {
        let dashboard = try TestDashboard()
        _ = try await dashboard.person("ann@a.example")
        let fields = [("form_page", "/dashboard/admin/tenants"), ("name", "Dairy")]
        let held = try Self.value("held", in: try await Self.post(dashboard, "/admin/tenants", fields))
        let other = try await dashboard.send(.get, "/dashboard/login", [:])
        let visit = try #require(other.headers[.setCookie]?.split(separator: ";").first.map(String.init))
        let answer = try await Self.post(
            dashboard, "/login",
            [
                ("csrf", try Self.value("csrf", in: other)), ("email", "ann@a.example"),
                ("password", TestDashboard.password), ("held", held),
            ], cookies: visit)
        #expect(answer.status == .seeOther)
        let body = FormData.urlEncoded(fields)
        let foreign = try await dashboard.send(
            .post, "/dashboard/admin/tenants", [.origin: "https://evil.example", .contentLength: "\(body.utf8.count)"],
            body)
        #expect(foreign.status == .seeOther && !foreign.contains("held"))
        let long = try await Self.post(
            dashboard, "/admin/tenants", fields + [("description", String(repeating: "x", count: 50_000))])
        #expect(long.status == .seeOther)
    }

    @Test func `a push that is written is kept for its person, and goes when it is sent`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let ann = try await dashboard.browser("ann@a.example")
        let bob = try await dashboard.browser("bob@a.example")
        let compose = "/apps/\(contents.application.uuid.lowercased)/compose"
        #expect(try await ann.post("\(compose)/draft", [("body", ""), ("audience", "everyone")]).status == .noContent)
        #expect(!(try await ann.get(compose)).contains("not sent it"))
        #expect(try await ann.post("\(compose)/draft", [("body", "Cheese"), ("names", "a\nb")]).status == .noContent)
        let draft = try await ann.get(compose)
        #expect(
            draft.contains(">\nCheese</textarea>") && draft.contains(">\na\nb</textarea>")
                && draft.contains("not sent it"))
        #expect(!(try await bob.get(compose)).contains("Cheese"))

        let fields = [("body", "Butter"), ("audience", "everyone"), ("on-ios", "yes")]
        let review = try await ann.post(compose, fields)
        #expect(review.contains("name=\"draft\" value=\"kept\""))
        #expect(try await ann.get(compose).contains(">\nButter</textarea>"), "Back from the review")
        let send = fields + [("action", "send"), ("reviewed", "1"), ("draft", "kept")]
        #expect(try await ann.post(compose, send).location.contains("done=sent"))
        #expect(!(try await ann.get(compose)).contains("Butter"))
        let again = try await ann.post(compose, send)
        #expect(again.status == .unprocessableContent && again.contains("in another tab"))
        #expect(try await ann.post(compose, send.filter { $0.0 != "draft" }).location.contains("done=sent"))

        _ = try await ann.post("\(compose)/draft", [("body", "Cream")])
        #expect(try await ann.post("\(compose)/discard").status == .seeOther)
        #expect(!(try await ann.get(compose)).contains("Cream"))
    }

    @Test func `a topic, a key and a device go after a question with numbers`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let browser = try await dashboard.browser("root@a.example")
        let app = "/apps/\(contents.application.uuid.lowercased)"
        let key = try await dashboard.admin.createKey(
            name: try Name("erp"), scope: .readOnly, bounds: .tenant(Tenant.first), by: TestDashboard.author)
        let device = "\(app)/devices/\(contents.device.uuid.lowercased)"
        let before = dashboard.store.contents.audit.count
        for (path, words) in [
            ("\(app)/topics/dairy/delete", "Schedules that name it"), ("/admin/keys/\(key.key.id)/revoke", "Last used"),
            ("\(device)/deactivate", "registers again"),
        ] {
            let question = try await browser.post(path)
            #expect(
                question.status == .ok && question.contains(words) && question.contains("Leave it as it is"), "\(path)")
        }
        #expect(dashboard.store.contents.audit.count == before)
        for path in ["\(device)/deactivate", "/admin/keys/\(key.key.id)/revoke", "\(app)/topics/dairy/delete"] {
            #expect(try await browser.post(path, [("confirmed", "yes")]).status == .seeOther, "\(path)")
        }
        #expect(dashboard.store.contents.audit.count == before + 3)
    }

    @Test func `keys and invitations begin with the least role`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        for page in ["/admin/keys", "/admin/people"] {
            #expect(try await browser.get(page).contains("<option value=\"read-only\" selected>"), "\(page)")
        }
    }

    @Test func `of two tabs one replaces the API key`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let browser = try await dashboard.browser("root@a.example")
        let settings = "/apps/\(contents.application.uuid.lowercased)/settings"
        let page = try await browser.get(settings)
        let text = try #require(page.text.firstRange(of: "settings/api-key")).upperBound
        let rest = TestPage(status: .ok, headers: [:], text: String(page.text[text...]))
        let fields = [("grace", "86400"), ("seen", try Self.value("seen", in: rest))]
        #expect(try await browser.post("\(settings)/api-key", fields).status != .unprocessableContent)
        let second = try await browser.post("\(settings)/api-key", fields)
        #expect(second.status == .unprocessableContent && second.contains("Nothing was done"))
    }
}
