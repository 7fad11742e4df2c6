import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Text that people typed before the session ended or they left the page, and questions before something is deleted.
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

    private static func visit(_ page: TestPage) throws -> String {
        try #require(page.headers[.setCookie]?.split(separator: ";").first.map(String.init))
    }

    /// Logs in with a form that was held.
    private static func logIn(
        _ dashboard: TestDashboard, from login: TestPage, visit: String, as email: String = "ann@a.example",
        held: String
    ) async throws -> TestPage {
        try await post(
            dashboard, "/login",
            [
                ("csrf", try value("csrf", in: login)), ("email", email), ("password", TestDashboard.password),
                ("held", held),
            ], cookies: visit)
    }

    @Test func `a session ending within a form returns to it filled`() async throws {
        let dashboard = try TestDashboard()
        let ann = try await dashboard.person("ann@a.example")
        let own = try dashboard.formFields("/dashboard/admin/tenants?after=0", of: ann)
        let fields = own + [("csrf", "0"), ("name", "Dairy \"&amp; sons\""), ("password", "secret words")]
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

    @Test func `an earlier login's form is shown again, not executed`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("ann@a.example")
        let (ann, bob) = (try await dashboard.person(of: browser), try await dashboard.person("bob@a.example"))
        let other = FormToken.of("another session")
        let typed = [("name", "Dairy")]
        let fields = try dashboard.formFields("/dashboard/admin/tenants", of: ann) + typed
        let page = try await browser.post("/admin/tenants", fields, token: other)
        #expect(page.status == .forbidden && page.contains("from an earlier login"))
        #expect(try Self.value("name", in: page) == "Dairy")
        for theirs in [
            [("form_page", "/dashboard/admin/tenants")], try dashboard.formFields("/dashboard/admin/tenants", of: bob),
        ] {
            let refused = try await browser.post(
                "/admin/tenants", theirs + typed, token: other, headers: [.origin: "null"])
            #expect(refused.status == .forbidden && refused.contains("out of date") && !refused.contains("Dairy"))
        }
        #expect(!(try await dashboard.store.tenants(after: nil, limit: 9)).contains { $0.name == "Dairy" })
    }

    @Test func `a form shown again remembers what its person saw`() async throws {
        let dashboard = try TestDashboard()
        let application = try await TestContents(dashboard, text: "dairy").application
        let browser = try await dashboard.browser("ann@a.example")
        let path = "/apps/\(application.uuid.lowercased)/settings"
        let fields = try dashboard.formFields("/dashboard" + path, of: try await dashboard.person(of: browser))
        let page = try await browser.post(
            path, fields + [("seen", "as it was"), ("name", "Dairy")], token: FormToken.of("another session"))
        #expect(page.status == .forbidden)
        #expect(try Self.value("seen", in: page) == "as it was")
        let conflict = try await browser.post(path, [("seen", "as it was"), ("name", "Dairy")])
        #expect(conflict.contains("Somebody else has changed this"))
        #expect(try Self.value("seen", in: conflict) != "as it was")
    }

    @Test func `a form that was refused stands on its page`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("ann@a.example")
        let fields = try dashboard.formFields(
            "/dashboard/admin/tenants?after=0", of: try await dashboard.person(of: browser))
        let refused = try await browser.post("/admin/tenants", fields + [("name", "")])
        #expect(refused.status == .unprocessableContent)
        #expect(try Self.value("form_page", in: refused) == "/dashboard/admin/tenants?after=0")
    }

    @Test func `a held form belongs to its visit, person and page`() async throws {
        let dashboard = try TestDashboard()
        let ann = try await dashboard.person("ann@a.example")
        _ = try await dashboard.person("bob@a.example")
        let fields = try dashboard.formFields("/dashboard/admin/tenants", of: ann) + [("name", "Dairy")]
        let first = try await Self.post(dashboard, "/admin/tenants", fields)
        let held = try Self.value("held", in: first)
        let other = try await dashboard.send(.get, "/dashboard/login", [:])
        let elsewhere = try await Self.logIn(dashboard, from: other, visit: try Self.visit(other), held: held)
        #expect(elsewhere.status == .seeOther)
        let bob = try await Self.logIn(
            dashboard, from: first, visit: try Self.visit(first), as: "bob@a.example", held: held)
        #expect(bob.status == .seeOther && !bob.contains("Dairy"))
        let body = FormData.urlEncoded(fields)
        let foreign = try await dashboard.send(
            .post, "/dashboard/admin/tenants", [.origin: "https://evil.example", .contentLength: "\(body.utf8.count)"],
            body)
        #expect(foreign.status == .seeOther && !foreign.contains("held"))
    }

    /// Over plain HTTP a sandboxed frame sends no more than this.
    @Test func `a form without our proof is never shown as ours`() async throws {
        let dashboard = try TestDashboard()
        let ann = try await dashboard.person("ann@a.example")
        let right = try dashboard.formFields("/dashboard/admin/people", of: ann)
        for own in [
            [], [("form_page", "/dashboard/admin/people")],
            [("form_page", "/dashboard/admin/people"), ("form_proof", String(right[1].1.dropLast(8)))],
            [("form_page", "/dashboard/admin/tenants"), right[1]],
        ] {
            let body = FormData.urlEncoded(own + [("email", "evil@b.example"), ("role", "operator")])
            let page = try await dashboard.send(
                .post, "/dashboard/admin/people", [.origin: "null", .contentLength: "\(body.utf8.count)"], body)
            #expect(page.status == .seeOther && page.location.hasPrefix("/dashboard/login"), "\(own)")
        }
    }

    @Test func `a form too long to hold is reported lost`() async throws {
        let dashboard = try TestDashboard()
        let ann = try await dashboard.person("ann@a.example")
        let own = try dashboard.formFields("/dashboard/admin/tenants", of: ann)
        for count in [50_000, 80_000] {
            let long = try await Self.post(
                dashboard, "/admin/tenants", own + [("description", String(repeating: "x", count: count))])
            #expect(long.status == .unauthorized && long.contains("too long to be kept"), "\(count)")
            #expect(!long.contains("name=\"held\""))
        }
        let button = try await Self.post(dashboard, "/admin/tenants", own)
        #expect(button.status == .unauthorized && button.contains("do it again"))
        // As a browser behind a proxy may send it.
        let chunked = try await dashboard.send(
            .post, "/dashboard/admin/tenants", [:], FormData.urlEncoded(own + [("name", "Dairy")]))
        #expect(try !Self.value("held", in: chunked).isEmpty)
    }

    @Test func `a draft is kept for its author until sent`() async throws {
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

        let number = ("draft", try Self.value("draft", in: draft))
        let fields = [("body", "Butter"), ("audience", "everyone"), ("on-ios", "yes"), number]
        #expect(try await ann.post(compose, fields).contains("Before you send"))
        #expect(try await ann.get(compose).contains(">\nButter</textarea>"), "Back from the review")
        let send = fields + [("action", "send"), ("reviewed", "1")]
        #expect(try await ann.post(compose, send).location.contains("done=sent"))
        #expect(!(try await ann.get(compose)).contains("Butter"))
        _ = try await ann.post("\(compose)/draft", [("body", "Cream")])
        #expect(try await ann.post("\(compose)/discard").status == .seeOther)
        #expect(!(try await ann.get(compose)).contains("Cream"))
    }

    @Test func `two tabs write two pushes, and neither is lost`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let ann = try await dashboard.browser("ann@a.example")
        let compose = "/apps/\(contents.application.uuid.lowercased)/compose"
        let (first, second) = (try await ann.get("\(compose)?draft=new"), try await ann.get("\(compose)?draft=new"))
        let cheese = [("body", "Cheese"), ("audience", "everyone"), ("draft", try Self.value("draft", in: first))]
        let milk = [("body", "Milk"), ("audience", "everyone"), ("draft", try Self.value("draft", in: second))]
        for fields in [cheese, milk] { _ = try await ann.post("\(compose)/draft", fields) }
        let page = try await ann.get("\(compose)?draft=\(cheese[2].1)")
        #expect(page.contains(">\nCheese</textarea>") && page.contains("draft=\(milk[2].1)"))
        let copy = try await ann.get("\(compose)?topic=dairy")
        #expect(!copy.contains("Cheese</textarea>") && !copy.contains("Milk</textarea>"), "another push is begun anew")
        let done = [("action", "send"), ("reviewed", "1")]
        #expect(try await ann.post(compose, cheese + done).location.contains("done=sent"))
        #expect(try await ann.get(compose).contains(">\nMilk</textarea>"))
        #expect(try await ann.post(compose, milk + done).location.contains("done=sent"))
        #expect(!(try await ann.get(compose)).contains("not sent it"))
    }

    @Test func `a draft in two tabs is sent once, unless insisted`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let ann = try await dashboard.browser("ann@a.example")
        let compose = "/apps/\(contents.application.uuid.lowercased)/compose"
        let number = ("draft", try Self.value("draft", in: try await ann.get(compose)))
        let fields = [("body", "Butter"), ("audience", "everyone"), number]
        let send = fields + [("action", "send"), ("reviewed", "1")]
        #expect(try await ann.post(compose, send).location.contains("done=sent"))
        let back = try await ann.get("\(compose)?draft=\(number.1)")
        #expect(try Self.value("draft", in: back) != number.1, "Back begins another push")
        // The other tab reviews it once more, which keeps it.
        _ = try await ann.post(compose, fields)
        let again = try await ann.post(compose, send)
        #expect(again.status == .unprocessableContent && again.contains("Sent in another tab"))
        #expect(try await ann.post(compose, send + [("resend", "yes")]).location.contains("done=sent"))
        #expect(!(try await ann.get(compose)).contains("Butter"))
    }

    @Test func `deleting a topic, key or device asks with numbers`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let browser = try await dashboard.browser("root@a.example")
        let app = "/apps/\(contents.application.uuid.lowercased)"
        let key = try await dashboard.admin.createKey(
            name: try Name("erp"), scope: .readOnly, bounds: .tenant(Tenant.first), by: TestDashboard.author)
        let device = "\(app)/devices/\(contents.device.uuid.lowercased)"
        let before = try await dashboard.store.auditLog().count
        for (path, words) in [
            ("\(app)/topics/dairy/delete", "Used by"), ("/admin/keys/\(key.key.id)/revoke", "Last used"),
            ("\(device)/deactivate", "registers again"),
        ] {
            let question = try await browser.post(path)
            #expect(
                question.status == .ok && question.contains(words) && question.contains("Keep it as it is"), "\(path)")
        }
        #expect(try await dashboard.store.auditLog().count == before)
        for path in ["\(device)/deactivate", "/admin/keys/\(key.key.id)/revoke", "\(app)/topics/dairy/delete"] {
            #expect(try await browser.post(path, [("confirmed", "yes")]).status == .seeOther, "\(path)")
        }
        #expect(try await dashboard.store.auditLog().count == before + 3)
    }

    @Test func `a topic is counted by its whole name`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let browser = try await dashboard.browser("root@a.example")
        let topic = try NewTopic(name: "a", expiresAt: nil, now: dashboard.clock.now)
        _ = try await dashboard.services.topics.create(topic, of: contents.application, by: TestDashboard.author)
        let pushes = PushService(store: dashboard.store)
        for (number, target) in [
            Target.everyone, try Target(topics: ["dairy", "a"]), try Target(topics: ["ab"]),
            Target(.not(.term(.topics(["a"])))),
        ].enumerated() {
            _ = try await pushes.schedule(
                PushRequest(content: Push.Content(body: "at last"), target: target),
                at: dashboard.clock.now + .seconds(3_600 + Int64(number)), for: contents.application.key)
        }
        _ = try await dashboard.services.segments.create(
            "b", .term(.topics(["a"])), of: contents.application, by: TestDashboard.author)
        let question = try await browser.post("/apps/\(contents.application.uuid.lowercased)/topics/a/delete")
        let words = try #require(question.text.firstRange(of: "Used by")).upperBound
        let fact = question.text[words...].prefix(120)
        #expect(fact.contains(">2 schedules, 1 segment<"), "\(fact)")
    }

    @Test func `somebody is shut out after a question with numbers`() async throws {
        let dashboard = try TestDashboard()
        let root = try await dashboard.browser("root@a.example")
        let boss = try await dashboard.person(of: try await dashboard.browser("boss@a.example"))
        let author = AuditAuthor(boss, address: nil)
        _ = try await dashboard.people.invite(
            EmailAddress("new@a.example"), scope: .operator, bounds: .everything, by: author)
        for name in ["a key", "another"] {
            _ = try await dashboard.admin.createKey(name: Name(name), scope: .operator, bounds: .everything, by: author)
        }
        let before = try await dashboard.store.auditLog().count
        for (fields, words) in [([], "Admin keys that are revoked"), ([("issued", "stay")], "Admin keys that stay")] {
            let question = try await root.post("/admin/people/\(boss.key)/disable", fields)
            #expect(question.status == .ok && question.contains(words) && question.contains("Sessions that end"))
            let fact = try #require(question.text.firstRange(of: words)).upperBound
            #expect(question.text[fact...].prefix(120).contains(">2<"))
            #expect(fields.isEmpty || question.contains("name=\"issued\" value=\"stay\""))
        }
        #expect(try await dashboard.store.auditLog().count == before)
        #expect(try await dashboard.store.person(boss.key)?.disabledAt == nil)
    }

    @Test func `keys and invitations begin with the least role`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        for page in ["/admin/keys", "/admin/people"] {
            #expect(try await browser.get(page).contains("<option value=\"read-only\" selected>"), "\(page)")
        }
    }

    @Test func `one of two tabs replaces the API key`() async throws {
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
