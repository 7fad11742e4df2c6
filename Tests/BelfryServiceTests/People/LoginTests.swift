import BelfryTesting
import FoundationEssentials
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import BelfryService

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
        let body = fields.map { "\($0.0)=\($0.1.percentEncoded)" }.joined(separator: "&")
        return try await dashboard.send(.post, "/dashboard/login", [.cookie: "\(cookie); \(cookies)"], body)
    }

    private static func session(_ page: TestPage) throws -> String {
        let set = try #require(page.headers[values: .setCookie].first { $0.hasPrefix("belfry_session=") })
        return String(set.dropFirst("belfry_session=".count).prefix { $0 != ";" })
    }

    @Test func `the right password opens a session and logout ends it`() async throws {
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
        let actions = try await dashboard.store.auditLog().map(\.change.action)
        #expect(actions.suffix(2) == ["person.login", "person.end_session"])
        #expect(try await dashboard.store.auditLog().last?.change.keyID == "ann@a.example")
    }

    @Test func `the bare address leads browsers to the dashboard, programs nowhere`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.send(.get, "/", [.accept: "text/html,application/xhtml+xml,*/*;q=0.8"])
        #expect(browser.status == .seeOther && browser.location == "/dashboard")
        #expect(try await dashboard.send(.get, "/", [.accept: "*/*"]).status == .notFound)
    }

    @Test func `under TLS the cookie is for TLS alone`() async throws {
        let dashboard = try TestDashboard(address: ServerAddress(isSecure: true))
        _ = try await dashboard.person("ann@a.example")
        let page = try await Self.login(dashboard, "ann@a.example", TestDashboard.password)
        #expect(page.headers[values: .setCookie].allSatisfy { $0.hasSuffix("; Secure") })
    }

    @Test(arguments: [("https://push.example.org/push", true), ("http://push.example.org/push", false)])
    func `cookies follow the public URL, and stay below its path`(url: String, isSecure: Bool) async throws {
        let dashboard = try TestDashboard(address: ServerAddress(publicURL: url, isSecure: !isSecure))
        _ = try await dashboard.person("ann@a.example")
        let page = try await Self.login(dashboard, "ann@a.example", TestDashboard.password)
        let cookies = page.headers[values: .setCookie]
        #expect(!cookies.isEmpty && cookies.allSatisfy { $0.contains("; Path=/push/dashboard; ") })
        #expect(cookies.allSatisfy { $0.hasSuffix("; Secure") == isSecure })
        let login = try await dashboard.send(.get, "/dashboard/login", [:])
        #expect(login.contains("action=\"/push/dashboard/login\"") && login.contains("href=\"/push/dashboard/assets/"))
    }

    @Test(arguments: [
        ("ann@a.example", "wrong password"), ("bob@a.example", TestDashboard.password), ("", ""),
        ("ann@a.example", String(repeating: "x", count: 8_000)), ("gone@a.example", TestDashboard.password),
    ])
    func `a login that fails says nothing of why`(email: String, password: String) async throws {
        let dashboard = try TestDashboard()
        _ = try await dashboard.person("ann@a.example")
        let gone = try await dashboard.person("gone@a.example")
        try await dashboard.admin.setDisabled(true, gone, by: TestDashboard.author)
        let page = try await Self.login(dashboard, email, password)
        #expect(page.status == .unauthorized)
        #expect(page.contains("The e-mail address or the password is wrong."))
        #expect(page.headers[values: .setCookie].isEmpty)
    }

    @Test func `an open stream rechecks its person and prolongs no session`()
        async throws
    {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "shop")
        let app = Permission.Subject(contents.application)
        let root = try await dashboard.person("root@a.example")
        let ann = try await dashboard.person("ann@a.example", .sender, .tenant(Tenant.first))
        let login = try await dashboard.people.begin(ann, address: nil, agent: "")
        #expect(try await dashboard.people.may(.send, on: app, in: login))
        let reader = try await dashboard.admin.setRole(
            of: ann, to: SignOn.Role(.readOnly, .tenant(Tenant.first)), by: AuditAuthor(root, address: nil))
        #expect(try await !dashboard.people.may(.send, on: app, in: login))
        #expect(try await dashboard.people.may(.read, on: app, in: login))
        let tenant = try await dashboard.store.create(NewTenant(uuid: UUID(), name: try Name("other")))
        _ = try await dashboard.admin.setRole(
            of: reader, to: SignOn.Role(.readOnly, .tenant(tenant.key)), by: TestDashboard.author)
        #expect(try await !dashboard.people.may(.read, on: app, in: login))
        let other = try await dashboard.people.begin(root, address: nil, agent: "")
        for _ in 0..<8 {
            dashboard.clock.advance(by: .seconds(3_600))
            #expect(try await dashboard.people.may(.read, on: app, in: other))
        }
        dashboard.clock.advance(by: .seconds(61))
        #expect(try await !dashboard.people.may(.read, on: app, in: other), "eight hours without a click")
    }

    @Test func `a session from before the login is void after it`() async throws {
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
        ("/dashboard/login?next=/dashboard/login", "/dashboard"), ("/dashboard/../v1", "/dashboard"),
        ("/dashboard/%2e%2E/v1", "/dashboard"), ("/dashboard/.%2E/v1", "/dashboard"),
        ("/dashboard/apps/a/topics/.news", "/dashboard/apps/a/topics/.news"),
    ])
    func `a login leads only to pages of the dashboard`(
        asked: String, gone: String
    ) async throws {
        let dashboard = try TestDashboard()
        _ = try await dashboard.person("ann@a.example")
        let page = try await Self.login(dashboard, "ann@a.example", TestDashboard.password, next: asked)
        #expect(page.location == gone)
    }

    @Test func `an unreadable query of the login gets a page`() async throws {
        let page = try await TestDashboard().send(.get, "/dashboard/login?next=%00", [:])
        #expect(page.status == .badRequest && page.contains("To the login"))
    }

    @Test func `a session ends when idle or after its longest time`() async throws {
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

    @Test(arguments: [(HTTPField.Name.refresh, "1"), (HTTPField.Name.accept, "text/event-stream")])
    func `requests of the page itself prolong no session`(name: HTTPField.Name, value: String) async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("a@a.example")
        func refresh() async throws -> HTTPResponse.Status {
            dashboard.clock.advance(by: .seconds(6 * 3_600))
            let headers: HTTPFields = [.cookie: "belfry_session=\(browser.session)", name: value]
            return try await dashboard.send(.get, "/dashboard", headers).status
        }
        #expect(try await refresh() == .ok)
        #expect(try await refresh() == .seeOther)
    }

    @Test func `the last operator is not shut out`() async throws {
        let dashboard = try TestDashboard()
        let ann = try await dashboard.person("ann@a.example")
        await #expect(throws: ann.isLastOperator) {
            try await dashboard.admin.setDisabled(true, ann, by: TestDashboard.author)
        }
    }

    @Test func `a link for a new password asks for no name`() async throws {
        let dashboard = try TestDashboard()
        let ann = try await dashboard.person("ann@a.example")
        let reset = try await dashboard.people.makePasswordLink(for: ann, by: TestDashboard.author)
        try await dashboard.store.setEmail(of: ann.key, to: EmailAddress("anna@a.example"))
        let invited = try await dashboard.people.invite(
            EmailAddress("new@a.example"), scope: .operator, bounds: .everything, by: TestDashboard.author)
        for (token, email, asks) in [(reset, "anna@a.example", false), (invited, "new@a.example", true)] {
            let page = try await dashboard.send(.get, "/dashboard/setup?token=\(token)", [:])
            #expect(page.contains("For \(email), with") && page.contains("name=\"name\"") == asks)
        }
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
            let body = fields.map { "\($0.0)=\($0.1.percentEncoded)" }.joined(separator: "&")
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

    // MARK: The second factor

    /// Turns it on as a person does; returns the secret and the recovery codes.
    private static func turnOn(_ dashboard: TestDashboard, _ browser: TestBrowser) async throws -> ([UInt8], [String]) {
        let page = try await browser.get("/account/two-factor")
        #expect(page.contains("<svg class=\"qr\""))
        let text = String(try #require(page.text.firstMatch(of: /name="secret" value="([A-Z2-7]{32})"/)?.1))
        let secret = try #require(OneTimeCode.secret(base32: text))
        let on = try await browser.post(
            "/account/two-factor",
            [("secret", text), ("code", code(dashboard, secret)), ("password", TestDashboard.password)])
        #expect(on.status == .ok && on.contains("is on"))
        #expect(on.contains("download=\"belfry-recovery-codes.txt\" href=\"data:text/plain;charset=utf-8,"))
        let codes = try #require(on.text.firstMatch(of: /<code>([a-z1-9\-\n]+)<\/code>/)?.1)
        return (secret, codes.split(separator: "\n").map(String.init))
    }

    private static func code(_ dashboard: TestDashboard, _ secret: [UInt8]) -> String {
        OneTimeCode.code(of: secret, at: OneTimeCode.step(at: dashboard.clock.now), SecretHash.authentication)
    }

    /// Gives the right password, and then a code, as one visitor.
    private static func login(
        _ dashboard: TestDashboard, _ email: String, code: String, waiting: Duration = .zero
    ) async throws -> TestPage {
        let (token, cookie) = try await visit(dashboard)
        func post(_ fields: [(String, String)]) async throws -> TestPage {
            let fields = [("csrf", token), ("next", "/dashboard/apps")] + fields
            let body = fields.map { "\($0.0)=\($0.1.percentEncoded)" }.joined(separator: "&")
            return try await dashboard.send(.post, "/dashboard/login", [.cookie: cookie], body)
        }
        let asked = try await post([("email", email), ("password", TestDashboard.password)])
        #expect(asked.status == .ok && asked.headers[values: .setCookie].isEmpty && asked.contains("name=\"code\""))
        let proof = String(try #require(asked.text.firstMatch(of: /name="proof" value="([0-9a-f]+)"/)?.1))
        dashboard.clock.advance(by: waiting)
        return try await post([("proof", proof), ("code", code)])
    }

    @Test func `a second factor demands a code, valid once`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("ann@a.example")
        let (secret, recovery) = try await Self.turnOn(dashboard, browser)
        #expect(Set(recovery).count == RecoveryCode.count)
        let used = Self.code(dashboard, secret)
        #expect(try await Self.login(dashboard, "ann@a.example", code: used).status == .unauthorized)
        dashboard.clock.advance(by: .seconds(30))
        let next = Self.code(dashboard, secret)
        let page = try await Self.login(dashboard, "ann@a.example", code: next)
        #expect(page.location == "/dashboard/apps")
        let again = TestBrowser(dashboard: dashboard, session: try Self.session(page))
        #expect(try await again.get("/account").contains("Recovery codes left"))
        #expect(try await dashboard.store.auditLog().last?.change.details == ["factor": "app"])
        dashboard.clock.advance(by: .seconds(30))
        #expect(try await Self.login(dashboard, "ann@a.example", code: next).status == .unauthorized)
    }

    @Test func `a recovery code works once, and wrong codes never`() async throws {
        let dashboard = try TestDashboard()
        let (_, recovery) = try await Self.turnOn(dashboard, try await dashboard.browser("ann@a.example"))
        #expect(try await Self.login(dashboard, "ann@a.example", code: recovery[3].uppercased()).status == .seeOther)
        #expect(try await dashboard.store.auditLog().last?.change.details == ["factor": "recovery code"])
        #expect(try await Self.login(dashboard, "ann@a.example", code: recovery[3]).status == .unauthorized)
        #expect(try await Self.login(dashboard, "ann@a.example", code: "aaaaa-aaaaa").status == .unauthorized)
    }

    @Test func `between the password and the code there are five minutes`() async throws {
        let dashboard = try TestDashboard()
        let (_, recovery) = try await Self.turnOn(dashboard, try await dashboard.browser("ann@a.example"))
        let late = try await Self.login(dashboard, "ann@a.example", code: recovery[0], waiting: .seconds(300))
        #expect(late.status == .unauthorized && late.contains("The time for the code is over"))
        let early = try await Self.login(dashboard, "ann@a.example", code: recovery[0], waiting: .seconds(299))
        #expect(early.status == .seeOther)
    }

    @Test func `a half-finished login is worthless to another visitor`() async throws {
        let dashboard = try TestDashboard()
        let person = try await dashboard.person("ann@a.example")
        let proof = try dashboard.people.halfLogin(of: person, visit: "a")
        #expect(try await dashboard.people.person(ofHalfLogin: proof, visit: "a")?.key == person.key)
        #expect(try await dashboard.people.person(ofHalfLogin: proof, visit: "b") == nil)
        #expect(try await dashboard.people.person(ofHalfLogin: String(proof.dropLast(2)), visit: "a") == nil)
        try await dashboard.people.setPassword(
            of: person, to: Password("another long one"), by: TestDashboard.author)
        #expect(try await dashboard.people.person(ofHalfLogin: proof, visit: "a") == nil)
    }

    @Test func `enabling needs code and password, disabling the password`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("ann@a.example")
        let secret = [UInt8](repeating: 7, count: OneTimeCode.secretBytes)
        func turnOn(_ code: String, _ password: String) async throws -> TestPage {
            let fields = [("secret", OneTimeCode.base32(secret)), ("code", code), ("password", password)]
            return try await browser.post("/account/two-factor", fields)
        }
        let right = Self.code(dashboard, secret)
        #expect(try await turnOn("000000", TestDashboard.password).contains("is not what the app shows now"))
        #expect(try await turnOn(right, "wrong password").contains("is not your password"))
        #expect(try await dashboard.store.person(EmailAddress("ann@a.example"))?.hasTwoFactor == false)
        #expect(try await turnOn(right, TestDashboard.password).status == .ok)
        let off = "/account/two-factor/off"
        #expect(try await browser.post(off, [("password", "wrong")]).status == .unprocessableContent)
        #expect(try await dashboard.store.person(EmailAddress("ann@a.example"))?.hasTwoFactor == true)
        #expect(try await browser.post(off, [("password", TestDashboard.password)]).status == .seeOther)
        #expect(try await dashboard.store.person(EmailAddress("ann@a.example"))?.hasTwoFactor == false)
        let actions = try await dashboard.store.auditLog().map(\.change.action)
        #expect(actions.suffix(2) == ["person.set_two_factor", "person.remove_two_factor"])
    }

    @Test func `another phone replaces the first within half a minute`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("ann@a.example")
        let (first, _) = try await Self.turnOn(dashboard, browser)
        let (second, recovery) = try await Self.turnOn(dashboard, browser)
        #expect(first != second && recovery.count == RecoveryCode.count)
        dashboard.clock.advance(by: .seconds(30))
        let old = Self.code(dashboard, first)
        #expect(try await Self.login(dashboard, "ann@a.example", code: old).status == .unauthorized)
        let new = Self.code(dashboard, second)
        #expect(try await Self.login(dashboard, "ann@a.example", code: new).status == .seeOther)
    }

    @Test func `a visitor without an address waits too`() async throws {
        let dashboard = try TestDashboard()
        _ = try await dashboard.person("ann@a.example")
        var statuses: [HTTPResponse.Status] = []
        for _ in 0..<7 { statuses.append(try await Self.login(dashboard, "ann@a.example", "a guess").status) }
        #expect(statuses.prefix(6).allSatisfy { $0 == .unauthorized } && statuses.last == .tooManyRequests)
    }

    @Test func `a known browser is let in while others wait`() async throws {
        let dashboard = try TestDashboard()
        _ = try await dashboard.person("ann@a.example")
        let first = try await Self.login(dashboard, "ann@a.example", TestDashboard.password)
        let cookie = try #require(first.headers[values: .setCookie].first { $0.hasPrefix("belfry_browser=") })
        let known = String(cookie.prefix { $0 != ";" })
        for _ in 0..<8 { _ = try await Self.login(dashboard, "ann@a.example", "a guess") }
        #expect(
            try await Self.login(dashboard, "ann@a.example", TestDashboard.password).status == .tooManyRequests)
        #expect(
            try await Self.login(dashboard, "Ann@a.example", TestDashboard.password, cookies: known).status == .seeOther
        )
        for made in ["belfry_browser=00", "belfry_browser=\(String(repeating: "a", count: 400))"] {
            #expect(
                try await Self.login(dashboard, "ann@a.example", TestDashboard.password, cookies: made).status
                    == .tooManyRequests)
        }
        _ = try await dashboard.person("bob@a.example")
        for _ in 0..<8 { _ = try await Self.login(dashboard, "bob@a.example", "a guess") }
        #expect(
            try await Self.login(dashboard, "bob@a.example", TestDashboard.password, cookies: known).status
                == .tooManyRequests)
        dashboard.clock.advance(by: PersonService.browserLifetime)
        for _ in 0..<8 { _ = try await Self.login(dashboard, "ann@a.example", "a guess") }
        #expect(
            try await Self.login(dashboard, "ann@a.example", TestDashboard.password, cookies: known).status
                == .tooManyRequests)
    }

    @Test func `a session guessing its password waits as at login`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("ann@a.example")
        var statuses: [HTTPResponse.Status] = []
        for _ in 0..<7 {
            statuses.append(
                try await browser.post("/account/two-factor/off", [("password", "a guess")], over: .live).status)
        }
        #expect(statuses.prefix(6).allSatisfy { $0 == .unprocessableContent } && statuses.last == .tooManyRequests)
    }

    @Test func `an operator disables it for others; a password change cannot`() async throws {
        let dashboard = try TestDashboard()
        _ = try await Self.turnOn(dashboard, try await dashboard.browser("ann@a.example"))
        let ann = try #require(try await dashboard.store.person(EmailAddress("ann@a.example")))
        let token = try await dashboard.people.makePasswordLink(for: ann, by: TestDashboard.author)
        let (csrf, cookie) = try await Self.visit(dashboard, "/dashboard/setup?token=\(token)")
        let fields = [("csrf", csrf), ("token", token), ("password", "a long password"), ("again", "a long password")]
        let body = fields.map { "\($0.0)=\($0.1.percentEncoded)" }.joined(separator: "&")
        let set = try await dashboard.send(.post, "/dashboard/setup", [.cookie: cookie], body)
        #expect(set.location == "/dashboard/login" && set.headers[values: .setCookie].isEmpty)

        let boss = try await dashboard.browser("boss@a.example")
        #expect(try await boss.get("/admin/people").contains("two-factor"))
        #expect(
            try await boss.post("/admin/people/\(ann.key)/two-factor/off", [("confirmed", "yes")]).status == .seeOther)
        #expect(try await dashboard.store.person(ann.key)?.hasTwoFactor == false)
    }

    @Test func `an earlier inviter gains nothing from a later account`() async throws {
        let dashboard = try TestDashboard()
        let email = try EmailAddress("new@a.example")
        let old = try await dashboard.people.invite(
            email, scope: .sender, bounds: .tenant(Key(1)), by: TestDashboard.author)
        let operatorsLink = try await dashboard.people.invite(
            nil, scope: .operator, bounds: .everything, by: TestDashboard.author)
        _ = try await dashboard.person("new@a.example")
        for token in [old, operatorsLink] {
            #expect(try await dashboard.send(.get, "/dashboard/setup?token=\(token)", [:]).status == .notFound)
        }
        await #expect(throws: StoreError.conflict("there is a person with the e-mail address new@a.example")) {
            try await dashboard.people.invite(email, scope: .operator, bounds: .everything, by: TestDashboard.author)
        }
    }

    @Test func `a link that nobody used yet is seen, and withdrawn`() async throws {
        let dashboard = try TestDashboard()
        let boss = try await dashboard.browser("boss@a.example")
        let token = try await dashboard.people.invite(
            EmailAddress("new@a.example"), scope: .operator, bounds: .everything, by: TestDashboard.author)
        let link = try #require(try await dashboard.people.invitation(token: token))
        #expect(try await boss.get("/admin/people").contains("new@a.example"))
        #expect(
            try await boss.post("/admin/people/links/\(link.key)/withdraw", [("confirmed", "yes")]).status == .seeOther)
        #expect(try await dashboard.send(.get, "/dashboard/setup?token=\(token)", [:]).status == .notFound)
        #expect(
            try await boss.post("/admin/people/links/\(link.key)/withdraw", [("confirmed", "yes")]).status == .notFound)
    }

    @Test func `a form before login needs its visit's cookie`() async throws {
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
