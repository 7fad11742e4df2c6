import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// The pages of campaigns.
@Suite struct CampaignPageTests {
    @Test func `a campaign is made, changed, started, stopped and deleted`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let app = "/apps/\(contents.application.uuid.lowercased)"
        #expect(try await browser.get("\(app)/campaigns").contains("dairy"))
        let fields = [
            ("name", "spring"), ("labels", "sale, eggs"), ("where", "topic:dairy"), ("title-a", "Spring"),
            ("body-a", "Hi"), ("title-b", "Now"), ("body-b", "Hi"), ("share-a", "20"), ("share-b", "20"),
            ("winner", "PT4H"), ("winner_by", "received"), ("hold_out", "10"),
        ]
        let wrong = try await browser.post(
            "\(app)/campaigns", fields.map { $0.0 == "share-b" ? ("share-b", "95") : $0 })
        #expect(wrong.status == .unprocessableContent && wrong.contains("115 percent together"))
        let nothing = try await browser.post("\(app)/campaigns", [("name", "x")])
        #expect(nothing.status == .unprocessableContent && nothing.contains("write a message"))
        let made = try await browser.post("\(app)/campaigns", fields)
        #expect(made.location.hasSuffix("/campaigns/spring?done=created"), "\(made.location)")
        let shown = try await browser.get("\(app)/campaigns/spring")
        #expect(shown.contains("sale, eggs") && shown.contains("Start") && shown.contains("20 %"))
        let campaign = try #require(try await dashboard.store.campaign(named: "spring", of: contents.application.key))
        #expect(campaign.plan.rest == 40..<90 && campaign.plan.winner?.by == .received)

        let seen = ("seen", try #require(shown.seen(by: "\(app)/campaigns/spring")))
        let broken = try await browser.post("\(app)/campaigns/spring", [("plan", #"{"target":1}"#), seen])
        #expect(broken.status == .unprocessableContent && broken.contains("has a fault"))
        let saved = try await browser.post(
            "\(app)/campaigns/spring",
            [("plan", #"{"message":{"body":"Only"},"target":{"everyone":true}}"#), seen])
        #expect(saved.location.hasSuffix("?done=saved"), "\(saved.status)")
        let late = try await browser.post(
            "\(app)/campaigns/spring",
            [("plan", #"{"message":{"body":"Late"},"target":{"everyone":true}}"#), seen])
        #expect(late.status == .unprocessableContent && late.contains("Somebody else has changed this"))

        let asked = try await browser.post("\(app)/campaigns/spring/start", [])
        #expect(asked.contains("Start the campaign") && asked.contains("1 device"))
        let started = try await browser.post("\(app)/campaigns/spring/start", [("confirmed", "yes")])
        #expect(started.location.hasSuffix("?done=started"))
        let running = try await browser.post("\(app)/campaigns/spring/test", [])
        #expect(running.status == .unprocessableContent && running.contains("the campaign has no test audience"))
        #expect(running.contains("Stop it at once"))
        #expect(try await browser.post("\(app)/campaigns/spring/stop", []).location.hasSuffix("?done=stopped"))
        #expect(try await browser.post("\(app)/campaigns/spring/delete", []).contains("Delete the campaign"))
        let gone = try await browser.post("\(app)/campaigns/spring/delete", [("confirmed", "yes")])
        #expect(gone.location.hasSuffix("/campaigns?done=deleted"))
    }

    @Test func `an approval that is out of date is given again`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let (application, campaigns) = (contents.application, dashboard.services.campaigns)
        try await dashboard.store.edit(application.key, ApplicationEdit(approvesCampaigns: true))
        let plan = try CampaignPlan([
            "template": .string("dairy"), "target": .object(["everyone": .bool(true)]),
        ])
        let made = try await campaigns.create("spring", plan, of: application, by: .local(systemUser: "emma"))
        _ = try await campaigns.approve(made, of: application, by: .local(systemUser: "noah"))
        _ = try await dashboard.store.change("dairy", of: application.key, to: Push.Content(body: "Buy"))
        let path = "/apps/\(application.uuid.lowercased)/campaigns/spring"
        #expect(try await browser.get(path).contains("Approve again"))
        #expect(try await browser.post("\(path)/approve", []).location.hasSuffix("?done=approved"))
    }

    @Test(arguments: [true, false])
    func `an approval is of what was shown`(changesTemplate: Bool) async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let (application, campaigns) = (contents.application, dashboard.services.campaigns)
        let emma = AuditAuthor.local(systemUser: "emma")
        let plan = try CampaignPlan([
            "template": .string("dairy"), "target": .object(["everyone": .bool(true)]),
        ])
        let made = try await campaigns.create("spring", plan, of: application, by: emma)
        let path = "/apps/\(application.uuid.lowercased)/campaigns/spring"
        let seen = ("seen", try #require(try await browser.get(path).seen(by: "\(path)/approve")))
        if changesTemplate {
            _ = try await dashboard.store.change("dairy", of: application.key, to: Push.Content(body: "Buy"))
        } else {
            try await campaigns.delete(made, of: application, by: emma)
            _ = try await campaigns.create("spring", plan, of: application, by: emma)
        }
        let late = try await browser.post("\(path)/approve", [seen])
        #expect(late.status == .unprocessableContent && late.contains("Somebody else has changed this"))
        #expect(late.contains("Buy") == changesTemplate)
        #expect(try await dashboard.store.campaign(named: "spring", of: application.key)?.approval == nil)
        let now = ("seen", try #require(late.seen(by: "\(path)/approve")))
        #expect(try await browser.post("\(path)/approve", [now]).location.hasSuffix("?done=approved"))
    }

    @Test func `a fault of a variant is shown at its field`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/campaigns"
        let fields = [("name", "spring"), ("body-a", "Hi"), ("share-a", "50"), ("body-c", "Ho")]
        func isAtShareC(_ page: TestPage, _ words: String) throws -> Bool {
            let field = try #require(page.text.firstRange(of: #"name="share-c""#))
            return page.status == .unprocessableContent
                && page.text[field.upperBound...].prefix(400).contains(#"class="fault">\#(words)"#)
        }
        let wrong = try await browser.post(path, fields + [("share-c", "101")])
        #expect(try isAtShareC(wrong, "has to be from 1 to 100 percent"))
        let alone = try await browser.post(path, fields.filter { $0.0 != "body-c" } + [("share-c", "50")])
        #expect(try isAtShareC(alone, "is of no message"))
    }
}
