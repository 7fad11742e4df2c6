import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Attacks on the dashboard by a hostile visitor, tenant or other site, none of which has any effect.
@Suite struct HostilePageTests {
    private static let attack = "<img src=x onerror=alert(1)>\"'&{{x}}" + marked
    /// A quotation mark to a browser, and another character to Swift.
    private static let marked = "\"\u{301}"

    @Test func `no stored text is ever markup, on any page`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: Self.attack)
        let person = try await dashboard.person("other@a.example")
        var shown = 0
        for route in dashboard.routes.paths where !route.isPost && !route.path.hasSuffix("events") {
            let page = try await browser.get(contents.filled(route.path, person: person))
            #expect(page.status.kind != .serverError, "\(route.path): \(page.text.prefix(200))")
            // What else there is are files to be stored, which no browser shows.
            guard page.headers[.contentType]?.hasPrefix("text/html") == true else { continue }
            #expect(!page.contains("<img src=x") && !page.contains("\"'&{{"), "\(route.path)")
            #expect(page.text.utf8.firstRange(of: Self.marked.utf8) == nil, "\(route.path)")
            if page.contains("&lt;img src=x onerror=alert(1)&gt;") { shown += 1 }
        }
        // Otherwise nothing was tried.
        #expect(shown > 12, "\(shown)")
        for field in ["q", "topic", "who", "from", "id"] {
            for path in ["/apps", "/apps/\(contents.application.uuid.lowercased)/devices", "/admin/audit"] {
                let page = try await browser.get("\(path)?\(field)=\(Self.attack.percentEncoded)")
                #expect(!page.contains("<img src=x"), "\(path) \(field)")
            }
        }
    }

    @Test func `every page forbids foreign scripts, framing and caching`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        for page in [try await browser.get(""), try await dashboard.send(.get, "/dashboard/login", [:])] {
            #expect(page.status == .ok)
            let policies = page.headers[values: .contentSecurityPolicy]
            #expect(policies.count == 1)
            let policy = policies.first ?? ""
            #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
            #expect(!policy.contains("unsafe") && policy.contains("require-trusted-types-for 'script'"))
            #expect(page.headers[.cacheControl] == "no-store")
            #expect(page.headers[.xContentTypeOptions] == "nosniff")
            #expect(page.headers[values: HTTPField.Name("Referrer-Policy")!] == ["no-referrer"])
            #expect(!page.contains("style=\"") && !page.contains("<script>") && !page.contains("onclick"))
        }
    }

    @Test func `nobody gets further than the login without a session`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "shop")
        let person = try await dashboard.person("other@a.example")
        for route in dashboard.routes.paths {
            for cookie in ["", "belfry_session=", "belfry_session=\(String(repeating: "0", count: 64))"] {
                let path = "/dashboard" + contents.filled(route.path, person: person)
                let page = try await dashboard.send(route.isPost ? .post : .get, path, [.cookie: cookie])
                #expect(page.status == .seeOther, "\(path)")
                #expect(page.location.hasPrefix("/dashboard/login"), "\(path)")
                #expect(!page.contains("shop"))
            }
        }
    }

    @Test func `another tenant's things do not exist, on any route`() async throws {
        let dashboard = try TestDashboard()
        let tenant = try await dashboard.store.create(NewTenant(uuid: UUID(), name: try Name("theirs")))
        let theirs = try await TestContents(dashboard, text: "theirs", of: tenant.key)
        let them = try await dashboard.person("them@a.example", .tenantAdmin, .tenant(tenant.key))
        let key = try await dashboard.admin.createKey(
            name: try Name("theirs"), scope: .tenantAdmin, bounds: .tenant(tenant.key), by: TestDashboard.author)
        let ours = try await TestContents(dashboard, text: "ours")
        let bounds = AdminKey.Bounds.tenant(Tenant.first)
        let browser = try await dashboard.browser("us@a.example", .tenantAdmin, bounds)
        let before = try await dashboard.store.auditLog().count
        var tried = 0
        for route in dashboard.routes.paths where route.path.contains(":") {
            let path = theirs.filled(route.path, person: them, key: key.key.id)
            let page = route.isPost ? try await browser.post(path) : try await browser.get(path)
            #expect(page.status == .notFound, "\(route.path): \(page.status)")
            tried += 1
            // Their things below an application of ours are not found either.
            let mixed = path.replacing(theirs.application.uuid.lowercased, with: ours.application.uuid.lowercased)
            guard mixed != path, route.path.split(separator: ":").count > 2 else { continue }
            let second = route.isPost ? try await browser.post(mixed) : try await browser.get(mixed)
            #expect(second.status == .notFound, "\(route.path): \(second.status)")
        }
        #expect(tried > 30)
        #expect(try await dashboard.store.auditLog().count == before, "nothing was changed")
        #expect(!(try await browser.get("/apps")).contains("theirs"))
        #expect(!(try await browser.get("/admin/people")).contains("them@a.example"))
        #expect(!(try await browser.get("/admin/keys")).contains(key.key.id))
        #expect(!(try await browser.get("/admin/audit")).contains("theirs"))
    }

    @Test func `a read-only person changes nothing on any route`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "shop")
        let bounds = AdminKey.Bounds.application(contents.application.key, of: Tenant.first)
        let browser = try await dashboard.browser("reader@a.example", .readOnly, bounds)
        let person = try await dashboard.person("other@a.example", .readOnly, bounds)
        let before = try await dashboard.store.auditLog().count
        for route in dashboard.routes.paths where route.isPost && !route.path.hasPrefix("account") {
            let page = try await browser.post(contents.filled(route.path, person: person))
            #expect([403, 404].contains(page.status.code), "\(route.path): \(page.status)")
        }
        #expect(try await dashboard.store.auditLog().count == before)
    }

    @Test func `a form with its token passes a host-rewriting proxy`() async throws {
        let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
        for address in [ServerAddress(), ServerAddress(publicURL: "https://push.example.org/push")] {
            let dashboard = try TestDashboard(address: address)
            let browser = try await dashboard.browser("root@a.example")
            var allowed: [HTTPFields] = [[:], [.origin: "null"], [site: "same-origin"], [site: "none"]]
            if address.publicURL != nil { allowed.append([.origin: "https://push.example.org"]) }
            for (number, headers) in allowed.enumerated() {
                let page = try await browser.post("/admin/tenants", [("name", "Dairy \(number)")], headers: headers)
                #expect(page.status == .seeOther, "\(headers)")
            }
            let foreign: HTTPFields = [.origin: "https://push.example.org.evil.example"]
            #expect(try await browser.post("/admin/tenants", [("name", "Evil")], headers: foreign).status == .forbidden)
        }
    }

    @Test func `a form of another site changes nothing`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "shop")
        let person = try await dashboard.person("other@a.example")
        let stranger = try await dashboard.browser("third@a.example")
        let before = try await dashboard.store.auditLog().count
        let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
        for route in dashboard.routes.paths where route.isPost {
            let path = contents.filled(route.path, person: person)
            for token in ["", "0", FormToken.of(stranger.session)] {
                #expect(try await browser.post(path, token: token).status == .forbidden, "\(route.path)")
                let null: HTTPFields = [.origin: "null"]
                #expect(try await browser.post(path, token: token, headers: null).status == .forbidden, "\(route.path)")
            }
            for headers: HTTPFields in [
                [site: "cross-site"], [site: "same-site"], [.origin: "https://evil.example"],
                [.origin: "https://localhost.evil.example"], [site: "cross-site", .origin: "null"],
            ] {
                #expect(try await browser.post(path, headers: headers).status == .forbidden, "\(route.path)")
            }
        }
        #expect(try await dashboard.store.auditLog().count == before)
    }
}
