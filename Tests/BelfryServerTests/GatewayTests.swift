import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// Old senders in another language against the real program.
extension ServerTests {
    @Suite struct GatewayTests {}
}

extension ServerTests.GatewayTests {
    private static let token = "ABEiM0RVZneImaq7zN3u/wEjRWeJq83v/ty6mHZUMhA="
    private static let tokenBytes: [UInt8] = [
        0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF, 0x01, 0x23,
        0x45,
        0x67, 0x89, 0xAB, 0xCD, 0xEF, 0xFE, 0xDC, 0xBA, 0x98, 0x76, 0x54, 0x32, 0x10,
    ]

    /// For senders that hear something: it comes as soon as the machine lets it.
    private static let patiently = ["--silence", "60"]

    @Test func `a Genero provider gets silence for success, devices exact bytes`()
        async throws
    {
        try await TestGateway.with { gateway in
            let (program, ports) = try await gateway.serve()
            defer { program.endAtOnce() }
            let payload = #"{"aps":{"alert":"Hello","badge":3,"new-key":[1,2]},"custom_data":{"other_info":"ü"}}"#
            let end = try await gateway.send(
                "genero", to: ports.gateway, ["--token", Self.token, "--payload", payload])
            #expect(end["end"]?.stringValue == "silence", "\(end)")
            let request = try await eventually("the device is told") {
                gateway.simulator.ledger.token(Self.tokenBytes)?.lastRequest
            }
            #expect(try JSONValue(json: request.payload.utf8) == JSONValue(json: payload.utf8))
            #expect(request.header("apns-priority") == "10" || request.header("apns-priority") == nil)
            #expect(request.header("apns-push-type") == "alert")
            let expiry = try #require(request.header("apns-expiration").flatMap { Double($0) })
            #expect(abs(expiry - Date().timeIntervalSince1970 - 600) < 60)
            try await program.end(SIGTERM)
        }
    }

    @Test(arguments: [0, 1, 2])
    func `records of each command are all delivered in silence`(command: Int) async throws {
        try await TestGateway.with { gateway in
            let (program, ports) = try await gateway.serve()
            defer { program.endAtOnce() }
            let end = try await gateway.send(
                "stream", to: ports.gateway, ["--command", "\(command)", "--count", "700"])
            #expect(end["end"]?.stringValue == "silence", "\(end)")
            try await eventually("all are told") { gateway.told(1...700).count == 700 }
            #expect(gateway.simulator.ledger.totals().told == 700)
            try await program.end(SIGTERM)
        }
    }

    @Test func `a bad record is named and nothing behind it delivered`() async throws {
        try await TestGateway.with { gateway in
            let (program, ports) = try await gateway.serve()
            defer { program.endAtOnce() }
            let end = try await gateway.send(
                "stream", to: ports.gateway, ["--count", "400", "--bad", "300"] + Self.patiently)
            #expect(end["end"]?.stringValue == "error", "\(end)")
            #expect(end["status"] == .integer(1) && end["identifier"]?.stringValue == "0000012c", "\(end)")
            #expect(end["closed"] == .bool(true))
            try await eventually("those before it are told") { gateway.told(1...299).count == 299 }
            let again = try await gateway.send("stream", to: ports.gateway, ["--count", "1", "--first", "900"])
            #expect(again["end"]?.stringValue == "silence")
            try await eventually("the next connection is served") { gateway.told(900...900).count == 1 }
            #expect(gateway.told(300...400).isEmpty)
            let silent = try await gateway.send(
                "stream", to: ports.gateway,
                ["--command", "0", "--first", "1000", "--bad", "1000"] + Self.patiently)
            #expect(silent["end"]?.stringValue == "closed", "command 0 has no word for it: \(silent)")
            // A token that is too short is no record.
            _ = try await gateway.send("genero", to: ports.gateway, ["--token", "AAEC", "--payload", "{}"])
            let page = Caller(base: try await program.addresses().management, user: "", secret: "")
            try await eventually("the metrics count all three") {
                try await page.send("GET", "/metrics").body
                    .contains("\nbelfry_gateway_records_total{result=\"refused\"} 3\n")
            }
            try await program.end(SIGTERM)
        }
    }

    /// - Parameter since: when APNs found the token dead, from now; before its record registered it, or behind.
    @Test(arguments: [-604_800_000, 3_600_000] as [Int64])
    func `APNs refusals return while connected, dead tokens once later`(since: Int64) async throws {
        try await TestGateway.with { gateway in
            let (program, ports) = try await gateway.serve()
            defer { program.endAtOnce() }
            let dead = Int64(Date().timeIntervalSince1970 * 1_000) + since
            gateway.simulator.script.answer(ScriptedAnswer(.badDeviceToken), for: [TestGateway.token(1).hex])
            gateway.simulator.script.answer(
                ScriptedAnswer(.unregistered, timestamp: dead), for: [TestGateway.token(2).hex])
            let bad = try await gateway.send("stream", to: ports.gateway, Self.patiently)
            #expect(bad["status"] == .integer(8) && bad["identifier"]?.stringValue == "00000001", "\(bad)")
            let gone = try await gateway.send("stream", to: ports.gateway, ["--first", "2"])
            #expect(gone["end"]?.stringValue == "silence", "\(gone)")
            // The verdict may come after the sender has gone.
            var (tuples, first): ([JSONValue], JSONValue) = ([], .null)
            try await eventually("the feedback service has it") {
                first = try await gateway.send("feedback", to: ports.feedback, ["--half-close"])
                if case .array(let found)? = first["tuples"] { tuples = found }
                return !tuples.isEmpty
            }
            guard case .array(let tuple)? = tuples.first else {
                Issue.record("no tuple: \(first)")
                return
            }
            #expect(tuples.count == 1 && tuple[1].stringValue == TestGateway.token(2).hex)
            #expect(first["end"]?.stringValue == "closed")
            let second = try await gateway.send("feedback", to: ports.feedback)
            #expect(second["tuples"] == .array([]) && second["end"]?.stringValue == "closed", "\(second)")
            try await program.end(SIGTERM)
        }
    }

    @Test func `a half-closed sender still gets its refusals`() async throws {
        try await TestGateway.with { gateway in
            let (program, ports) = try await gateway.serve()
            defer { program.endAtOnce() }
            for number in 7...12 {
                gateway.simulator.script.answer(
                    ScriptedAnswer(.badDeviceToken), for: [TestGateway.token(number).hex])
                let end = try await gateway.send(
                    "stream", to: ports.gateway, ["--first", "\(number)", "--half-close"] + Self.patiently)
                let identifier = String(number, radix: 16)
                #expect(end["status"] == .integer(8), "\(end)")
                #expect(end["identifier"]?.stringValue?.hasSuffix(identifier) == true, "\(end)")
            }
            try await program.end(SIGTERM)
        }
    }

    @Test func `a half-closed feedback client is always answered`() async throws {
        try await TestGateway.with { gateway in
            let (program, ports) = try await gateway.serve()
            defer { program.endAtOnce() }
            for _ in 0..<20 {
                let answer = try await gateway.send("feedback", to: ports.feedback, ["--half-close"])
                #expect(answer["end"]?.stringValue == "closed" && answer["tuples"] == .array([]), "\(answer)")
            }
            try await program.end(SIGTERM)
        }
    }

    @Test func `an HTTP/2 sender gets APNs answers on one port`() async throws {
        try await TestGateway.with { gateway in
            let (program, ports) = try await gateway.serve()
            defer { program.endAtOnce() }
            let dead = Int64(1_700_000_000_123)
            gateway.simulator.script.answer(
                ScriptedAnswer(.unregistered, timestamp: dead), for: [TestGateway.token(2).hex])
            gateway.simulator.script.answer(ScriptedAnswer(.badDeviceToken), for: [TestGateway.token(3).hex])
            let id = "1e5e7d2a-5a3b-4a5e-9d5c-0123456789ab"
            let taken = try await gateway.post(
                TestGateway.token(1).hex, to: ports.gateway, ["apns-id: \(id)", "apns-push-type: alert"])
            #expect(taken.status == "HTTP/2 200" && taken.body.isEmpty && taken.id == id, "\(taken)")
            #expect(gateway.told(1...1) == [1])
            let rows: [(String, [String], String, String)] = [
                (TestGateway.token(2).hex, [], "HTTP/2 410", #"{"reason":"Unregistered","timestamp":1700000000123}"#),
                (TestGateway.token(3).hex, [], "HTTP/2 400", #"{"reason":"BadDeviceToken"}"#),
                ("xyz", [], "HTTP/2 400", #"{"reason":"BadDeviceToken"}"#),
                (TestGateway.token(4).hex, ["apns-priority: 7"], "HTTP/2 400", #"{"reason":"BadPriority"}"#),
                (
                    TestGateway.token(4).hex, ["content-encoding: gzip"], "HTTP/2 415",
                    #"{"reason":"UnsupportedContentEncoding"}"#
                ),
            ]
            for (token, headers, status, body) in rows {
                let answer = try await gateway.post(token, to: ports.gateway, headers)
                #expect(answer.status == status && answer.body == body, "\(token): \(answer)")
                #expect(answer.id?.count == 36)
            }
            let encoded = TestGateway.token(7).map { "%3\($0 >> 4)%3\($0 & 15)" }.joined()
            #expect(TestGateway.token(7).hex.utf8.allSatisfy { 0x30...0x39 ~= $0 })
            #expect(try await gateway.post(encoded, to: ports.gateway).status == "HTTP/2 200")
            #expect(gateway.told(7...7) == [7])
            let head = try await gateway.post(TestGateway.token(8).hex, to: ports.gateway, isHead: true)
            #expect(head.status == "HTTP/2 405" && !head.body.contains("reason"), "\(head)")
            let stranger = try await OpenSSL(scratch: gateway.scratch).pair("stranger")
            let refused = try await gateway.post(TestGateway.token(5).hex, to: ports.gateway, as: stranger)
            #expect(refused.status.hasPrefix("curl ended with"), "the handshake ends: \(refused)")
            // The binary protocol is spoken there all the same.
            let old = try await gateway.send("stream", to: ports.gateway, ["--first", "6"])
            #expect(old["end"]?.stringValue == "silence", "\(old)")
            try await program.end(SIGTERM)
        }
    }

    @Test func `an unknown or revoked certificate opens nothing`() async throws {
        try await TestGateway.with { gateway in
            let (program, ports) = try await gateway.serve()
            defer { program.endAtOnce() }
            let stranger = try await OpenSSL(scratch: gateway.scratch).pair("stranger")
            let closed = try await gateway.send("stream", to: ports.gateway, Self.patiently, as: stranger)
            #expect(["closed", "broken"].contains(closed["end"]?.stringValue), "\(closed)")
            let listed = try await gateway.installation.run(
                "gateway", "credential", "list", "--platform", gateway.installation.platform, "--json")
            guard case .array(let rows) = try JSONValue(json: listed.out.utf8),
                case .integer(let id)? = rows.first?["credential_id"]
            else {
                Issue.record("\(listed)")
                return
            }
            _ = try await gateway.installation.run(
                "gateway", "credential", "delete", "\(id)", "--platform", gateway.installation.platform)
            let revoked = try await gateway.send("stream", to: ports.gateway, Self.patiently)
            #expect(["closed", "broken"].contains(revoked["end"]?.stringValue), "\(revoked)")
            #expect(gateway.simulator.ledger.totals().told == 0)
            try await program.end(SIGTERM)
        }
    }
}
