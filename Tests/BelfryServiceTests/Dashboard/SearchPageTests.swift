import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// The frame of the pages: the search, the menus and the list of applications.
@Suite struct SearchPageTests {
    @Test func `the search finds things of each kind`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "Dairy")
        let app = "/dashboard/apps/\(contents.application.uuid.lowercased)"
        let page = try await browser.get("/search?q=Dai")
        #expect(page.status == .ok)
        for path in [
            "", "/devices/\(contents.device.uuid.lowercased)", "/users?id=Dairy", "/topics/dairy",
            "/pushes/\(contents.push.receiptID.lowercased)",
        ] {
            #expect(page.contains("<li><a href=\"\(app)\(path)\">"), "\(path)")
        }
        let receipt = contents.push.receiptID.lowercased
        #expect(try await browser.get("/search?q=\(receipt)").contains("href=\"\(app)/pushes/\(receipt)\""))
        #expect(try await browser.get("/search?q=database").contains("<li><a href=\"/dashboard/admin/database\">"))
        #expect(try await browser.get("/search?q=nowhere").contains("Nothing was found."))
    }

    @Test func `the search shows nothing of another tenant`() async throws {
        let dashboard = try TestDashboard()
        let tenant = try await dashboard.store.create(NewTenant(uuid: UUID(), name: try Name("theirs")))
        let theirs = try await TestContents(dashboard, text: "theirs", of: tenant.key)
        let browser = try await dashboard.browser("us@a.example", .tenantAdmin, .tenant(Tenant.first))
        let app = theirs.application.uuid.lowercased
        for text in ["theirs", theirs.push.receiptID.lowercased, theirs.device.uuid.lowercased, app] {
            let page = try await browser.get("/search?q=\(text)&app=\(app)")
            #expect(page.contains("Nothing was found.") && !page.contains("/apps/\(app)"), "\(text)")
        }
    }

    @Test func `a search of many applications says where it stopped`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        for number in 0..<12 {
            _ = try await dashboard.admin.createApplication(name: Name("App \(number)"), by: TestDashboard.author)
        }
        let page = try await browser.get("/search?q=app")
        // Fewer than ten on a machine with little time.
        #expect(page.text.firstMatch(of: /Only \d+ of 12 applications were searched\./) != nil)
        #expect(page.contains("href=\"/dashboard/apps?q=app\""))
    }

    @Test func `the menus lead to the same page of other applications`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let mine = try await dashboard.admin.createApplication(name: Name("Mine"), by: TestDashboard.author).application
        let other = try await dashboard.admin.createApplication(name: Name("Other"), by: TestDashboard.author)
            .application
        let path = "/dashboard/apps/\(other.uuid.lowercased)"
        let page = try await browser.get("/apps/\(mine.uuid.lowercased)/devices")
        #expect(page.contains("<a href=\"\(path)/devices\">Other</a>"))
        #expect(page.contains("<details class=\"menu\"><summary>Administration</summary>"))
        #expect(page.contains("name=\"app\" value=\"\(mine.uuid.lowercased)\""))
        let people = try await browser.get("/admin/people")
        #expect(people.contains("<details class=\"menu\" open><summary>Administration</summary>"))
        #expect(people.contains("<a href=\"\(path)\">Other</a>") && !people.contains("name=\"app\""))
    }

    @Test func `filters without room fold away while they are empty`() {
        func form(_ last: String) -> Form {
            .filter("/a", (0..<5).map { .text("f\($0)", "Field") } + [.text("last", "Last", last)])
        }
        #expect(form("").fields.count == 4 && form("").groups.map(\.fields.count) == [2])
        #expect(form("").groups.map(\.isOpen) == [false] && form("x").groups.map(\.isOpen) == [true])
        #expect(Form.filter("/a", (0..<5).map { .text("f\($0)", "Field") }).groups.isEmpty)
    }

    @Test func `a table says what phones and narrow columns need`() {
        let id = String(repeating: "0", count: 36)
        var page = HTMLWriter(Shell())
        page.write([
            Table(
                "Things", ["Name", "State", "Seen", "Id", "#Devices"],
                [[[.text("a")], [.badge("on", .good)], [.time(.zero)], [.code(id)], [.number(3)]]], empty: "")
        ])
        #expect(page.text.contains("<td data-label=\"State\" class=\"state\">"))
        #expect(page.text.contains("<td data-label=\"Seen\" class=\"named\">"))
        #expect(page.text.contains("<td data-label=\"Id\" title=\"\(id)\"><code>\(id)</code>"))
        #expect(page.text.contains("<td data-label=\"Devices\" class=\"number\">"))
    }
}
