import BelfryTesting
import Crypto
import CryptoExtras
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Logins by an issuer of OpenID Connect, and what a hostile issuer, browser or site can do with them.
@Suite struct SignOnTests {
    private static func dashboard(
        _ issuer: TestIssuer, _ settings: [Issuer]? = nil, takesPasswords: Bool = true
    ) throws -> TestDashboard {
        try TestDashboard(
            issuers: try settings ?? [TestIssuer.settings()], takesPasswords: takesPasswords, callIssuer: issuer.call)
    }

    private static func login(_ dashboard: TestDashboard) async throws -> TestPage {
        var visitor = SignOnVisitor(dashboard)
        _ = try await visitor.depart()
        return try await visitor.arrive()
    }

    private static func session(_ page: TestPage) -> String? {
        page.headers[values: .setCookie].first { $0.hasPrefix("belfry_session=") }
            .map { String($0.dropFirst("belfry_session=".count).prefix { $0 != ";" }) }
    }

    @Test func `a person known to the issuer enters with claimed role`()
        async throws
    {
        let issuer = try TestIssuer()
        let dashboard = try Self.dashboard(issuer)
        #expect(try await dashboard.send(.get, "/dashboard/login", [:]).contains("href=\"/dashboard/sign-on/corp\""))
        var visitor = SignOnVisitor(dashboard)
        let there = try await visitor.depart("/sign-on/corp?next=%2Fdashboard%2Fapps%3Fq%3Da")
        #expect(there.status == .seeOther && there.location.hasPrefix("https://id.example/authorize?tenant=1&"))
        #expect(visitor.asked["response_type"] == "code" && visitor.asked["client_id"] == "belfry")
        #expect(visitor.asked["scope"] == "openid email" && visitor.asked["code_challenge_method"] == "S256")
        let redirect = try #require(visitor.asked["redirect_uri"])
        #expect(redirect.hasSuffix("/dashboard/sign-on/corp/callback"))
        let back = try await visitor.arrive()
        #expect(back.status == .seeOther && back.location == "/dashboard/apps?q=a")
        let browser = TestBrowser(dashboard: dashboard, session: try #require(Self.session(back)))
        #expect(try await browser.get("/account").contains("Single sign-on, without a password"))

        let exchange = try #require(issuer.asked.first { $0.form != nil })
        #expect(exchange.form?["redirect_uri"] == redirect && exchange.form?["client_secret"] == nil)
        #expect(exchange.authorization == "Basic \(Data("belfry:s%3Acret".utf8).base64EncodedString())")
        let verifier = try #require(exchange.form?["code_verifier"])
        #expect(Data(SHA256.hash(data: Array(verifier.utf8))).base64URL == visitor.asked["code_challenge"])

        let person = try #require(try await dashboard.store.person(EmailAddress("ann@corp.example")))
        #expect(person.scope == .operator && !person.hasPassword && person.name == "Ann")
        let lines = try await dashboard.store.auditLog().map(\.change)
        #expect(lines.map(\.action) == ["person.create", "person.login"])
        #expect(lines.last?.details == ["issuer": "corp"] && lines.last?.keyID == "ann@corp.example")
        #expect(try await dashboard.people.person(email: "ann@corp.example", password: "", for: .local) == nil)
    }

    @Test func `the role follows claims at login; losing it locks out`() async throws {
        let issuer = try TestIssuer()
        let tenant = Tenant.first
        let dashboard = try Self.dashboard(issuer)
        let uuid = try #require(try await dashboard.store.tenant(tenant)).uuid.lowercased
        let rules = ["groups=ops:operator", "realm_access.roles=support:read-only/\(uuid)"]
        let strict = try Self.dashboard(issuer, [TestIssuer.settings(rules: rules)])
        let first = try await Self.login(strict)
        let open = TestBrowser(dashboard: strict, session: try #require(Self.session(first)))
        #expect(try await open.get("/admin/people").status == .ok)
        issuer.set { state in
            state.claims["groups"] = .string("staff")
            state.claims["realm_access"] = .object(["roles": .strings(["support"])])
        }
        #expect(try await Self.login(strict).status == .seeOther)
        #expect(try await open.get("/admin/people").status == .ok, "the last operator stays one")
        #expect(try await !strict.store.auditLog().map(\.change.action).contains("person.set_role"))
        _ = try await strict.person("root@a.example")
        #expect(try await Self.login(strict).status == .seeOther)
        let person = try #require(try await strict.store.person(EmailAddress("ann@corp.example")))
        #expect(person.scope == .readOnly && person.bounds == .tenant(tenant))
        #expect(try await strict.store.auditLog().map(\.change.action).contains("person.set_role"))
        #expect(try await open.get("/admin/people").status == .forbidden, "the session has the new role too")
        issuer.set { $0.claims["realm_access"] = .null }
        let page = try await Self.login(strict)
        #expect(page.status == .unauthorized && page.contains("gives you no role here") && Self.session(page) == nil)
        #expect(try await open.get("").location.hasPrefix("/dashboard/login"), "what was open has ended")
        let ends = try await strict.store.auditLog().map(\.change).filter { $0.action == "person.end_sessions" }
        #expect(ends.map(\.keyID) == ["ann@corp.example"] && ends.first?.details == ["issuer": "corp"])
        // Again, when nothing is open: nothing to write down.
        #expect(try await Self.login(strict).status == .unauthorized)
        #expect(try await strict.store.auditLog().count { $0.change.action == "person.end_sessions" } == 1)
        issuer.set { $0.claims["groups"] = .string("ops") }
        #expect(try await Self.login(strict).status == .seeOther, "and back in with the next rule that matches")
    }

    @Test func `without rules only accounts and invitations may enter`() async throws {
        let issuer = try TestIssuer()
        let dashboard = try Self.dashboard(issuer, [TestIssuer.settings(rules: [])])
        let stranger = try await Self.login(dashboard)
        #expect(stranger.status == .unauthorized && stranger.contains("There is no account for ann@corp.example"))
        _ = try await dashboard.people.invite(
            EmailAddress("ann@corp.example"), scope: .sender, bounds: .tenant(Tenant.first), by: TestDashboard.author)
        #expect(try await Self.login(dashboard).status == .seeOther)
        #expect(try await dashboard.store.person(EmailAddress("ann@corp.example"))?.scope == .sender)

        let bob = try await dashboard.person("bob@corp.example", .readOnly, .tenant(Tenant.first))
        issuer.set { state in
            state.claims["sub"] = .string("subject-2")
            state.claims["email"] = .string("bob@corp.example")
        }
        #expect(try await Self.login(dashboard).status == .seeOther)
        let linked = try await dashboard.store.person(bob.key)
        #expect(linked == bob.knownByIssuer.loggedIn(at: dashboard.clock.now), "all else stays")
        // Another address at the issuer does not make another person of the same subject.
        issuer.set { $0.claims["email"] = .string("robert@corp.example") }
        #expect(try await Self.login(dashboard).status == .seeOther)
        #expect(try await dashboard.store.person(EmailAddress("robert@corp.example")) == nil)
    }

    @Test func `an account resists unverified addresses and other subjects`()
        async throws
    {
        let issuer = try TestIssuer()
        let dashboard = try Self.dashboard(issuer)
        for verified: JSONValue in [.bool(false), .string("false"), .null] {
            issuer.set { $0.claims["email_verified"] = verified }
            #expect(try await Self.login(dashboard).status == .unauthorized)
        }
        #expect(try await dashboard.store.people(within: .everything, after: nil, limit: 1).isEmpty)
        issuer.set { $0.claims["email_verified"] = .bool(true) }
        #expect(try await Self.login(dashboard).status == .seeOther)
        // Whoever was given the address after its first owner left.
        issuer.set { $0.claims["sub"] = .string("subject-2") }
        let page = try await Self.login(dashboard)
        #expect(page.status == .unauthorized && page.contains("Somebody else of the same issuer"))
        // The first one is known by the subject, whatever becomes of the address.
        issuer.set { state in
            state.claims["sub"] = .string("subject-1")
            state.claims["email_verified"] = .bool(false)
        }
        #expect(try await Self.login(dashboard).status == .seeOther)
        let trusting = try Self.dashboard(issuer, [TestIssuer.settings(takesUnverifiedEmail: true)])
        #expect(try await Self.login(trusting).status == .seeOther)
    }

    @Test func `a blocked person stays out, whatever the issuer says`() async throws {
        let dashboard = try Self.dashboard(TestIssuer())
        let page = try await Self.login(dashboard)
        let session = try #require(Self.session(page))
        let person = try #require(try await dashboard.store.person(EmailAddress("ann@corp.example")))
        try await dashboard.admin.setDisabled(true, person, keepsOperator: false, by: TestDashboard.author)
        #expect(try await TestBrowser(dashboard: dashboard, session: session).get("").status == .seeOther)
        let again = try await Self.login(dashboard)
        #expect(again.status == .unauthorized && again.contains("account is disabled") && Self.session(again) == nil)
    }

    @Test func `with an issuer only administrators choose their address`() async throws {
        let dashboard = try Self.dashboard(TestIssuer())
        let bounds = AdminKey.Bounds.tenant(Tenant.first)
        let fields = [("email", "ann@corp.example"), ("current", TestDashboard.password)]
        let sender = try await dashboard.browser("bob@corp.example", .sender, bounds)
        #expect(try await !sender.get("/account").contains("account/email"))
        #expect(try await sender.post("/account/email", fields).status == .notFound)
        let admin = try await dashboard.browser("amy@corp.example", .tenantAdmin, bounds)
        #expect(try await admin.get("/account").contains("account/email"))
        #expect(try await admin.post("/account/email", fields).status == .seeOther)
    }

    /// A fault in an ID token, and the words for it.
    struct Forged: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let words: String
        let change: @Sendable (inout TestIssuer.State, Int64) throws -> Void

        init(
            _ name: String, _ words: String,
            _ change: @escaping @Sendable (inout TestIssuer.State, Int64) throws -> Void
        ) {
            (testDescription, self.words, self.change) = (name, words, change)
        }
    }

    private static let forged = [
        Forged("no signature", "another algorithm") { state, _ in state.key = .none },
        Forged("an HMAC by the public key", "another algorithm") { state, _ in
            state.key = .symmetric(Array(try TestIssuer.rsa.publicKey.derRepresentation))
        },
        Forged("somebody's key under the id of the issuer's", "no key of the issuer") { state, _ in
            state.key = try .rsa(id: "one", TestIssuer.otherRSA)
        },
        Forged("somebody's key without an id", "no key of the issuer") { state, _ in
            state.key = try .rsa(id: nil, TestIssuer.otherRSA)
        },
        Forged("a key that nobody published", "no key of the issuer") { state, _ in
            state.key = .p256(id: "two", P256.Signing.PrivateKey())
        },
        Forged("another issuer", "another issuer") { state, _ in
            state.claims["iss"] = .string("https://id.example.evil")
        },
        Forged("another audience", "for another client") { state, _ in state.claims["aud"] = .string("other") },
        Forged("no audience", "for another client") { state, _ in state.removed = ["aud"] },
        Forged("several audiences, and nobody it was issued to", "issued to another client") { state, _ in
            state.claims["aud"] = .strings(["belfry", "other"])
        },
        Forged("issued to another client", "issued to another client") { state, _ in
            state.claims["aud"] = .strings(["belfry", "other"])
            state.claims["azp"] = .string("other")
        },
        Forged("expired", "has expired") { state, now in state.claims["exp"] = .integer(now - 60) },
        Forged("no expiry", "has expired") { state, _ in state.removed = ["exp"] },
        Forged("an expiry that is no number", "has expired") { state, now in
            state.claims["exp"] = .string("\(now + 300)")
        },
        Forged("an expiry beyond all time", "has expired") { state, _ in state.claims["exp"] = .integer(.max) },
        Forged("from the future", "from the future") { state, now in state.claims["iat"] = .integer(now + 61) },
        Forged("not valid yet", "from the future") { state, now in state.claims["nbf"] = .integer(now + 61) },
        Forged("another nonce", "of another login") { state, _ in state.claims["nonce"] = .string("other") },
        Forged("no nonce", "of another login") { state, _ in state.removed = ["nonce"] },
        Forged("nobody", "has no valid subject") { state, _ in state.claims["sub"] = .string("") },
        Forged("a subject without end", "has no valid subject") { state, _ in
            state.claims["sub"] = .string(String(repeating: "a", count: 256))
        },
    ]

    @Test(arguments: forged)
    func `a token for another login admits nobody`(forged: Forged) async throws {
        let issuer = try TestIssuer()
        let dashboard = try Self.dashboard(issuer)
        let now = issuer.clock.now.milliseconds / 1_000
        try issuer.set { try forged.change(&$0, now) }
        let page = try await Self.login(dashboard)
        #expect(page.status == .unauthorized && page.contains(forged.words), "\(page.text)")
        #expect(Self.session(page) == nil)
        #expect(try await dashboard.store.auditLog().isEmpty)
    }

    @Test func `clocks may differ by a minute`() async throws {
        let issuer = try TestIssuer()
        let now = issuer.clock.now.milliseconds / 1_000
        for (claim, value) in [("exp", now - 59), ("iat", now + 60), ("nbf", now + 60)] {
            issuer.set { $0.claims = [claim: .integer(value)] }
            #expect(try await Self.login(try Self.dashboard(issuer)).status == .seeOther, "\(claim)")
        }
    }

    @Test func `elliptic-curve issuers and multiple audiences are understood`() async throws {
        let issuer = try TestIssuer(key: .p256(id: "ec", P256.Signing.PrivateKey()))
        try issuer.set { state in
            state.published.insert(try .rsa(id: "ec", TestIssuer.otherRSA), at: 0)
            state.claims["aud"] = .strings(["other", "belfry"])
            state.claims["azp"] = .string("belfry")
        }
        #expect(try await Self.login(try Self.dashboard(issuer)).status == .seeOther)
    }

    @Test func `new keys are fetched on use and old ones dropped`() async throws {
        let issuer = try TestIssuer()
        let dashboard = try Self.dashboard(issuer)
        #expect(try await Self.login(dashboard).status == .seeOther)
        #expect(try await Self.login(dashboard).status == .seeOther)
        let keys = "\(TestIssuer.url)/keys"
        #expect(issuer.asked.count { $0.url == keys } == 1)
        #expect(issuer.asked.count { $0.url.hasSuffix("openid-configuration") } == 1)
        let fresh = try TestIssuer.Key.rsa(id: "two", TestIssuer.otherRSA)
        issuer.set { ($0.key, $0.published) = (fresh, [fresh]) }
        // Not at every guess.
        #expect(try await Self.login(dashboard).status == .unauthorized)
        #expect(issuer.asked.count { $0.url == keys } == 1)
        dashboard.clock.advance(by: .seconds(10))
        issuer.clock.advance(by: .seconds(10))
        #expect(try await Self.login(dashboard).status == .seeOther)
        #expect(issuer.asked.count { $0.url == keys } == 2)
        try issuer.set { $0.key = try .rsa(id: "one", TestIssuer.rsa) }
        #expect(try await Self.login(dashboard).status == .unauthorized)
    }

    @Test func `an answer is bound to browser, login, issuer, ten minutes`()
        async throws
    {
        let issuer = try TestIssuer()
        let dashboard = try Self.dashboard(
            issuer, [TestIssuer.settings(), TestIssuer.settings("other")])
        var (mine, theirs) = (SignOnVisitor(dashboard), SignOnVisitor(dashboard))
        _ = try await mine.depart()
        _ = try await theirs.depart()
        #expect(mine.asked["state"] != theirs.asked["state"] && mine.asked["nonce"] != theirs.asked["nonce"])
        let old = mine
        for page in [
            // The state of another browser, none, garbage, and one that was changed.
            try await mine.arrive(state: theirs.asked["state"]), try await mine.arrive(state: ""),
            try await mine.arrive(state: "AAAA"),
            try await mine.arrive(state: String(mine.asked["state"]?.dropLast(4) ?? "")),
            // The code of another login.
            try await mine.arrive(nonce: theirs.asked["nonce"]),
            // An answer that another issuer sends, by its address.
            try await mine.arrive("/sign-on/other"),
        ] {
            #expect(page.status == .unauthorized && Self.session(page) == nil, "\(page.text)")
        }
        // And by its name; a browser that failed so often waits.
        dashboard.clock.advance(by: .seconds(1))
        issuer.clock.advance(by: .seconds(1))
        let named = try await mine.arrive(more: "&iss=https%3A%2F%2Fevil.example")
        #expect(named.status == .unauthorized && Self.session(named) == nil, "\(named.text)")
        var blank = mine
        blank.cookie = ""
        #expect(try await blank.arrive().status == .unauthorized)
        dashboard.clock.advance(by: .seconds(598))
        issuer.clock.advance(by: .seconds(598))
        let right = try await mine.arrive(more: "&iss=https%3A%2F%2Fid.example")
        #expect(right.status == .seeOther)
        #expect(
            right.headers[values: .setCookie].contains { $0.hasPrefix("belfry_visit=;") && $0.contains("Max-Age=0") },
            "the state is worth nothing to the browser from now on")
        dashboard.clock.advance(by: .seconds(1))
        #expect(try await old.arrive().status == .unauthorized, "its time is over")
    }

    @Test(arguments: [
        "https://evil.example/", "//evil.example", "/dashboard//evil.example", "/dashboard/\r\nSet-Cookie: a=b",
        "/dashboard/log", "/dashboard/\nhttps://evil.example\n1", "/dashboard?" + String(repeating: "a", count: 500),
    ])
    func `a single sign-on leads only to dashboard pages`(next: String) async throws {
        let dashboard = try Self.dashboard(TestIssuer())
        var visitor = SignOnVisitor(dashboard)
        _ = try await visitor.depart("/sign-on/corp?next=\(next.percentEncoded)")
        let page = try await visitor.arrive()
        #expect(page.status == .seeOther && page.location == "/dashboard")
    }

    @Test func `an issuer's refusal is shown in known words only`() async throws {
        let dashboard = try Self.dashboard(TestIssuer())
        var visitor = SignOnVisitor(dashboard)
        _ = try await visitor.depart()
        let denied = try await visitor.arrive(more: "&error=access_denied")
        #expect(denied.status == .unauthorized && denied.contains("the login: access_denied"))
        let odd = try await visitor.arrive(more: "&error=%3Cscript%3E&error_description=call+0900")
        #expect(odd.contains("the login: an error") && !odd.contains("&lt;script") && !odd.contains("0900"))
        let state = (visitor.asked["state"] ?? "").percentEncoded
        let none = try await dashboard.send(
            .get, "/dashboard/sign-on/corp/callback?state=\(state)", [.cookie: visitor.cookie])
        #expect(none.status == .unauthorized && none.contains("sent no code"))
        let wrong = try await dashboard.send(
            .get, "/dashboard/sign-on/corp/callback?code=x&state=\(state)", [.cookie: visitor.cookie])
        #expect(wrong.status == .unauthorized && wrong.contains("it says invalid_grant"))
    }

    @Test(arguments: [
        ["issuer": JSONValue.string("https://id.example/")], ["token_endpoint": .string("http://id.example/token")],
        ["jwks_uri": .string("http://127.0.0.1/keys")], ["jwks_uri": .null],
        ["authorization_endpoint": .string("javascript:alert(1)")],
        ["authorization_endpoint": .string("https://user@evil.example/")],
    ])
    func `an issuer with a foreign or unsafe configuration is avoided`(
        configuration: JSONObject
    ) async throws {
        let issuer = try TestIssuer()
        issuer.set { $0.configuration = configuration }
        var visitor = SignOnVisitor(try Self.dashboard(issuer))
        let page = try await visitor.depart()
        #expect(page.status == .unauthorized && page.location.isEmpty)
    }

    @Test func `an unreachable issuer is retried, not at every click`() async throws {
        let issuer = try TestIssuer()
        let dashboard = try Self.dashboard(issuer)
        issuer.set { $0.isDown = true }
        var visitor = SignOnVisitor(dashboard)
        for _ in 0..<3 { #expect(try await visitor.depart().contains("cannot be reached")) }
        #expect(issuer.asked.count == 1)
        issuer.set { $0.isDown = false }
        dashboard.clock.advance(by: .seconds(10))
        #expect(try await visitor.depart().status == .seeOther)
    }

    @Test func `a sparse token is completed from the issuer, same person`() async throws {
        let issuer = try TestIssuer()
        issuer.set { state in
            state.removed = ["email", "email_verified", "groups"]
            state.userInfo = .object([
                "sub": .string("subject-1"), "email": .string("ann@corp.example"), "email_verified": .bool(true),
                "groups": .strings(["ops"]), "nonce": .string("other"),
            ])
        }
        #expect(try await Self.login(try Self.dashboard(issuer)).status == .seeOther)
        #expect(issuer.asked.last?.authorization == "Bearer access")
        issuer.set { state in
            state.removed = ["groups"]
            state.userInfo = .object(["sub": .string("subject-1"), "groups": .strings(["ops"])])
        }
        #expect(try await Self.login(try Self.dashboard(issuer)).status == .seeOther, "the groups alone")
        issuer.set { $0.userInfo = .object(["sub": .string("subject-2"), "groups": .strings(["ops"])]) }
        #expect(try await Self.login(try Self.dashboard(issuer)).status == .unauthorized)
    }

    @Test func `without passwords nobody gets in by one, nor sets one`() async throws {
        let dashboard = try Self.dashboard(TestIssuer(), takesPasswords: false)
        _ = try await dashboard.person("bob@corp.example")
        let token = try await dashboard.people.invite(
            EmailAddress("new@corp.example"), scope: .operator, bounds: .everything, by: TestDashboard.author)
        let page = try await dashboard.send(.get, "/dashboard/login", [:])
        #expect(page.contains("Log in with Corp") && !page.contains("type=\"password\""))
        let cookie = try #require(page.headers[.setCookie].map { String($0.prefix { $0 != ";" }) })
        let csrf = FormToken.of(String(cookie.dropFirst("belfry_visit=".count)))
        let fields = "csrf=\(csrf)&email=bob%40corp.example&password=correct+horse+battery&again=correct+horse+battery"
        for (path, more) in [("login", ""), ("setup", "&token=\(token)")] {
            let answer = try await dashboard.send(.post, "/dashboard/\(path)", [.cookie: cookie], fields + more)
            #expect(answer.status == .forbidden && answer.contains("Passwords are switched off"), "\(path)")
        }
        #expect(try await dashboard.send(.get, "/dashboard/setup?token=\(token)", [:]).status == .forbidden)
        #expect(try await Self.login(dashboard).status == .seeOther)
    }

    @Test(arguments: [
        ("groups=ops:operator", true), ("https://x.example/roles=a=b:operator", true),
        ("sub=*:read-only/6f9619ff-8b86-d011-b42d-00cf4fc964ff", true), ("groups=ops:root", false), ("ops", false),
        ("=ops:operator", false), ("groups=:operator", false), ("groups=ops:sender", false),
        ("groups=ops:operator/6f9619ff-8b86-d011-b42d-00cf4fc964ff", false), ("groups=ops:sender/shop", false),
        ("", false),
    ])
    func `a rule gives one role for a claim's value`(text: String, isRight: Bool) {
        #expect(((try? RoleRule(text, field: "roles")) != nil) == isRight)
    }
}

extension Person {
    fileprivate func loggedIn(at instant: Instant) -> Person {
        Person(
            key: key, email: email, name: name, scope: scope, bounds: bounds, passwordHash: passwordHash,
            createdAt: createdAt, lastLoginAt: instant, disabledAt: disabledAt, hasTwoFactor: hasTwoFactor)
    }
}
