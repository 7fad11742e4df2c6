import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@testable import BelfryService

/// Requests as the publishers send them, and the pushes that they become.
@Suite struct PublisherTests {
    private static let key = "0123456789abcdef0123456789abcdef"

    private struct Server {
        let store: SQLiteStore
        let client: any TestClientProtocol
        let clock: ManualClock

        func post(
            _ path: String, _ body: String, _ headers: HTTPFields = [:], method: HTTPRequest.Method = .post
        ) async throws -> TestResponse {
            try await client.execute(uri: path, method: method, headers: headers, body: ByteBuffer(string: body))
        }

        /// The push that one request became.
        func push(
            _ path: String, _ body: String, _ headers: HTTPFields = [:], method: HTTPRequest.Method = .post,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> Push {
            let answer = try await post(path, body, headers, method: method)
            #expect(answer.status == .ok, "\(String(buffer: answer.body))", sourceLocation: sourceLocation)
            let pushes = try await store.allPushes()
            let push = pushes.max { $0.key.rawValue < $1.key.rawValue }
            return try #require(push, sourceLocation: sourceLocation)
        }
    }

    private static func with(
        _ kind: OpenEndpoint.Kind, options: [String: String] = ["topic": "alarms"],
        _ play: @escaping @Sendable (Server, BelfryService.Application) async throws -> Void
    ) async throws {
        let clock = ManualClock(at: Instant(milliseconds: 1_800_000_000_000))
        let store = try SQLiteStore.temporary(clock: clock)
        let application = try await store.create(.test(PlaintextVault()))
        _ = try await store.create(.test(.ios, of: application))
        _ = try await store.create(
            try NewOpenEndpoint(
                kind: kind, application: application.key, keyHash: SecretHash.of(key), options: options))
        let router = ResponseMiddleware.router(clock: clock)
        PublisherRoutes(Services(store, clock: clock)).add(to: router)
        try await Hummingbird.Application(router: router).test(.router) { client in
            try await play(Server(store: store, client: client, clock: clock), application)
        }
    }

    // MARK: ntfy

    @Test func `a text goes to the topic of its path`() async throws {
        try await Self.with(.ntfy, options: [:]) { server, _ in
            let push = try await server.push(
                "/ntfy/\(Self.key)/backups", "Backup successful",
                [
                    .init("Title")!: "Nightly", .init("Priority")!: "urgent", .init("Tags")!: "warning,nas",
                    .init("Click")!: "https://nas.example/log",
                ])
            #expect(push.content.body == "Backup successful")
            #expect(push.content.shared.title == "⚠️ Nightly")
            #expect(push.content.shared.link == "https://nas.example/log")
            #expect(push.content.shared.data["tags"] == .array([.string("nas")]))
            #expect(push.content.shared.sound == "default" && push.lane == .urgent)
        }
    }

    @Test func `the root takes JSON with the key as a credential`() async throws {
        try await Self.with(.ntfy, options: [:]) { server, _ in
            let body = #"{"topic":"door","message":"Open"}"#
            let basic = "Basic " + Data("any:\(Self.key)".utf8).base64EncodedString()
            for credential in ["Bearer \(Self.key)", basic] {
                let push = try await server.push("/", body, [.authorization: credential])
                #expect(push.content.body == "Open")
            }
            for (credential, status) in [("", 401), ("Bearer x", 401), ("Basic eDp5", 401), ("Digest a", 401)] {
                let answer = try await server.post("/", body, credential.isEmpty ? [:] : [.authorization: credential])
                #expect(answer.status.code == status, "\(credential)")
            }
            #expect(try await server.store.allPushes().count == 2)
        }
    }

    @Test func `JSON names its topic, and a link publishes`() async throws {
        try await Self.with(.ntfy, options: [:]) { server, _ in
            let push = try await server.push(
                "/ntfy/\(Self.key)",
                #"{"topic":"door","message":"Open","title":" Door\n","tags":[" door ",""],"priority":1}"#)
            #expect(push.content.shared.title == "🚪 Door" && push.lane == .bulk && push.content.shared.sound == nil)
            #expect(push.content.shared.data["tags"] == nil)
            let linked = try await server.push("/ntfy/\(Self.key)/door/trigger", "", method: .get)
            #expect(linked.content.body == "triggered")
            let unset = try await server.push(
                "/ntfy/\(Self.key)", #"{"topic":"door","message":"Open","priority":0}"#, [.init("Priority")!: "max"])
            #expect(unset.lane == .urgent)
            let named = try await server.push("/ntfy/\(Self.key)/door/send?message=Two+words&p=4&t=+", "", method: .get)
            #expect(named.content.body == "Two words" && named.lane == .urgent && named.content.shared.title == nil)
        }
    }

    /// As Apprise 2.3.0 sent it: Tests/Clients/peers/recorded/publishers.json.
    @Test func `headers beside JSON count where it says nothing`() async throws {
        try await Self.with(.ntfy, options: [:]) { server, _ in
            let push = try await server.push(
                "/ntfy/\(Self.key)", #"{"topic": "alarms", "title": "Disk", "message": "by ntfy"}"#,
                [.init("X-Priority")!: "high", .init("X-Tags")!: "=?UTF-8?B?d2FybmluZyxuYXM=?="])
            #expect(push.content.shared.title == "⚠️ Disk" && push.lane == .urgent)
            #expect(push.content.shared.data["tags"] == .array([.string("nas")]))
            let several = try await server.push(
                "/ntfy/\(Self.key)", #"{"topic": "alarms", "title": "Disk", "message": "Full"}"#,
                [.init("X-Tags")!: "=?UTF-8?B?d2FybmluZw==?=,=?UTF-8?B?bsOkcw==?=, two"])
            #expect(several.content.shared.title == "⚠️ Disk")
            #expect(several.content.shared.data["tags"] == .array([.string("näs"), .string("two")]))
            let own = try await server.push(
                "/ntfy/\(Self.key)", #"{"topic": "alarms", "title": "Disk", "tags": ["fire"], "priority": 1}"#,
                [.init("X-Priority")!: "high", .init("X-Tags")!: "warning"])
            #expect(own.content.shared.title == "🔥 Disk" && own.lane == .bulk)
            let plain = try await server.push("/ntfy/\(Self.key)/alarms", "Full", [.init("Priority")!: "u=1, i"])
            #expect(plain.content.body == "Full" && plain.lane == .normal)
        }
    }

    @Test func `a title may be an encoded word`() async throws {
        try await Self.with(.ntfy, options: [:]) { server, _ in
            for (title, text) in [
                ("=?UTF-8?B?S8Okc2U=?=", "Käse"), ("=?utf-8?q?K=C3=A4se?=", "Käse"),
                ("=?UTF-8?B?S8Okc2U=?= =?utf-8?q?_ist_da?=", "Käse ist da"),
                ("Der =?UTF-8?B?S8Okc2U=?= da", "Der Käse da"), ("=?iso-8859-1?b?S+RzZQ==?=", "Käse"),
                ("=?ISO-8859-1?Q?K=E4se_=3D=zz?=", "Käse ==zz"), ("=?koi8-r?q?x?=", "=?koi8-r?q?x?="),
            ] {
                let push = try await server.push("/ntfy/\(Self.key)/shop", "Fresh", [.init("Title")!: title])
                #expect(push.content.shared.title == text)
            }
        }
    }

    @Test(arguments: [
        (" Full\n", "", "Full"), ("\n", "", "triggered"), ("", #"one\ntwo"#, "one\ntwo"), (" ", "kept", "kept"),
        ("one", "two", "one"),
    ])
    func `a text has no blanks around it`(body: String, header: String, text: String) async throws {
        try await Self.with(.ntfy, options: [:]) { server, _ in
            let push = try await server.push(
                "/ntfy/\(Self.key)/shop", body, header.isEmpty ? [:] : [.init("Message")!: header])
            #expect(push.content.body == text)
        }
    }

    @Test(arguments: ["30m", "30 min", "1800s", "1800001800"])
    func `a delay makes a schedule`(delay: String) async throws {
        try await Self.with(.ntfy, options: [:]) { server, application in
            let answer = try await server.post("/ntfy/\(Self.key)/shop", "Later", [.init("Delay")!: delay])
            #expect(answer.status == .ok, "\(String(buffer: answer.body))")
            let schedules = try await server.store.schedules(of: application.key, after: nil, limit: 2)
            #expect(schedules.map(\.dueAt) == [server.clock.now + .seconds(1_800)])
            #expect(try await server.store.allPushes().isEmpty)
        }
    }

    @Test(arguments: [
        ("Delay", "soon", "delay"), ("Delay", "1s", "delay"), ("Delay", "99999999999d", "delay"),
        ("Priority", "6", "priority"),
        ("Click", "javascript:1", "click "), ("Attach", "http://plain.example/x.png", "attach "),
    ])
    func `a bad header is named`(name: String, value: String, field: String) async throws {
        try await Self.with(.ntfy, options: [:]) { server, _ in
            let answer = try await server.post("/ntfy/\(Self.key)/shop", "Hi", [.init(name)!: value])
            #expect(answer.status == .badRequest && String(buffer: answer.body).contains(field), "\(answer)")
        }
    }

    // MARK: The others

    @Test func `Gotify's JSON and forms become pushes`() async throws {
        try await Self.with(.gotify) { server, _ in
            let push = try await server.push(
                "/gotify/\(Self.key)/message?token=A1",
                #"{"title":"Disk","message":"full","priority":8,"extras":{"client::notification":{"click":{"url":"https://a.example"}}}}"#,
                [.contentType: "application/json"])
            #expect(push.content.shared.title == "Disk" && push.content.body == "full" && push.lane == .urgent)
            #expect(push.content.shared.link == "https://a.example")
            let form = try await server.push(
                "/gotify/\(Self.key)/message", "title=Disk&message=half+full&priority=1",
                [.contentType: "application/x-www-form-urlencoded"])
            #expect(form.content.body == "half full" && form.lane == .bulk)
            let parts = [("title", "Disk"), ("message", "nearly full"), ("priority", "9")].map {
                "--x\r\nContent-Disposition: form-data; name=\"\($0.0)\"\r\n\r\n\($0.1)\r\n"
            }
            let multipart = try await server.push(
                "/gotify/\(Self.key)/message?token=A1", parts.joined() + "--x--\r\n",
                [.contentType: "multipart/form-data; boundary=x"])
            #expect(multipart.content.shared.title == "Disk" && multipart.content.body == "nearly full")
            #expect(multipart.lane == .urgent)
            let extras = #"{"client::notification":{"click":{"url":"door"},"bigImageUrl":"http://cam.example/1.jpg"}}"#
            let bare = try await server.push(
                "/gotify/\(Self.key)/message", #"{"message":"Door","extras":\#(extras)}"#,
                [.contentType: "application/json"])
            #expect(bare.content.shared.link == nil && bare.content.shared.image == nil)
            #expect(bare.content.shared.data["extras"] != nil)
        }
    }

    @Test func `Apprise's failures are urgent, with large attachments too`() async throws {
        try await Self.with(.apprise) { server, _ in
            let file = #"{"filename":"a","base64":"\#(String(repeating: "A", count: Publication.bytesMax))"}"#
            let push = try await server.push(
                "/apprise/\(Self.key)",
                #"{"version":"1.0","title":"Job","message":"It failed","attachments":[\#(file)],"type":"failure"}"#)
            #expect(push.content.shared.title == "Job" && push.lane == .urgent)
        }
    }

    private static func alerts(_ status: String) -> String {
        #"{"version":"4","groupKey":"{}:{alertname=\"High\"}","status":"\#(status)","receiver":"phone","groupLabels":{"alertname":"High"},"#
            + #""commonLabels":{"alertname":"High","severity":"critical"},"commonAnnotations":{},"externalURL":"http://alerts.example","#
            + #""alerts":[{"status":"\#(status)","labels":{"instance":"a:9100"},"annotations":{"summary":"CPU of a is high"},"#
            + #""startsAt":"2026-11-20T10:00:00Z","generatorURL":"http://prometheus.example/graph?g0=1","fingerprint":"c1"},"#
            + #"{"status":"\#(status)","labels":{"instance":"b:9100"},"annotations":{"summary":"CPU of b is high"}}]}"#
    }

    @Test func `alerts say what fires, and their end replaces them`() async throws {
        try await Self.with(.alerts) { server, _ in
            let firing = try await server.push("/alerts/\(Self.key)", Self.alerts("firing"))
            #expect(firing.content.shared.title == "High: 2 firing" && firing.lane == .urgent)
            #expect(firing.content.body == "CPU of a is high\nCPU of b is high")
            #expect(firing.content.shared.link == "http://alerts.example")
            let resolved = try await server.push("/alerts/\(Self.key)", Self.alerts("resolved"))
            #expect(resolved.content.shared.title == "High is resolved" && resolved.lane != .urgent)
            let keys = [firing, resolved].compactMap(\.content.shared.collapseKey)
            #expect(keys.count == 2 && keys[0] == keys[1])
        }
    }

    @Test(arguments: [true, false]) func `a template makes the text of alerts`(isTemplate: Bool) async throws {
        try await Self.with(.alerts, options: ["everyone": "true", "template": "alarm"]) { server, application in
            var content = Push.Content(body: "{{values.alertname}} is {{values.status}} ({{values.count}})")
            content.isTemplate = isTemplate
            _ = try await server.store.create("alarm", content, of: application.key)
            let push = try await server.push("/alerts/\(Self.key)", Self.alerts("firing"))
            #expect(push.content.values["alertname"] == .text("High") && push.content.values["instance"] == nil)
            #expect(push.content.body == "{{values.alertname}} is {{values.status}} ({{values.count}})")
            #expect(push.content.isTemplate)
        }
    }

    @Test(arguments: [nil, "{{values.room}}"] as [String?])
    func `a template that cannot be filled loses no alert`(template: String?) async throws {
        try await Self.with(.alerts, options: ["everyone": "true", "template": "alarm"]) { server, application in
            if let template {
                _ = try await server.store.create("alarm", Push.Content(body: template), of: application.key)
            }
            let push = try await server.push("/alerts/\(Self.key)", Self.alerts("firing"))
            #expect(push.content.body == "CPU of a is high\nCPU of b is high" && !push.content.isTemplate)
        }
    }

    @Test(
        arguments: [
            (OpenEndpoint.Kind.ntfy, "ntfy/KEY/shop", "Fresh"), (.gotify, "gotify/KEY/message", "message=Fresh"),
            (.apprise, "apprise/KEY", #"{"message":"Fresh"}"#),
        ] as [(OpenEndpoint.Kind, String, String)])
    func `a template shows the message of any publisher`(
        kind: OpenEndpoint.Kind, path: String, body: String
    ) async throws {
        try await Self.with(kind, options: ["everyone": "true", "template": "alarm"]) { server, application in
            var content = Push.Content(body: "Now: {{values.message}}")
            content.isTemplate = true
            _ = try await server.store.create("alarm", content, of: application.key)
            let push = try await server.push("/" + path.replacing("KEY", with: Self.key), body)
            #expect(push.content.values == ["message": .text("Fresh")])
        }
    }

    @Test func `values that are too long for a template are cut`() async throws {
        try await Self.with(.alerts, options: ["everyone": "true", "template": "alarm"]) { server, application in
            let content = Push.Content(body: "{{values.summary}} {{values.description}}")
            _ = try await server.store.create("alarm", content, of: application.key)
            let long = String(repeating: "x", count: 9_000)
            let push = try await server.push(
                "/alerts/\(Self.key)",
                #"{"alerts":[{}],"commonAnnotations":{"summary":"\#(long)","description":"\#(long)"}}"#)
            let cut = UserAttribute.text(long.cut(toBytes: 512))
            #expect(push.content.values == ["summary": cut, "description": cut])
        }
    }

    @Test func `a new endpoint names a template that there is`() async throws {
        try await Self.with(.alerts) { server, application in
            let create = {
                try await OpenEndpointService(store: server.store).create(
                    .alerts, of: application, options: ["everyone": "true", "template": "alarm"],
                    by: .local(systemUser: "test"))
            }
            await #expect(throws: InvalidInput.self) { try await create() }
            _ = try await server.store.create("alarm", Push.Content(body: "Hi"), of: application.key)
            #expect(try await create().endpoint.options["template"] == "alarm")
        }
    }

    @Test func `text of a publisher has no placeholders`() async throws {
        let options = ["everyone": "true", "template": "alarm"]
        for kind in [OpenEndpoint.Kind.alerts, .gotify] {
            try await Self.with(kind, options: options) { server, application in
                var content = Push.Content(body: "{{values.alertname | default: 'Alarm'}}")
                content.isTemplate = true
                _ = try await server.store.create("alarm", content, of: application.key)
                let link = "https://g.example/{{user.id}}"
                let body =
                    kind == .alerts
                    ? #"{"alerts":[{"dashboardURL":"\#(link)"}],"commonLabels":{"alertname":"{{device.id}}"}}"#
                    : #"{"message":"{{user.id}}","extras":{"a":["{{{user.id}}"],"client::notification":{"click":{"url":"\#(link)"}}}}"#
                let path = kind == .alerts ? "/alerts/\(Self.key)" : "/gotify/\(Self.key)/message"
                let push = try await server.push(path, body, [.contentType: "application/json"])
                let isOfSender = try push.content.placeholders().allSatisfy { placeholder in
                    switch placeholder.source {
                    case .text, .value: true
                    default: false
                    }
                }
                #expect(isOfSender)
                #expect(push.content.shared.link == "https://g.example/{{ '{{' }}user.id}}")
                if kind == .gotify {
                    #expect(push.content.shared.data["extras"]?["a"] == .strings(["{{ '{{' }}{user.id}}"]))
                }
            }
        }
    }

    // MARK: Hostile and mistaken callers

    @Test func `a large group is counted, its first alerts told`() async throws {
        try await Self.with(.alerts) { server, _ in
            let alerts = (0..<2_000).map { number in
                let summary = "alert \(number) \(String(repeating: "x", count: 150))"
                return #"{"status":"\#(number < 10 ? "resolved" : "firing")","annotations":{"summary":"\#(summary)"}}"#
            }
            let push = try await server.push(
                "/alerts/\(Self.key)",
                #"{"status":"firing","truncatedAlerts":500,"alerts":[\#(alerts.joined(separator: ","))]}"#)
            #expect(push.content.shared.title == "alerts: 1990 firing")
            #expect(push.content.body?.hasPrefix("alert 0 x") == true)
            #expect(push.content.body?.hasSuffix("and 2492 more") == true, "\(push.content.body ?? "")")
        }
    }

    /// Senders do not repeat what was refused.
    @Test func `an alert that is too long is cut`() async throws {
        try await Self.with(.alerts) { server, _ in
            let long = String(repeating: "x", count: 9_000)
            let alert = #"{"generatorURL":"https://p.example/?\#(long)","annotations":{"summary":"\#(long)"}}"#
            let push = try await server.push(
                "/alerts/\(Self.key)",
                #"{"alerts":[\#(alert)],"commonLabels":{"alertname":"\#(long)"},"externalURL":"https://a.example"}"#)
            #expect(push.content.shared.link == "https://a.example" && push.content.body?.utf8.count == 2_048)
            #expect(push.content.shared.title?.utf8.count == 256)
        }
    }

    @Test(arguments: [("x", 5_000, 2_048), ("x", 200_000, 2_048), ("\"", 5_000, 512)])
    func `a text that is too long is cut`(character: String, count: Int, kept: Int) async throws {
        try await Self.with(.ntfy, options: [:]) { server, _ in
            let push = try await server.push("/ntfy/\(Self.key)/shop", String(repeating: character, count: count))
            #expect(push.content.body?.utf8.count == kept && push.content.body?.hasSuffix("…") == true)
        }
    }

    @Test func `a form with U+0000 names its field`() async throws {
        try await Self.with(.gotify) { server, _ in
            let part = "--x\r\nContent-Disposition: form-data; name=\"message\"\r\n\r\na\0b\r\n--x--\r\n"
            for (type, body) in [
                ("application/x-www-form-urlencoded", "message=a%00b"), ("multipart/form-data; boundary=x", part),
            ] {
                let answer = try await server.post("/gotify/\(Self.key)/message", body, [.contentType: type])
                #expect(answer.status == .badRequest, "\(answer)")
                #expect(String(buffer: answer.body).contains("message has the character U+0000"), "\(type)")
            }
        }
    }

    @Test(
        arguments: [
            (OpenEndpoint.Kind.gotify, "gotify/KEY/message", "{}"), (.apprise, "apprise/KEY", "[]"),
            (.apprise, "apprise/KEY", #"{"message":7}"#),
            (.alerts, "alerts/KEY", #"{"alerts":{}}"#), (.alerts, "alerts/KEY", "{"),
            (.ntfy, "ntfy/KEY", #"{"message":"x"}"#), (.ntfy, "ntfy/KEY/a", "a\0b"),
            (.ntfy, "ntfy/KEY/a?delay=10s", "a\0b"), (.ntfy, "ntfy/KEY/a?title=%00", "a"),
            (.ntfy, "ntfy/KEY", #"{"topic":"a","delay":"x"}"#), (.ntfy, "ntfy/KEY", #"{"topic":"a","tags":"x"}"#),
        ] as [(OpenEndpoint.Kind, String, String)])
    func `an unreadable request gets a 400`(kind: OpenEndpoint.Kind, path: String, body: String) async throws {
        try await Self.with(kind) { server, _ in
            let answer = try await server.post(
                "/" + path.replacing("KEY", with: Self.key), body, [.contentType: "application/json"])
            #expect(answer.status == .badRequest, "\(answer)")
            #expect(try await server.store.allPushes().isEmpty)
        }
    }

    @Test func `a key opens one kind of path alone`() async throws {
        try await Self.with(.ntfy, options: [:]) { server, _ in
            let message = #"{"message":"Hi","alerts":[]}"#
            for path in ["gotify/\(Self.key)/message", "apprise/\(Self.key)", "alerts/\(Self.key)", "ntfy/other/shop"] {
                let answer = try await server.post("/\(path)", message)
                #expect(answer.status == .notFound, "\(path)")
            }
        }
    }

    @Test func `a body over the limit is a 413`() async throws {
        try await Self.with(.ntfy, options: [:]) { server, _ in
            let long = String(repeating: "a", count: Publication.bytesMax + 1)
            let answer = try await server.post("/ntfy/\(Self.key)/shop", long)
            #expect(answer.status == .contentTooLarge)
        }
    }

    @Test(arguments: [[:], ["topic": ""], ["topics": "a"], ["everyone": "no"], ["topic": "a", "template": ""]])
    func `an endpoint says who gets its messages`(options: [String: String]) throws {
        #expect(throws: InvalidInput.self) {
            _ = try NewOpenEndpoint(kind: .alerts, application: Key(1), keyHash: [1], options: options)
        }
    }
}
