import BelfryTesting
import FoundationEssentials
import Hummingbird
import HummingbirdTesting
import Testing

@testable import BelfryService

/// Messages as back ends of Carma's customers send them, and as devices fetch them. Source: carmaclient (triggers.go,
/// dto/sendtrigger.go), compost-carma-api (models/Messages.php), Carma iOS Integration Guide, "Compost Content".
@Suite struct CarmaMessageTests {
    private static func register(_ server: CarmaServer, _ more: String = "") async throws {
        _ = try await server.contact(
            "PUT", CarmaServer.devices,
            #"{"originalId":"o","firstName":"<Lars>","properties":{"drink":"tea","food":"fish"},"devicetoken":"some-token"\#(more)}"#
        )
    }

    private static func trigger(_ server: CarmaServer) -> String {
        "/rest/42/triggers/\(server.trigger.key)/messages"
    }

    private static let request =
        #"{"deliveryTime":null,"optOut":false,"saveProps":false,"originalId":"o","customerId":42,"campaignId":0,"properties":{"food":"meat","dish":"a < b"},"forceCreateMissingProperties":true}"#

    private static func pushes(_ server: CarmaServer) async throws -> [Push] {
        try await server.store.allPushes()
    }

    @Test func `a trigger's message is personalized and links to a page`() async throws {
        try await CarmaServer.with { server in
            try await Self.register(server)
            let answer = try await server.send("POST", Self.trigger(server), Self.request)
            let reply = try JSONValue(json: answer.body.utf8)
            #expect(answer.status == 200 && reply["message"]?.stringValue != nil)
            let push = try #require(try await Self.pushes(server).first)
            let fields = try #require(push.content.custom["android"])
            #expect(fields["alert"] == .string("Hi <Lars>"))
            #expect(fields["message"] == .string("meat and tea"))
            #expect(fields["source"] == .string("carma"))
            #expect(push.content.custom["ios"]?["extra"] == fields)
            #expect(push.content.custom["ios"]?["alert"] == .string("Hi <Lars>"))
            let url = try #require(fields["url"]?.stringValue)
            // Not the caller's `Host`, which cannot be trusted.
            #expect(url.contains("/carma/content/") && !url.contains("push.example.org"))
            let path = String(try #require(url.firstMatch(of: #/\/carma\/.*/#)).0)
            let page = try await server.send("GET", path, credentials: "")
            #expect(page.status == 200 && page.body == "<p>&lt;Lars&gt;: a &lt; b</p>")
            #expect(page.headers["content-type"] == "text/html; charset=utf-8")
            #expect(page.headers["content-security-policy"]?.hasPrefix("sandbox") == true)
            #expect(page.headers["set-cookie"] == nil)
        }
    }

    @Test func `links behind a trusted proxy with TLS are https`() async throws {
        try await CarmaServer.with { direct in
            try await Self.register(direct)
            let proxies = TrustedProxies([try #require(NetworkBlock("127.0.0.1"))])
            let limiter = RequestLimiter(options: RequestLimiter.Options(proxies: proxies), clock: direct.clock)
            let router = ResponseMiddleware.router(clock: direct.clock)
            CarmaRoutes(
                Services(direct.store, clock: direct.clock, requestLimiter: limiter),
                options: Carma.Options(address: ServerAddress(hosts: ["push.example.org"]))
            ).add(to: router)
            let app = Hummingbird.Application(
                router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
            try await app.test(.live) { client in
                let server = CarmaServer(
                    store: direct.store, clock: direct.clock, application: direct.application,
                    platforms: direct.platforms, trigger: direct.trigger, port: try #require(client.port))
                let answer = try await server.send(
                    "POST", Self.trigger(server), Self.request,
                    credentials: CarmaServer.basic + "X-Forwarded-Proto: HTTPS\r\n")
                #expect(answer.status == 200, "\(answer)")
            }
            let fields = try await Self.pushes(direct).first?.content.custom["android"]
            for field in ["url", "pushreadurl"] {
                #expect(fields?[field]?.stringValue?.hasPrefix("https://push.example.org/carma/") == true, "\(field)")
            }
        }
    }

    /// Properties are the texts of templates: a number is the text of its digits.
    @Test(arguments: ["12.50", "1.0", "-0", "1E+2", "123456789012345678901234567890", "0.10000000000000000000001"])
    func `a number in a trigger's message keeps its digits`(number: String) async throws {
        try await CarmaServer.with { server in
            try await Self.register(server)
            let body = #"{"originalId":"o","properties":{"food":\#(number)}}"#
            #expect(try await server.send("POST", Self.trigger(server), body).status == 200)
            let push = try #require(try await Self.pushes(server).first)
            #expect(push.content.custom["android"]?["message"] == .string("\(number) and tea"))
            let stored = try Push.Content(stored: Array(push.content.storedText.utf8))
            #expect(stored.custom["ios"]?["extra"]?["message"] == .string("\(number) and tea"))
        }
    }

    @Test func `a trigger with a member that nothing reads sends nothing`() async throws {
        try await CarmaServer.with { server in
            try await Self.register(server)
            let answer = try await server.send(
                "POST", Self.trigger(server), #"{"originalId":"o","delivery_time":"2090-01-31T08:30:00+0100"}"#)
            #expect(answer.status == 400 && answer.body.contains("(is deliveryTime meant?)"), "\(answer.body)")
            #expect(answer.body.contains("nothing was sent"))
            #expect(try await Self.pushes(server).isEmpty)
        }
    }

    @Test(arguments: ["url", "pushreadurl"])
    func `page and pixel record one read, counted as opened`(field: String) async throws {
        try await CarmaServer.with { server in
            try await Self.register(server)
            _ = try await server.send("POST", Self.trigger(server), Self.request)
            let push = try #require(try await Self.pushes(server).first)
            let url = try #require(push.content.custom["android"]?[field]?.stringValue)
            let history = "/rest/42/lists/1000000001/contacts/o/messages"
            func first() async throws -> JSONValue {
                guard case .array(let lines) = try JSONValue(json: try await server.send("GET", history).body.utf8),
                    lines.count == 1
                else { throw StoreError.unknown("one line") }
                return lines[0]
            }
            let before = try await first()
            #expect(before["read"] == .bool(false) && before["readTimestamp"] == .null)
            #expect(before["name"] == .string("Dinner"))
            let path = String(try #require(url.firstMatch(of: #/\/carma\/.*/#)).0)
            // What tries links sends HEAD, and has read nothing.
            let tried = try await server.send("HEAD", path, credentials: "")
            let untouched = try await first()
            #expect(tried.status == 200 && untouched["read"] == .bool(false))
            for _ in 1...2 {
                let answer = try await server.send("GET", path, credentials: "")
                #expect(answer.status == 200 && answer.body.isEmpty == (field == "pushreadurl"))
                server.clock.advance(by: .seconds(1))
            }
            let after = try await first()
            #expect(after["read"] == .bool(true))
            #expect(after["readTimestamp"] == .integer(CarmaServer.now.milliseconds))
            let android = try #require(server.platforms[.android])
            let counts = try await server.store.counts(of: push.key)
            #expect(counts[android.key]?[.opened] == 1)
        }
    }

    @Test func `a trigger's language is matched by part of its tag`() async throws {
        try await CarmaServer.with { server in
            try await Self.register(server)
            _ = try await server.store.setUser("o", of: server.application.key) {
                try $0.changed(by: UserProfile.Change(language: .set("sv-SE")))
            }
            _ = try await server.send("POST", Self.trigger(server), Self.request)
            #expect(try await Self.pushes(server).first?.content.body == "Hej <Lars>")
        }
    }

    @Test func `properties are kept where the sender says so`() async throws {
        try await CarmaServer.with { server in
            try await Self.register(server)
            _ = try await server.send("POST", Self.trigger(server), Self.request)
            let before = try await server.contact("GET", CarmaServer.devices + "/o")
            #expect(before["properties"] == .object(["drink": .string("tea"), "food": .string("fish")]))
            let saving = Self.request.replacing(#""saveProps":false"#, with: #""saveProps":true"#)
            #expect(try await server.send("POST", Self.trigger(server), saving).status == 200)
            let after = try await server.contact("GET", CarmaServer.devices + "/o")
            #expect(
                after["properties"]
                    == .object(["drink": .string("tea"), "food": .string("meat"), "dish": .string("a < b")]))
        }
    }

    @Test func `a delivery time in the future makes a schedule`() async throws {
        try await CarmaServer.with { server in
            try await Self.register(server)
            let later = Self.request.replacing("null", with: #""2017-07-14T05:40:00+0200""#)
            #expect(try await server.send("POST", Self.trigger(server), later).status == 200)
            #expect(try await Self.pushes(server).isEmpty)
            let schedules = try await server.store.schedules(of: server.application.key, after: nil, limit: 9)
            #expect(schedules.map(\.dueAt) == [CarmaServer.now + .seconds(3_600)])
            let messages = try await server.store.carmaMessages(of: "o", server.application.key)
            #expect(messages.map(\.sentAt) == schedules.map(\.dueAt))
            let history = "/rest/42/lists/1000000001/contacts/o/messages"
            #expect(try await server.send("GET", history).body.contains(#""recieved":false"#))
            server.clock.advance(by: .seconds(3_600))
            #expect(try await server.send("GET", history).body.contains(#""recieved":true"#))
            let past = Self.request.replacing("null", with: #""2017-07-14T02:40:00+0200""#)
            let refused = try await server.send("POST", Self.trigger(server), past)
            #expect(refused.status == 400 && refused.body.contains("deliveryTime"), "\(refused.body)")
            #expect(try await Self.pushes(server).isEmpty)
        }
    }

    @Test func `a refused message leaves the history empty`() async throws {
        try await CarmaServer.with { server in
            try await Self.register(server)
            let long = String(repeating: "y", count: 40_000)
            let answer = try await server.send(
                "POST", Self.trigger(server), #"{"originalId":"o","properties":{"food":"\#(long)"}}"#)
            #expect(answer.status == 400, "\(answer)")
            #expect(try await Self.pushes(server).isEmpty)
            #expect(try await server.store.carmaMessages(of: "o", server.application.key).isEmpty)
        }
    }

    @Test func `values that make a page too long are refused`() async throws {
        try await CarmaServer.with { server in
            try await Self.register(server)
            let app = try #require(try await server.store.carmaApp(CarmaServer.appID, of: CarmaServer.customerID))
            let html = String(repeating: "{{x}}", count: 100)
            let template = try CarmaTemplate(
                try JSONValue(json: #"{"languages":{"en":{"alert":"a","html":"\#(html)"}}}"#.utf8))
            let trigger = try await server.store.createCarmaTrigger(template, of: app)
            for (length, status) in [(655, 200), (656, 400)] {
                let body = #"{"originalId":"o","properties":{"x":"\#(String(repeating: "y", count: length))"}}"#
                let answer = try await server.send("POST", "/rest/42/triggers/\(trigger.key)/messages", body)
                #expect(answer.status == status, "\(answer)")
            }
        }
    }

    @Test func `an unknown trigger, contact, list or page is a 404`() async throws {
        try await CarmaServer.with { server in
            try await Self.register(server)
            #expect(try await server.send("POST", "/rest/42/triggers/999/messages", Self.request).status == 404)
            let nobody = Self.request.replacing(#""o""#, with: #""nobody""#)
            #expect(try await server.send("POST", Self.trigger(server), nobody).status == 404)
            let nameless = Self.request.replacing(#""o""#, with: "null")
            #expect(try await server.send("POST", Self.trigger(server), nameless).status == 400)
            #expect(try await server.send("GET", "/rest/42/lists/7/contacts/o/messages").status == 404)
            #expect(try await server.send("GET", "/carma/content/guess", credentials: "").status == 404)
            #expect(try await Self.pushes(server).isEmpty)
        }
    }
}
