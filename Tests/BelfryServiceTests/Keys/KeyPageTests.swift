import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

@Suite struct KeyPageTests {
    @Test func `a key is rotated while its old secret still works`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let made = try await dashboard.admin.createKey(
            name: Name("reports"), scope: .operator, bounds: .everything, by: TestDashboard.author)
        let path = "/admin/keys/\(made.key.id)/rotate"
        #expect(try await browser.get("/admin/keys").contains("\(made.key.id)/rotate"))
        #expect(try await browser.post(path).contains("The old one ends"))
        #expect(try await browser.post(path, [("grace", "99999999999")]).status == .unprocessableContent)
        #expect(try await dashboard.store.adminKey(made.key.id)?.secretHash == made.key.secretHash)
        let rotated = try await browser.post(path, [("grace", "3600")])
        #expect(rotated.contains("Shown only once") && rotated.contains(made.key.id))
        let key = try #require(try await dashboard.store.adminKey(made.key.id))
        #expect(key.secretHash != made.key.secretHash)
        #expect(key.previous?.validUntil == dashboard.clock.now + .seconds(3_600))
        #expect(try await dashboard.store.auditLog().last?.change.action == "key.rotate")
        _ = try await browser.post("/admin/keys/\(made.key.id)/revoke", [("confirmed", "yes")])
        let late = try await browser.post(path, [("grace", "0")])
        #expect(late.status == .unprocessableContent && late.contains("The key is revoked"))
    }

    @Test func `an outdated page rotates no key again`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let made = try await dashboard.admin.createKey(
            name: Name("reports"), scope: .operator, bounds: .everything, by: TestDashboard.author)
        let path = "/admin/keys/\(made.key.id)/rotate"
        func fields() async throws -> [(String, String)] {
            let page = try await browser.post(path)
            let seen = try #require(page.text.firstMatch(of: /name="seen" value="([0-9a-f]+)"/)?.1)
            return [("grace", "3600"), ("seen", String(seen))]
        }
        let (first, second) = (try await fields(), try await fields())
        #expect(try await browser.post(path, first).contains("Shown only once"))
        let hash = try await dashboard.store.adminKey(made.key.id)?.secretHash
        let late = try await browser.post(path, second)
        #expect(late.status == .unprocessableContent && late.contains("Nothing was done: it was replaced"))
        #expect(try await dashboard.store.adminKey(made.key.id)?.secretHash == hash)
        #expect(try await browser.post(path, try await fields()).contains("Shown only once"))
    }
}
