import BelfryTesting
import Foundation
import HTTPTypes
import Testing

@testable import BelfryService

/// Saved messages through the admin API.
@Suite struct TemplateAPITests {
    private static let message = #"""
        {"template": true, "title": "Dairy", "language": "en", "link": "https://shop.example/{{values.shop}}", "data": {"a": 1},
         "body": "{{ values.count | default: 0 | plural: one: '# egg', other: '# eggs' }} for {{ user.name | default: 'you' }}",
         "translations": {"de": {"title": "Molkerei", "body": "{{ values.count | default: 0 | plural: one: '# Ei', other: '# Eier' }}"}},
         "custom": {"ios": {"badge": 3}}}
        """#

    private struct Fixture {
        let server: TestAdminServer
        let here: TestAdminServer.TestResources

        init() async throws {
            server = try await TestAdminServer()
            here = try await server.resources("here")
        }

        func send(_ method: HTTPRequest.Method, _ rest: String, _ body: String? = nil) async throws -> TestAnswer {
            try await server.send(method, "apps/\(here.application.uuid.lowercased)/\(rest)", body)
        }

        func content(of push: TestAnswer) async throws -> Push.Content {
            let id = try #require(push["receipt_id"]?.stringValue, "\(push)")
            return try #require(try await server.store.allPushes().first { $0.receiptID.lowercased == id }).content
        }
    }

    @Test func `a template has versions, values and what uses it`() async throws {
        let fixture = try await Fixture()
        let made = try await fixture.send(.post, "templates", #"{"name":"eggs","message":\#(Self.message)}"#)
        #expect(made.status == 201 && made["version"] == .integer(1), "\(made)")
        #expect(
            made["values"] == .strings(["shop", "count"]) || made["values"] == .strings(["count", "shop"]), "\(made)")
        #expect(try await fixture.send(.post, "templates", #"{"name":"eggs","message":{"body":"x"}}"#).status == 409)
        #expect(
            try await fixture.send(.patch, "templates/eggs", #"{"message":{"body":"new"}}"#)["version"] == .integer(2))
        let renamed = try await fixture.send(.patch, "templates/eggs", #"{"name":"ham","message":{"body":"x"}}"#)
        #expect(renamed.status == 400 && renamed.message == "name stays: make another template", "\(renamed)")
        let shown = try await fixture.send(.get, "templates/eggs")
        #expect(
            shown["message"]?["body"] == .string("new") && shown["versions"]?.storedText.contains("Molkerei") == true)
        #expect(try await fixture.send(.get, "templates").text.contains(#""name":"eggs""#))
        let waiting = try await fixture.send(
            .post, "pushes", #"{"template":"eggs","target":{"everyone":true},"send_at":"2100-01-01T00:00:00Z"}"#)
        let schedule = try #require(waiting["schedule_id"]?.stringValue, "\(waiting)")
        #expect(try await fixture.send(.delete, "templates/eggs").status == 409)
        #expect(try await fixture.send(.get, "templates/eggs")["used_by"] == .strings(["schedule \(schedule)"]))
        #expect(try await fixture.send(.get, "schedules/\(schedule)")["template"] == .string("eggs"))
        #expect(try await fixture.send(.delete, "schedules/\(schedule)").status == 204)
        #expect(try await fixture.send(.delete, "templates/eggs").status == 204)
        #expect(try await fixture.send(.get, "templates/eggs").status == 404)
        #expect(
            try await fixture.server.audited().filter { $0.hasPrefix("template.") }
                == ["template.delete", "template.update", "template.create"])
    }

    @Test func `deleting a template, segment or campaign is a search`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(.post, "templates", #"{"name":"eggs","message":{"body":"x"}}"#)
        _ = try await fixture.send(.post, "segments", #"{"name":"eggs","where":"topic:eggs"}"#)
        let plan = #"{"name":"eggs","message":{"body":"x"},"target":{"everyone":true}}"#
        _ = try await fixture.send(.post, "campaigns", plan)
        let paths = ["templates/eggs", "segments/eggs", "campaigns/eggs"]
        let (shares, holder) = (fixture.server.services.shares, ShareHolder(fixture.here.application))
        let leases = try (0..<2).map { _ in try shares.take(.searches, for: holder) }
        for path in paths { #expect(try await fixture.send(.delete, path).status == 429) }
        for lease in leases { lease.end() }
        for path in paths { #expect(try await fixture.send(.delete, path).status == 204) }
    }

    @Test func `a push stores the message that its template had`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(.post, "templates", #"{"name":"eggs","message":\#(Self.message)}"#)
        let push = try await fixture.send(
            .post, "pushes",
            #"""
            {"template": "eggs", "target": {"everyone": true},
             "message": {"title": "Today", "data": {"b": 2}, "values": {"count": 2, "shop": "x y"}}}
            """#)
        let content = try await fixture.content(of: push)
        #expect(content.template == nil && content.shared.title == "Today" && content.shared.data == ["b": .integer(2)])
        #expect(content.translations.json["de"]?["title"] == nil, "the translation of another title")
        let values = { (language: String) in
            var values = PersonalizedValues.Values()
            values.language = language
            return PersonalizedValues(values)
        }
        #expect(try content.filled(with: values("en")).body == "2 eggs for you")
        #expect(try content.filled(with: values("de")).body == "2 Eier")
        #expect(try content.filled(with: values("de")).shared.link == "https://shop.example/x%20y")
        _ = try await fixture.send(.patch, "templates/eggs", #"{"message":{"body":"new"}}"#)
        #expect(try await fixture.content(of: push) == content)
        let first = try await fixture.send(
            .post, "pushes",
            #"{"template":"eggs@1","message":{"values":{"shop":"a"}},"target":{"everyone":true}}"#)
        #expect(try await fixture.content(of: first).shared.title == "Dairy")
        let present = try await fixture.send(.post, "pushes", #"{"template":"eggs","target":{"everyone":true}}"#)
        #expect(try await fixture.content(of: present).body == "new")
    }

    @Test func `a push's part goes before its template's other form`() throws {
        let custom = Push.Content(
            body: "b", custom: ["ios": .object(["category": .string("x")]), "web": .object(["a": .integer(1)])])
        let apple = try ApplePush(type: .alert, payload: ["aps": .object(["alert": .string("a")])])
        let other = Push.Content(apple: apple, web: WebMessage(stored: ["title": .string("t")]))
        let (first, second) = (try other.over(custom), try custom.over(other))
        #expect(first.apple == apple && first.web == other.web && first.custom.isEmpty)
        #expect(second.apple == nil && second.web == nil && second.custom == custom.custom)
        var both = custom
        both.apple = apple
        #expect(throws: InvalidInput.self) { try both.over(other) }
    }

    @Test func `a schedule takes the version that it names`() async throws {
        let fixture = try await Fixture()
        let store = fixture.server.store
        _ = try await fixture.send(.post, "templates", #"{"name":"t","message":{"body":"one"}}"#)
        let due = (fixture.server.clock.now + .seconds(60)).text
        for template in ["t", "t@1"] {
            let made = try await fixture.send(
                .post, "pushes",
                #"{"template":"\#(template)","target":{"everyone":true},"send_at":"\#(due)","urgency":"bulk"}"#)
            #expect(made.status == 201, "\(made)")
        }
        _ = try await fixture.send(.patch, "templates/t", #"{"message":{"body":"two"}}"#)
        let contents = try await store.schedules(of: fixture.here.application.key, after: nil, limit: 9).map(
            \.pushRequest
        )
        .filter { $0.lane == .bulk }
        #expect(contents.map(\.content.template?.text) == ["t", nil])
        var bodies: [String?] = []
        for request in contents {
            bodies.append(
                try await PushBuilder(store: store, clock: store.clock).build(
                    request, for: fixture.here.application.key
                ).content.body)
        }
        #expect(bodies == ["two", "one"])
    }

    @Test func `a preview shows the values of devices`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(.post, "templates", #"{"name":"eggs","message":\#(Self.message)}"#)
        let shown = try await fixture.send(
            .post, "templates/eggs/preview",
            #"{"where":"topic:news","limit":2,"message":{"values":{"count":1,"shop":"a"}}}"#)
        guard case .array(let devices)? = shown["devices"] else {
            Issue.record("\(shown)")
            return
        }
        #expect(devices.count == 1 && devices[0]["device_uuid"]?.stringValue == fixture.here.device.uuid.lowercased)
        #expect(devices[0]["body"] == .string("1 egg for you"))
        #expect(devices[0]["payload"]?["aps"]?["alert"]?["title"] == .string("Dairy"), "\(shown)")
        #expect(try await fixture.send(.post, "templates/eggs/preview", #"{"version":7}"#).status == 400)
    }

    @Test(arguments: [
        (#"{"template":"none","target":{"everyone":true}}"#, "template names the template 'none', which there is not"),
        (
            #"{"template":"eggs@7","target":{"everyone":true}}"#,
            "names the template 'eggs@7', which there is not: of versions the last 20 are kept"
        ),
        (#"{"template":"eggs@x","target":{"everyone":true}}"#, "a version is written eggs@3"),
        (#"{"template":"","target":{"everyone":true}}"#, "template"),
        (#"{"template":"eggs","target":{"everyone":true}}"#, "message.values.shop is missing"),
        (#"{"target":{"everyone":true}}"#, "message is missing"),
        (
            #"{"template":"eggs","message":{"values":{"shop":"a","cuont":1}},"target":{"everyone":true}}"#,
            "message.values.cuont is of no placeholder"
        ),
    ])
    func `a push that a template cannot serve is refused`(body: String, words: String) async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(.post, "templates", #"{"name":"eggs","message":\#(Self.message)}"#)
        let reply = try await fixture.send(.post, "pushes", body)
        #expect(reply.status == 400 && reply.message?.contains(words) == true, "\(reply)")
    }

    @Test(arguments: [
        (#"{"name":"a@b","message":{"body":"x"}}"#, "has an @"), (#"{"message":{"body":"x"}}"#, "name is missing"),
        (#"{"name":"a"}"#, "message is missing"), (#"{"name":"a","message":{}}"#, "has neither body nor title"),
        (#"{"name":"a","message":{"body":"{{x}}","template":true}}"#, "message.body names {{x}}"),
        (#"{"name":"a","message":{"body":"x","values":{"n":1},"template":true}}"#, "message.values.n is of no"),
    ])
    func `a wrong template is refused with its field`(body: String, words: String) async throws {
        let fixture = try await Fixture()
        let reply = try await fixture.send(.post, "templates", body)
        #expect(reply.status == 400 && reply.message?.contains(words) == true, "\(reply)")
    }
}

/// Templates on each engine.
@Suite struct TemplateConformance {
    @Test(arguments: Engine.allCases)
    func `a template keeps its last versions`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application.key)
            let template = try await store.create("t", Push.Content(body: "0"), of: app)
            for number in 1...Template.versionsMax + 2 {
                #expect(
                    try await store.change("t", of: app, to: Push.Content(body: "\(number)"))?.version
                        == Int64(number) + 1)
            }
            // The same again is no version.
            let last = Push.Content(body: "\(Template.versionsMax + 2)")
            #expect(try await store.change("t", of: app, to: last)?.version == Int64(Template.versionsMax) + 3)
            let versions = try await store.versions(of: template.key)
            #expect(versions.count == Template.versionsMax && versions.last?.version == 3)
            #expect(try await store.templateContent(TemplateReference("t@3", field: ""), of: app)?.body == "2")
            #expect(try await store.templateContent(TemplateReference("t@2", field: ""), of: app) == nil)
            #expect(try await store.templateContent(TemplateReference("t", field: ""), of: app) == last)
            #expect(try await store.templates(of: app).map(\.name) == ["t"])
            let other = try await store.create(.named("other")).key
            #expect(try await store.template(named: "t", of: other) == nil)
            #expect(try await store.change("t", of: other, to: last) == nil)
            #expect(try await store.delete(Template.self, named: "t", of: other) == false)
            #expect(try await store.delete(Template.self, named: "t", of: app))
            #expect(try await store.templates(of: app).isEmpty)
        }
    }
}
