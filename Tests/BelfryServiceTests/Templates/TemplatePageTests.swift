import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// The pages of saved messages.
@Suite struct TemplatePageTests {
    @Test func `a template is made, previewed, edited, composed from and deleted`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let app = "/apps/\(contents.application.uuid.lowercased)"
        #expect(try await browser.get("\(app)/templates").contains("dairy"))
        let fields = [
            ("name", "eggs"), ("title", "Dairy"), ("template", "yes"), ("language", "en"),
            ("body", "{{ values.n | plural: one: '# egg', other: '# eggs' }} {{ device.id }}"), ("lang-0", "de"),
            ("title-0", "Molkerei"), ("body-0", "{{ values.n | number }} Eier"),
        ]
        let look = try await browser.post("\(app)/templates", fields + [("action", "preview")])
        #expect(look.status == .ok && look.contains("How it looks") && look.contains(contents.device.uuid.lowercased))
        #expect(look.contains("value=\"Molkerei\""))
        #expect(try await dashboard.store.templates(of: contents.application.key).count == 1)
        let wrong = try await browser.post(
            "\(app)/templates", [("name", "eggs"), ("body", "{{x}}"), ("template", "yes")])
        #expect(wrong.status == .unprocessableContent && wrong.contains("names {{x}}"))
        let made = try await browser.post("\(app)/templates", fields)
        #expect(made.location.hasSuffix("/templates/eggs?done=saved"))
        let shown = try await browser.get("\(app)/templates/eggs")
        #expect(
            shown.contains("value=\"de\"") && shown.contains("Eier</textarea>") && shown.contains("In another language")
        )
        let seen = try #require(shown.seen(by: "\(app)/templates/eggs"))
        let edited = fields.dropFirst().map { $0.0 == "title" ? ("title", "Farm") : $0 } + [("seen", seen)]
        #expect(try await browser.post("\(app)/templates/eggs", edited).location.hasSuffix("?done=saved"))
        let late = try await browser.post("\(app)/templates/eggs", edited)
        #expect(late.status == .unprocessableContent && late.contains("Somebody else has changed this"))
        let template = try #require(try await dashboard.store.template(named: "eggs", of: contents.application.key))
        #expect(template.version == 2 && template.content.shared.title == "Farm")
        #expect(template.content.translations.json["de"]?["title"] == .string("Molkerei"))
        let compose = try await browser.get("\(app)/compose?template=eggs")
        #expect(compose.contains("name=\"saved\"") && compose.contains("value=\"eggs\""))
        let review = try await browser.post(
            "\(app)/compose", [("saved", "eggs"), ("audience", "everyone"), ("values", #"{"n": 1}"#)])
        #expect(review.contains("1 egg \(contents.device.uuid.lowercased)") && review.contains("Send it to 1 device"))
        #expect(review.contains("&quot;template&quot;: &quot;eggs&quot;"))
        let asked = try await browser.post("\(app)/templates/eggs/delete", [])
        #expect(asked.contains("Delete the template"))
        let gone = try await browser.post("\(app)/templates/eggs/delete", [("confirmed", "yes")])
        #expect(gone.location.hasSuffix("/templates?done=deleted"))
    }
}
