import BelfryCore
import BelfryTesting
import HTTPTypes
import Testing

@testable import BelfryDashboard

@Suite struct LoginTests {
    /// The token of the form and the cookie that it is bound to.
    private static func visit(
        _ dashboard: TestDashboard, _ path: String = "/dashboard/login"
    ) async throws -> (token: String, cookie: String) {
        let page = try await dashboard.send(.get, path, [:])
        let cookie = try #require(page.headers[.setCookie]?.split(separator: ";").first.map(String.init))
        let token = try #require(page.text.firstMatch(of: /name="csrf" value="([0-9a-f]{64})"/)?.1)
        return (String(token), cookie)
    }

    private static func login(
        _ dashboard: TestDashboard, _ email: String, _ password: String, next: String = "", cookies: String = ""
    ) async throws -> TestPage {
        let (token, cookie) = try await visit(dashboard)
        let fields = [("csrf", token), ("email", email), ("password", password), ("next", next)]
        let body = fields.map { "\($0.0)=\(Address.encoded($0.1))" }.joined(separator: "&")
        return try await dashboard.send(.post, "/dashboard/login", [.cookie: "\(cookie); \(cookies)"], body)
    }

    private static func session(_ page: TestPage) throws -> String {
        let set = try #require(page.headers[values: .setCookie].first { $0.hasPrefix("belfry_session=") })
        return String(set.dropFirst("belfry_session=".count).prefix { $0 != ";" })
    }

    @Test func `the right password opens a session, and logging out ends it`() async throws {
        let dashboard = try TestDashboard()
        _ = try await dashboard.person("ann@a.example")
        let page = try await Self.login(dashboard, "Ann@A.example", TestDashboard.password)
        #expect(page.status == .seeOther && page.location == "/dashboard")
        let cookie = page.headers[values: .setCookie].first { $0.hasPrefix("belfry_session=") } ?? ""
        #expect(cookie.contains("; HttpOnly; SameSite=Lax") && !cookie.contains("Secure"))
        let browser = TestBrowser(dashboard: dashboard, session: try Self.session(page))
        #expect(try await browser.get("").status == .ok)
        #expect(try await browser.post("/logout").status == .seeOther)
        #expect(try await browser.get("").location == "/dashboard/login")
        let actions = dashboard.store.contents.audit.map(\.change.action)
        #expect(actions.suffix(2) == ["person.login", "person.end_session"])
        #expect(dashboard.store.contents.audit.last?.change.keyID == "ann@a.example")
    }

    @Test func `under TLS the cookie is for TLS alone`() async throws {
        let dashboard = try TestDashboard(isSecure: true)
        _ = try await dashboard.person("ann@a.example")
        let page = try await Self.login(dashboard, "ann@a.example", TestDashboard.password)
        #expect(page.headers[values: .setCookie].allSatisfy { $0.hasSuffix("; Secure") })
    }

    @Test(arguments: [
        ("ann@a.example", "wrong password"), ("bob@a.example", TestDashboard.password), ("", ""),
        ("ann@a.example", String(repeating: "x", count: 8_000)), ("gone@a.example", TestDashboard.password),
    ])
    func `a login that fails says nothing of why`(email: String, password: String) async throws {
        let dashboard = try TestDashboard()
        _ = try await dashboard.person("ann@a.example")
        let gone = try await dashboard.person("gone@a.example")
        try await dashboard.people.setDisabled(true, gone, by: TestDashboard.author)
        let page = try await Self.login(dashboard, email, password)
        #expect(page.status == .unauthorized)
        #expect(page.contains("The e-mail address or the password is wrong."))
        #expect(page.headers[values: .setCookie].isEmpty)
    }

    @Test func `a session that the browser had before the login is worth nothing after it`() async throws {
        let dashboard = try TestDashboard()
        _ = try await dashboard.person("ann@a.example")
        let planted = String(repeating: "a", count: 64)
        let page = try await Self.login(
            dashboard, "ann@a.example", TestDashboard.password, cookies: "belfry_session=\(planted)")
        #expect(try Self.session(page) != planted)
        #expect(try await TestBrowser(dashboard: dashboard, session: planted).get("").status == .seeOther)
    }

    @Test(arguments: [
        ("/dashboard/apps?q=a", "/dashboard/apps?q=a"), ("https://evil.example/", "/dashboard"),
        ("//evil.example", "/dashboard"), ("/dashboard//evil.example", "/dashboard"), ("/\\evil", "/dashboard"),
        ("/dashboard\\@evil.example", "/dashboard"), ("/dashboardevil", "/dashboard"),
        ("/dashboard/\r\nSet-Cookie: a=b", "/dashboard"), ("javascript:alert(1)", "/dashboard"),
        ("/dashboard/login?next=/dashboard/login", "/dashboard"),
    ])
    func `after the login a browser goes to a page of the dashboard and nowhere else`(
        asked: String, gone: String
    ) async throws {
        let dashboard = try TestDashboard()
        _ = try await dashboard.person("ann@a.example")
        let page = try await Self.login(dashboard, "ann@a.example", TestDashboard.password, next: asked)
        #expect(page.location == gone)
    }

    @Test func `a session ends when it is idle, and after its longest time whatever happens`() async throws {
        let dashboard = try TestDashboard()
        let (idle, busy) = (try await dashboard.browser("a@a.example"), try await dashboard.browser("b@a.example"))
        for _ in 0..<28 {
            dashboard.clock.advance(by: .seconds(6 * 3_600 - 1))
            #expect(try await busy.get("").status == .ok)
        }
        #expect(try await idle.get("").status == .seeOther)
        dashboard.clock.advance(by: .seconds(60))
        #expect(try await busy.get("").status == .seeOther)
        #expect(try await dashboard.store.sessions(of: Key(1)).isEmpty)
    }

    @Test func `the set-up link makes the first operator, once`() async throws {
        let dashboard = try TestDashboard()
        let token = try await dashboard.people.invite(
            nil, scope: .operator, bounds: .everything, by: TestDashboard.author)
        let path = "/dashboard/setup?token=\(token)"
        let (csrf, cookie) = try await Self.visit(dashboard, path)
        func post(_ email: String, _ password: String, _ again: String) async throws -> TestPage {
            let fields = [
                ("csrf", csrf), ("token", token), ("email", email), ("password", password), ("again", again),
            ]
            let body = fields.map { "\($0.0)=\(Address.encoded($0.1))" }.joined(separator: "&")
            return try await dashboard.send(.post, "/dashboard/setup", [.cookie: cookie], body)
        }
        let short = try await post("ann@a.example", "short", "short")
        #expect(short.status == .unprocessableContent && short.contains("it needs at least 10"))
        #expect(short.contains("value=\"ann@a.example\""), "the form is kept")
        #expect(!short.contains("value=\"short\""), "the password is not")
        #expect(try await post("ann@a.example", "a long password", "another").contains("is not the same password"))
        let made = try await post("ann@a.example", "a long password", "a long password")
        #expect(made.status == .seeOther)
        let browser = TestBrowser(dashboard: dashboard, session: try Self.session(made))
        #expect(try await browser.get("").status == .ok)
        #expect(try await post("eve@a.example", "a long password", "a long password").status == .notFound)
        #expect(try await dashboard.send(.get, path, [:]).status == .notFound)
        #expect(
            try await dashboard.send(.get, "/dashboard/setup?token=\(String(repeating: "0", count: 64))", [:]).status
                == .notFound)
    }

    @Test func `a form before the login needs the cookie of its visit`() async throws {
        let dashboard = try TestDashboard()
        _ = try await dashboard.person("ann@a.example")
        let (token, _) = try await Self.visit(dashboard)
        let (_, other) = try await Self.visit(dashboard)
        let body = "csrf=\(token)&email=ann%40a.example&password=correct+horse+battery"
        for cookie in ["", other] {
            #expect(try await dashboard.send(.post, "/dashboard/login", [.cookie: cookie], body).status == .forbidden)
        }
    }
}
