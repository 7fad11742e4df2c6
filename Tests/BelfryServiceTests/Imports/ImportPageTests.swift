import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

@Suite struct ImportPageTests {
    private let list = "registration_token,device_alias\n\(String(repeating: "ab", count: 32)),Imported\n"

    /// The hidden field with the list in it.
    private static func kept(_ page: TestPage) throws -> (String, String) {
        ("kept_list", String(try #require(page.text.firstMatch(of: /name="kept_list" value="([^"]+)"/)?.1)))
    }

    @Test func `a list is kept from form to form`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/import"
        let fields = [("format", "csv"), ("dry_run", "yes")]
        let before = try await dashboard.store.deviceCount(on: contents.platform.key)
        let refused = try await browser.post(path, fields + [("map", "nonsense")], file: ("list", list))
        #expect(refused.status == .unprocessableContent && refused.contains("Kept: list.csv"))
        let looked = try await browser.post(path, fields + [try Self.kept(refused)])
        #expect(looked.contains("What the import would do") && looked.contains("Import list.csv"))
        #expect(try await dashboard.store.deviceCount(on: contents.platform.key) == before)
        let done = try await browser.post(path, fields + [try Self.kept(looked), ("import", "yes")])
        #expect(done.contains("What the import did") && !done.contains("Import list.csv"))
        #expect(try await dashboard.store.deviceCount(on: contents.platform.key) == before + 1)
    }

    @Test func `a form keeps what it can take again`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/import"
        let fields = [("format", "csv"), ("map", "nonsense")]
        for (length, isKept) in [(KeptFile.bytesMax, true), (KeptFile.bytesMax + 1, false)] {
            let text = list + String(repeating: "\n", count: length - list.utf8.count)
            let refused = try await browser.post(path, fields, file: ("list", text))
            #expect(refused.status == .unprocessableContent && refused.contains("Kept: list.csv") == isKept)
            guard isKept else { continue }
            #expect(try await browser.post(path, fields + [try Self.kept(refused)]).contains("Kept: list.csv"))
        }
    }

    @Test func `a kept file opens for its person and field only`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let other = try await dashboard.browser("other@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/import"
        let refused = try await browser.post(path, [("format", "csv"), ("map", "nonsense")], file: ("list", list))
        let kept = try Self.kept(refused)
        for value in [kept.1, "", "x", "!", "\(kept.1.dropLast(20))", String(repeating: "A", count: 9_000)] {
            let page = try await other.post(path, [("format", "csv"), ("kept_list", value)])
            #expect(page.status == .unprocessableContent && page.contains("is missing or empty"))
        }
        let elsewhere = try await browser.post(path, [("format", "csv"), ("kept_other", kept.1)])
        #expect(elsewhere.contains("is missing or empty"))
    }
}
