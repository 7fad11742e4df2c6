import BelfryProviders
import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// Faults of the field, as the whole program meets them.
extension ServerTests {
    @Suite(.timeLimit(.minutes(20))) struct FieldFaultTests {}
}

extension ServerTests.FieldFaultTests {
    private static let data =
        #"{"id":123456789012345678901234567890,"price":12.50,"one":1.0,"zero":-0,"é":1,"e"#
        + "\u{301}\":2,\"z\":[1E+2],\"a\":{\"b\":1.10}}"

    private static func holds(_ text: String, _ part: String) -> Bool {
        Array(text.utf8).firstRange(of: Array(part.utf8)) != nil
    }

    /// The push waits in the database while its node ends and another starts.
    @Test func `custom data arrive as written after restart and retries`() async throws {
        try await TestInstallation.with(simulate: { simulation in
            simulation.listening.ledgerDetail = .payloads
        }) { installation in
            let token = String(repeating: "ab", count: 32)
            let made = try await installation.run(
                "device", "create", "--app", installation.application, "--platform", installation.platform, "--token",
                token)
            #expect(made.status == 0, "\(made)")
            let bytes = [UInt8](repeating: 0xAB, count: 32)
            installation.simulator.script.add(
                ServiceFault(then: .answer(ScriptedAnswer("TooManyRequests"))))
            let first = try await installation.serve()
            defer { first.endAtOnce() }
            let pushed = try await installation.run(
                "push", "--app", installation.application, "--everyone", "--yes", "--body", "B", "--data", Self.data,
                "--json")
            #expect(pushed.status == 0, "\(pushed)")
            let id = try #require(
                try JSONValue(json: pushed.out.utf8)["receipt_id"]?.stringValue.flatMap { UUID(uuidString: $0) })
            try await eventually("it was tried") {
                installation.simulator.ledger.totals().refused > 0
            }
            try await first.end(SIGKILL)
            installation.simulator.script.clear()
            let second = try await installation.serve()
            defer { second.endAtOnce() }
            let receipt = try await installation.settled(id)
            #expect(receipt.counts == ["accepted": 1])
            let payload = try #require(installation.simulator.ledger.token(bytes)?.lastRequest?.payload)
            let members = String(Self.data.dropFirst().dropLast())
            // The server's own member stands among them, at its place by name.
            let own = payload.replacing(#""receiptId":"\#(id.uuidString.lowercased())","#, with: "")
            #expect(Self.holds(own, members), "\(payload)")
            let shown = try await installation.run("receipt", id.uuidString, "--json")
            #expect(shown.status == 0, "\(shown)")
            try await second.end(SIGTERM)
        }
    }

    /// The server has read before that nothing was imported on the platform.
    @Test func `imported UUIDs are known when the command ends`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let app = installation.app(at: try await server.addresses().http)
            for number in 1...3 {
                let uuid = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeee\(number)"
                let token = String(repeating: "0\(number)", count: 32)
                #expect(try await app.send("GET", "/v1/registration/\(uuid)").status == 404)
                let list = try installation.scratch.write(
                    "uuid,token,topics\n\(uuid),\(token),town\n", to: "list\(number).csv")
                let ended = try await installation.run(
                    "import", "devices", "--app", installation.application, "--format", "csv", "--map",
                    "uuid=uuid,token=token,topics=topics", list)
                #expect(ended.status == 0, "\(ended)")
                let answer = try await app.send("PUT", "/v1/registration/\(uuid)", #"{"tags":{"subscribe":["new"]}}"#)
                #expect(answer.status == 200 && answer.body.contains(uuid), "\(number): \(answer)")
                #expect(answer.body.contains("town"), "\(answer)")
            }
            try await server.end(SIGTERM)
        }
    }

    /// PowerShell writes UTF-16 where its output goes to a file.
    @Test(arguments: [String.Encoding.utf16LittleEndian, .utf16BigEndian])
    func `a key is read from a file in UTF-16`(encoding: String.Encoding) async throws {
        try await TestInstallation.with { installation in
            let text = try String(contentsOfFile: installation.scratch.file("key.p8"), encoding: .utf8)
            let path = installation.scratch.file("wide.p8")
            try #require(("\u{FEFF}" + text).data(using: encoding)).write(to: URL(filePath: path))
            let made = try await installation.run(
                "platform", "create", "--app", installation.application, "--type", "ios", "--mode", "development",
                "--name", "Wide", "--apns-key", path, "--key-id", "ABCDEFGHIJ", "--team-id", "ABCDEFGHIJ", "--topic",
                "org.example.wide")
            #expect(made.status == 0, "\(made)")
        }
    }

    /// Two ports are two services; the first refuses the key, whatever words it has for that. A browser names its service, so that does
    /// not park the platform.
    @Test(arguments: [
        ScriptedAnswer(status: 403, body: #"{"reason":"BadJwtToken"}"#), ScriptedAnswer(status: 401),
        ScriptedAnswer(status: 403, body: "<html>Forbidden</html>"),
    ])
    func `one push service that refuses the key stops no other`(answer: ScriptedAnswer) async throws {
        var simulation = WebPushConfiguration()
        simulation.listening.authority = try CertificateAuthority()
        let doubting = try await WebPushSimulator.start(simulation)
        let content = try await WebPushSimulator.start(simulation)
        doubting.script.add(ServiceFault(then: .answer(answer)))
        let result = await Result {
            try await TestServer.open(configure: { configuration in
                configuration.providers.posting = PostingOptions()
                configuration.providers.posting.allow(["127.0.0.0/8", "::1"]) { _ in }
            }) { server in try await Self.play(server, doubting, content) }
        }
        try await doubting.shutdown()
        try await content.shutdown()
        try result.get()
    }

    private static func play(
        _ server: TestServer, _ doubting: WebPushSimulator, _ content: WebPushSimulator
    ) async throws {
        let web = try await server.operatorService.createPlatform(
            of: server.application.application, kind: .web, mode: nil, name: "Web",
            credentials: [
                "subject": .string("mailto:ops@example.org"), "trust_root": .string(doubting.trustRootPEM),
            ])
        for subscription in doubting.subscribe(4) + content.subscribe(6) {
            let registration = try Registration(
                token: DeviceToken(bytes: Array(subscription.json.utf8)), about: Device.About(), customUserID: .keep,
                topics: .keep)
            _ = try await server.store.register(registration, as: nil, on: web.platform)
        }
        let body = #"{"message":{"body":"x"},"target":{"platforms":["web"]}}"#
        for number in 1...3 {
            let receipt = try await server.settled(try await server.sender.push(body))
            let counts: [Answer: Int] = [.accepted: 6, .refused(.forbidden): 4]
            #expect(receipt.counts.filter { $0.value > 0 } == counts)
            #expect(content.ledger.totals().told == 6 * number)
        }
        let platform = try #require(try await server.store.platform(web.platform.key))
        #expect(platform.parked == nil && platform.parkedServices.isEmpty)
        doubting.script.clear()
        let mended = try await server.settled(try await server.sender.push(body))
        #expect(mended.counts.filter { $0.value > 0 } == [.accepted: 10])
    }
}
