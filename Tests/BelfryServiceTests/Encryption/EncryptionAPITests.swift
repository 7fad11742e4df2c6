import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Keys and encrypted messages through the APIs, and the ways by which plain text is refused.
@Suite struct EncryptionAPITests {
    private struct Fixture {
        let server: TestAdminServer
        let here: TestAdminServer.TestResources

        init(isEncryptedOnly: Bool = false) async throws {
            server = try await TestAdminServer()
            here = try await server.resources("here")
            if isEncryptedOnly {
                let edited = try await send(.patch, "", #"{"encrypted_only":true}"#)
                #expect(edited["encrypted_only"] == .bool(true), "\(edited)")
            }
        }

        func send(_ method: HTTPRequest.Method, _ rest: String, _ body: String? = nil) async throws -> TestAnswer {
            let app = "apps/\(here.application.uuid.lowercased)"
            return try await server.send(method, rest.isEmpty ? app : "\(app)/\(rest)", body)
        }

        /// Registers a device with keys, or without.
        func device(_ number: UInt8, keys: EncryptionKeys? = nil, user: String? = nil) async throws -> Device {
            try await server.store.register(
                try Registration(
                    token: DeviceToken(bytes: [UInt8](repeating: number, count: 32)), about: .init(),
                    customUserID: user.map { .set($0) } ?? .keep, topics: .keep,
                    detail: DeviceDetail.Change(encryptionKeys: keys)), as: nil, on: here.platform)
        }

        func push(_ devices: [Device], _ more: String = "", message: String = "") async throws -> TestAnswer {
            let messages = devices.map { #""\#($0.uuid.lowercased)":"\#(EncryptedSample.message())""# }
            return try await send(
                .post, "pushes",
                #"{"message":{\#(message)"encrypted":{\#(messages.joined(separator: ","))}}\#(more)}"#)
        }
    }

    private static func expectPlainText(_ answer: TestAnswer, _ place: String = "") {
        #expect(
            answer.status == 400 && answer.message?.contains("takes message.encrypted alone") == true,
            "\(place): \(answer)")
    }

    @Test func `keys are listed for a user, an expression and everyone`() async throws {
        let fixture = try await Fixture()
        let keys = try EncryptedSample.keys()
        let device = try await fixture.device(7, keys: keys, user: "ann")
        let others = [try await fixture.device(8, keys: keys), try await fixture.device(9)]
        let ann = try await fixture.send(.post, "encryption-keys", #"{"target":{"custom_user_ids":["ann"]}}"#)
        #expect(ann.status == 200 && ann["next_cursor"] == .null, "\(ann)")
        #expect(
            ann["devices"]
                == .array([
                    .object([
                        "device_uuid": .string(device.uuid.lowercased), "type": .string("ios"),
                        "p256dh": .string(keys.p256dh), "auth": .string(keys.auth),
                    ])
                ]))
        for body in [#"{"target":{"everyone":true}"#, #"{"where":"everyone""#] {
            let first = try await fixture.send(.post, "encryption-keys", body + #","limit":1}"#)
            let cursor = try #require(first["next_cursor"]?.stringValue, "\(first)")
            let second = try await fixture.send(.post, "encryption-keys", body + #","limit":1,"cursor":"\#(cursor)"}"#)
            #expect(first.text.contains(device.uuid.lowercased) && second.text.contains(others[0].uuid.lowercased))
            #expect(!(first.text + second.text).contains(others[1].uuid.lowercased))
        }
        let shown = try await fixture.server.send(
            .get, "apps/\(fixture.here.application.uuid.lowercased)/devices/\(device.uuid.lowercased)")
        #expect(shown["encryption_keys"]?["auth"] == .string(keys.auth), "\(shown)")
    }

    @Test(arguments: [
        (#"{}"#, "target"), (#"{"where":"everyone","target":{"everyone":true}}"#, "where"),
        (#"{"where":"everyone","limit":101}"#, "limit"), (#"{"where":"everyone","limit":0}"#, "limit"),
        (#"{"where":"everyone","cursor":"x"}"#, "cursor"), (#"{"target":{"channels":["x"]}}"#, "target.channels"),
        (#"{"where":"everyone","x":1}"#, "'x'"),
    ])
    func `a wrong question for keys names its field`(body: String, field: String) async throws {
        let fixture = try await Fixture()
        let answer = try await fixture.send(.post, "encryption-keys", body)
        #expect(answer.status == 400 && answer.message?.hasPrefix(field) == true, "\(answer)")
    }

    @Test func `an encrypted push goes to its devices, with the alert`() async throws {
        let fixture = try await Fixture()
        let edited = try await fixture.send(.patch, "", #"{"encrypted_alert":" Post für Sie "}"#)
        #expect(edited["encrypted_alert"] == .string("Post für Sie") && edited["encrypted_only"] == .bool(false))
        let devices = [try await fixture.device(7), try await fixture.device(8)]
        let pushed = try await fixture.push(devices, message: #""badge":"+1","#)
        #expect(pushed.status == 201, "\(pushed)")
        let push = try #require(
            try await fixture.server.store.allPushes().first {
                $0.receiptID.lowercased == pushed["receipt_id"]?.stringValue
            })
        #expect(push.content.encrypted?.alert == "Post für Sie" && push.content.encrypted?.messages.count == 2)
        #expect(push.content.summary == "[encrypted message]")
        var reached: Set<Key<Device>> = []
        try await fixture.server.store.deliver { batch, device in
            if batch.pushKey == push.key { reached.insert(device) }
            return .accepted
        }
        #expect(reached == Set(devices.map(\.key)))
        let shown = try await fixture.server.send(.get, "pushes/\(push.receiptID.lowercased)")
        #expect(shown.text.contains(EncryptedSample.message()), "its sender sees what it sent: \(shown)")
    }

    @Test func `an encrypted push is not updated`() async throws {
        let fixture = try await Fixture()
        let device = try await fixture.device(7)
        let pushed = try await fixture.push([device])
        try await fixture.server.store.deliver { _, _ in .accepted }
        let id = try #require(pushed["receipt_id"]?.stringValue, "\(pushed)")
        let update = try await fixture.server.send(
            .post, "pushes/\(id)/update",
            #"{"message":{"encrypted":{"\#(device.uuid.lowercased)":"\#(EncryptedSample.message())"}}}"#)
        #expect(update.status == 400 && update.text.contains("retract the push and send another"), "\(update)")
    }

    @Test func `an encrypted push says nothing else, to nobody else`() async throws {
        let fixture = try await Fixture()
        let device = try await fixture.device(7)
        for message in [
            #""body":"x","#, #""title":"x","#, #""data":{"a":1},"#, #""custom":{"ios":{}},"#, #""collapse_key":"x","#,
            #""link":"https://a.example","#, #""translations":{"de":{"body":"x"}},"#,
        ] {
            let answer = try await fixture.push([device], message: message)
            #expect(answer.status == 400 && answer.message?.hasPrefix("message") == true, "\(message): \(answer)")
        }
        for more in [
            #","target":{"everyone":true}"#, #","target":{"devices":["\#(UUID().lowercased)"]}"#,
            #","template":"welcome""#, #","target":{"topics":["news"]}"#,
        ] {
            #expect(try await fixture.push([device], more).status == 400, "\(more)")
        }
        let later = try await fixture.push([device], #","send_at":"2100-01-01T00:00:00Z""#)
        #expect(later.status == 201 || later.status == 202, "\(later)")
    }

    /// Nothing is stored of any of them.
    @Test func `the admin API refuses plain text on every path`() async throws {
        let fixture = try await Fixture(isEncryptedOnly: true)
        let here = fixture.here
        let (before, schedules) = (
            try await fixture.server.store.allPushes().count,
            try await fixture.send(.get, "schedules").text
        )
        let everyone = #""target":{"everyone":true}"#
        for (method, path, body) in [
            (.post, "pushes", #"{"message":{"body":"plain"},\#(everyone)}"#),
            (.post, "pushes", #"{"message":{"data":{"a":"plain"}},\#(everyone)}"#),
            (.post, "pushes", #"{"message":{"custom":{"android":{"a":"plain"}}},\#(everyone)}"#),
            (.post, "pushes", #"{"message":{"body":"plain"},\#(everyone),"send_at":"2100-01-01T00:00:00Z"}"#),
            (.post, "pushes", #"{"template":"welcome",\#(everyone)}"#),
            (.patch, "schedules/\(here.schedule.key.id)", #"{"message":{"body":"plain"}}"#),
            (.post, "templates", #"{"name":"t","message":{"body":"plain"}}"#),
            (.patch, "templates/welcome", #"{"message":{"body":"plain"}}"#),
            (.post, "campaigns", #"{"name":"c","message":{"body":"plain"},\#(everyone)}"#),
            (
                .post, "geofences",
                #"{"location_ids":[\#(here.location.key)],"trigger":"enter","data":{"ios":{"alertBody":"plain"}},"expires_at":"2100-01-01T00:00:00Z"}"#
            ),
        ] as [(HTTPRequest.Method, String, String)] {
            Self.expectPlainText(try await fixture.send(method, path, body), "\(path) \(body)")
        }
        let test = try await fixture.send(
            .post, "devices/\(here.device.uuid.lowercased)/test-push", #"{"message":{"body":"plain"}}"#)
        Self.expectPlainText(test, "test push")
        #expect(try await fixture.server.store.allPushes().count == before)
        #expect(try await fixture.send(.get, "schedules").text == schedules)
        let device = try await fixture.device(7)
        #expect(try await fixture.push([device]).status == 201)
    }

    @Test func `a schedule of before is refused when it is due`() async throws {
        let fixture = try await Fixture()
        let made = try await fixture.send(
            .post, "pushes",
            #"{"message":{"body":"plain"},"target":{"everyone":true},"send_at":"2100-01-01T00:00:00Z"}"#)
        #expect(made["schedule_id"] != nil, "\(made)")
        _ = try await fixture.send(.patch, "", #"{"encrypted_only":true}"#)
        let store = fixture.server.store
        let schedule = try #require(
            try await store.schedules(of: fixture.here.application.key, after: nil, limit: 10)
                .first { $0.key.id == made["schedule_id"]?.stringValue })
        let builder = PushBuilder(store: store, clock: fixture.server.clock)
        await #expect(throws: InvalidInput.self) {
            try await builder.build(schedule.pushRequest, for: fixture.here.application.key)
        }
    }

    @Test func `retractions and other servers' encrypted messages still go`() async throws {
        let fixture = try await Fixture()
        let device = try await fixture.device(7)
        let pushed = try await fixture.push([device])
        let receipt = try #require(pushed["receipt_id"]?.stringValue)
        try await fixture.server.store.deliver { _, _ in .accepted }
        _ = try await fixture.send(.patch, "", #"{"encrypted_only":true}"#)
        let retracted = try await fixture.server.send(.post, "pushes/\(receipt)/retract")
        #expect(200..<300 ~= retracted.status, "\(retracted)")
        let rig = try await WebPushRig(.on)
        try await rig.store.edit(rig.application.key, ApplicationEdit(takesEncryptedOnly: true))
        for kind in [PlatformKind.ios, .androidFCM, .web] {
            let path = try await rig.endpoint(of: try await rig.device(kind), kind)
            #expect(try await rig.post(path).status == 201, "\(kind)")
        }
    }
}

/// The same by PCF's API and those of other servers.
@Suite struct PlainTextTests {
    @Test func `PCF's API refuses plain text and takes encrypted`() async throws {
        let server = try await TestServer()
        try await server.store.edit(server.application.key, ApplicationEdit(takesEncryptedOnly: true))
        let device = try await server.device("aaaa")
        for message in [#"{"body":"plain"}"#, #"{"custom":{"ios":{"alert":{"body":"plain"}}}}"#] {
            let answer = try await server.send(
                .post, "/v1/push", as: .sender, #"{"message":\#(message),"target":{"platforms":["ios"]}}"#)
            #expect(answer.status == 400 && answer.text.contains("message.encrypted"), "\(answer)")
        }
        #expect(try await server.store.allPushes().isEmpty)
        let sent = try await server.send(
            .post, "/v1/push", as: .sender,
            #"{"message":{"encrypted":{"\#(device.lowercased)":"\#(EncryptedSample.message())"}},"target":{"devices":["\#(device.lowercased)"]}}"#
        )
        #expect(200..<300 ~= sent.status, "\(sent)")
        #expect(try await server.store.allPushes().count == 1)
    }

    @Test func `an app registers keys, and wrong ones are named`() async throws {
        let server = try await TestServer()
        let keys = try EncryptedSample.keys()
        let device = try await server.device(
            "aaaa", #","encryption_keys":{"p256dh":"\#(keys.p256dh)","auth":"\#(keys.auth)"}"#)
        let kept = try #require(try await server.store.device(device, on: server.ios.key))
        #expect(try await server.store.detail(of: kept.key, on: server.ios.key)?.encryptionKeys == keys)
        let wrong = try await server.register(
            #"{"registration_token":"aaaa","encryption_keys":{"p256dh":"AAAA","auth":"\#(keys.auth)"}}"#)
        #expect(wrong.status == 400 && wrong.text.contains("encryption_keys.p256dh"), "\(wrong)")
    }

    @Test func `PCF's geofences are refused too`() async throws {
        let server = try await TestMapServer()
        let location = try await server.locate()
        let before = try await server.send(.post, "/v1/geofence", TestMapServer.geofence([location]))
        try await server.store.edit(server.application.key, ApplicationEdit(takesEncryptedOnly: true))
        let refused = try await server.send(.post, "/v1/geofence", TestMapServer.geofence([location]))
        #expect(refused.status == 400 && refused.text.contains("message.encrypted"), "\(refused)")
        let id = try before.id
        #expect(try await server.send(.put, "/v1/geofence/\(id)", #"{"tags":[]}"#).status == 400)
        #expect(try await server.send(.delete, "/v1/geofence/\(id)").status == 204)
    }

    @Test func `a gateway for tokens refuses and registers nothing`() async throws {
        try await GatewayServer.with(.gorush) { server in
            try await server.store.edit(server.application.key, ApplicationEdit(takesEncryptedOnly: true))
            _ = try await server.post(
                "/gorush/\(GatewayServer.key)/api/push",
                #"{"notifications":[{"tokens":["\#(GatewayServer.appleToken)"],"platform":1,"message":"plain"}]}"#)
            #expect(try await server.pushes.isEmpty)
            #expect(try await server.store.allDevices().isEmpty)
        }
    }

    @Test func `the compose page says that the back end sends`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let app = "/apps/\(contents.application.uuid.lowercased)"
        let saved = try await browser.post(
            "\(app)/settings", [("name", "dairy"), ("encrypted_only", "on"), ("encrypted_alert", "Post")])
        #expect(saved.status == .seeOther, "\(saved.text)")
        let edited = try #require(try await dashboard.store.application(contents.application.key)?.deliveryRules)
        #expect(edited.takesEncryptedOnly && edited.encryptedAlert == "Post")
        #expect(try await browser.get("\(app)/settings").contains(#"name="encrypted_only""#))
        let page = try await browser.get("\(app)/compose")
        #expect(page.contains("encrypted for each device") && !page.contains("name=\"body\""))
        let before = try await dashboard.store.allPushes().count
        let review = try await browser.post("\(app)/compose", [("body", "plain"), ("audience", "everyone")])
        #expect(review.contains("takes message.encrypted alone"), "\(review.status)")
        _ = try await browser.post(
            "\(app)/compose", [("body", "plain"), ("audience", "everyone"), ("action", "send")])
        #expect(try await dashboard.store.allPushes().count == before)
    }
}
