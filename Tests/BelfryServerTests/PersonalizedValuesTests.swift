import BelfryProviders
import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// A push that says something else to each device, from the API to APNs.
extension ServerTests {
    @Suite struct FillingTests {}
}

extension ServerTests.FillingTests {
    private static func register(_ token: Character, _ user: String?, on server: TestServer) async throws -> UUID {
        let user = user.map { #","custom_user_id":"\#($0)""# } ?? ""
        let reply = try await server.app.send(
            "POST", "/v1/registration",
            #"{"registration_token":"\#(String(repeating: token, count: 64))"\#(user)}"#)
        let uuid = try JSONValue(json: reply.body.utf8)["device_uuid"]?.stringValue
        return try #require(uuid.flatMap { UUID(uuidString: $0) }, "\(reply)")
    }

    private static func sent(_ token: Character, to server: TestServer) throws -> JSONValue {
        let bytes = [UInt8](repeating: UInt8(String([token, token]), radix: 16) ?? 0, count: 32)
        return try JSONValue(json: try #require(server.simulator.ledger.token(bytes)?.lastRequest?.payload).utf8)
    }

    @Test func `each device gets its own number, name and link`() async throws {
        try await TestServer.open(
            configure: { $0.pcf.verifiesCustomUserIDs = false },
            simulate: { simulation in
                simulation.listening.ledgerDetail = .payloads
                simulation.parsesPayloads = true
            }
        ) { server in
            let anna = try await Self.register("a", "anna", on: server)
            _ = try await Self.register("b", nil, on: server)
            let profile = try UserProfile(
                language: "de", timeZone: nil, attributes: ["name": .text("Anna \"A\"")])
            _ = try await server.store.setUser("anna", of: server.application.application.key) { _ in profile }
            let body = """
                {"target":{"platform":"all"},"message":{"template":true,
                 "body":"Hi {{ user.name | default: 'you' }}","custom":{"ios":{"badge":"+1",
                 "extra":{"link":"{{ 'https://shop.example/x' | signed_link }}","id":"{{device.id}}"}}}}}
                """
            for number in 1...2 {
                let receipt = try await server.settled(try await server.sender.push(body))
                #expect(receipt.counts.filter { $0.value > 0 } == [.accepted: 2])
                let (first, second) = (try Self.sent("a", to: server), try Self.sent("b", to: server))
                #expect(first["aps"]?["alert"] == .string("Hi Anna \"A\""))
                #expect(second["aps"]?["alert"] == .string("Hi you"))
                for payload in [first, second] { #expect(payload["aps"]?["badge"] == .integer(Int64(number))) }
                #expect(first["id"] == .string(anna.uuidString.lowercased()))
                try await Self.check(try #require(first["link"]?.stringValue), of: anna, user: "anna", server)
            }
            // A number sets it, and counting goes on from there.
            let set = #"{"target":{"platform":"all"},"message":{"body":"x","custom":{"ios":{"badge":7}}}}"#
            _ = try await server.settled(try await server.sender.push(set))
            let up = #"{"target":{"devices":["\#(anna.uuidString)"]},"message":{"body":"x","badge":"+2"}}"#
            _ = try await server.settled(try await server.sender.push(up))
            #expect(try Self.sent("a", to: server)["aps"]?["badge"] == .integer(9))
            #expect(try Self.sent("b", to: server)["aps"]?["badge"] == .integer(7))
        }
    }

    @Test func `plurals and dates reach APNs and FCM by language`() async throws {
        var configuration = FCMConfiguration()
        configuration.listening.ledgerDetail = .payloads
        let fcm = try await FCMSimulator.start(configuration)
        let result = await Result {
            try await TestServer.open(
                configure: { $0.pcf.verifiesCustomUserIDs = false },
                simulate: { simulation in
                    simulation.listening.ledgerDetail = .payloads
                    simulation.parsesPayloads = true
                }
            ) { server in
                let android = try await server.operatorService.createPlatform(
                    of: server.application.application, kind: .androidFCM, mode: .production, name: "Android",
                    credentials: FCMPlatformCredentials(
                        serviceAccount: fcm.serviceAccountJSON, endpoint: fcm.url, trustRootsPEM: fcm.trustRootPEM))
                let app = Caller(
                    base: server.addresses.http, user: android.platform.uuid.lowercased, secret: android.secret)
                let reply = try await app.send(
                    "POST", "/v1/registration", #"{"registration_token":"fine","custom_user_id":"olga"}"#)
                #expect(reply.status == 200, "\(reply)")
                _ = try await Self.register("a", "anna", on: server)
                for (user, language, visits) in [("anna", "en", 1.0), ("olga", "ru", 22)] {
                    let profile = try UserProfile(
                        language: language, timeZone: "Asia/Tokyo", attributes: ["visits": .number(visits)])
                    _ = try await server.store.setUser(user, of: server.application.application.key) { _ in profile }
                }
                let id = try await server.sender.push(
                    #"""
                    {"target": {"platform": "all"}, "message": {"template": true, "language": "en",
                     "values": {"end": {"time": "2027-03-01T20:00:00Z"}},
                     "body": "{{ user.visits | plural: one: '# \"visit\"', other: '# visits' }} to {{ values.end | date: 'long' }}",
                     "translations": {"ru": {"body":
                      "{{ user.visits | plural: one: '# визит', few: '# \"визита\"', other: '# визитов' }} {{ values.end | date: 'long' }}"}}}}
                    """#)
                let receipt = try await server.settled(id)
                #expect(receipt.counts.filter { $0.value > 0 } == [.accepted: 2])
                #expect(try Self.sent("a", to: server)["aps"]?["alert"] == .string("1 \"visit\" to March 2, 2027"))
                let message = try #require(fcm.ledger.token(Array("fine".utf8))?.lastRequest?.payload)
                #expect(
                    try JSONValue(json: message.utf8)["message"]?["notification"]?["body"]
                        == .string("22 \"визита\" 2 марта 2027\u{202F}г."))
            }
        }
        try await fcm.shutdown()
        try result.get()
    }

    /// Checks a link as its server does, with the application's shared secret.
    private static func check(_ link: String, of device: UUID, user: String, _ server: TestServer) async throws {
        let parts = link.components(separatedBy: "&signature=")
        #expect(parts.count == 2)
        let query = try #require(URLComponents(string: link)?.queryItems)
        #expect(query.map(\.name) == ["device", "user", "push", "expires", "signature"])
        #expect(query[0].value == device.uuidString.lowercased() && query[1].value == user)
        let secret = server.application.sharedSecret
        let code = try await Scratch.with { scratch in
            let (text, code) = (try scratch.write(parts[0], to: "link"), scratch.file("code"))
            try await OpenSSL(scratch: scratch).run([
                "dgst", "-sha256", "-mac", "HMAC", "-macopt", "hexkey:\(secret)", "-binary", "-out", code, text,
            ])
            return try Data(contentsOf: URL(filePath: code))
        }
        let expected = code.base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        #expect(parts.last == expected)
    }

    @Test func `an invalid template is refused with field and choices`() async throws {
        try await TestServer.open { server in
            let rows = [
                (
                    #"{"body":"{{name}}","template":true}"#,
                    "message.body names {{name}}, a template has badge, device.id"
                ),
                (
                    #"{"body":"{{badge | plural: one: '#'}}","template":true}"#,
                    "message.body has the filter 'plural', which has no text for other (at character 1)"
                ),
                (#"{"body":"x","badge":"1"}"#, "message.badge has to be a whole number from 0 to 2147483647"),
                (#"{"body":"x","badge":"+0"}"#, "message.badge is '+0', it counts up by +1 to +1000000"),
            ]
            for (message, words) in rows {
                let reply = try await server.sender.send(
                    "POST", "/v1/push", #"{"target":{"platform":"all"},"message":\#(message)}"#)
                #expect(reply.status == 400 && reply.body.contains(words), "\(reply)")
            }
            // Senders that know nothing of templates send braces as they always did.
            _ = try await server.sender.push(#"{"target":{"platform":"all"},"message":{"body":"{{name}}"}}"#)
        }
    }
}
