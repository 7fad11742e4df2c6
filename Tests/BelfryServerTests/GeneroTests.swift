import BelfryService
import BelfryTesting
import Foundation
import Testing

/// An app of Genero in another language against the real program.
extension ServerTests {
    @Suite struct GeneroTests {}
}

extension ServerTests.GeneroTests {
    /// As the app of the sample sends it: always all members.
    private static func members(
        _ token: String, type: String = "APNS", user: String = "mike", badge: Int64 = 0
    ) -> JSONValue {
        .object([
            "notification_type": .string(type), "registration_token": .string(token), "app_user": .string(user),
            "badge_number": .integer(badge),
        ])
    }

    private static func call(_ command: String, _ members: JSONValue) -> JSONValue {
        .array([.string(command), members])
    }

    private static func play(
        _ calls: [JSONValue], at base: String, _ prefix: String, in scratch: Scratch
    ) async throws -> [JSONValue] {
        let url = try #require(URL(string: base))
        let answers = try await ForeignClient.run(
            "genero_app.py", [url.host() ?? "", "\(url.port ?? 0)", prefix],
            input: String(decoding: JSONValue.array(calls).encoded, as: UTF8.self), in: scratch)
        guard case .array(let all) = answers else { throw ForeignClient.Failed(description: "\(answers)") }
        return all
    }

    private static let token = "00112233445566778899AABBCCDDEEFF0123456789abcdeffedcba9876543210"

    @Test func `every status row matches the original on both ports`() async throws {
        try await TestInstallation.with { installation in
            let enabled = try await installation.run(
                "genero", "enable", "--app", installation.application, "--json")
            let path = try #require(try JSONValue(json: enabled.out.utf8)["path"]?.stringValue, "\(enabled)")
            let program = try await installation.serve([
                "BELFRY_GENERO_PORT": "0", "BELFRY_GENERO_APP": installation.application,
            ])
            defer { program.endAtOnce() }
            let base = try await program.addresses().http
            let lines = program.logged.split(separator: "\n").compactMap { try? JSONValue(json: $0.utf8) }
            let plain = try #require(lines.first { $0["message"]?.stringValue == "serving" }?["genero"]?.stringValue)
            let doors = [(base, path, "a"), (plain, "/gas/ws/r/app/token_maintainer", "b")]
            for (address, prefix, mark) in doors {
                let token = Self.token.dropLast() + mark
                let calls: [(String, JSONValue, Int64)] = [
                    ("register", Self.members(String(token), user: ""), 0),
                    ("register", Self.members(String(token)), 0),
                    ("register", Self.members(String(token), user: "other"), 1),
                    ("register", Self.members(String(repeating: "a", count: 20_000)), -1),
                    ("badge_number", Self.members(String(token), badge: 7), 0),
                    ("badge_number", Self.members("ff", badge: 7), 0),
                    ("badge_number", Self.members(String(token), badge: -2), 0),
                    ("unregister", Self.members(String(token)), 0),
                    ("unregister", Self.members(String(token)), -3),
                    ("register", Self.members(String(token)), 0),
                    ("register", Self.members("no token!"), -2),
                    ("register", Self.members("fcm-token", type: "FCM"), -2),
                    ("somersault", Self.members(String(token)), -1),
                ]
                let answers = try await Self.play(
                    calls.map { Self.call($0.0, $0.1) }, at: address, prefix, in: installation.scratch)
                for ((command, members, status), answer) in zip(calls, answers) {
                    #expect(answer["status"] == .integer(status), "\(command) \(members): \(answer)")
                }
            }
            let tokens = try await installation.run("genero", "tokens", "--app", installation.application, "--csv")
            let rows = tokens.out.split(separator: "\n")
            #expect(rows.first == "id,notification_type,registration_token,badge_number,app_user,reg_date")
            #expect(rows.count == 3 && rows[1].contains(",APNS,\(Self.token.dropLast())a,0,mike,"), "\(rows)")
            try await program.end(SIGTERM)
        }
    }

    @Test func `GCM-era apps, wrong keys and foreign networks are answered`()
        async throws
    {
        try await TestInstallation.with { installation in
            let enabled = try await installation.run(
                "genero", "enable", "--app", installation.application, "--allow", "10.0.0.0/8", "--json")
            let path = try #require(try JSONValue(json: enabled.out.utf8)["path"]?.stringValue)
            let open = try await installation.run(
                "genero", "enable", "--app", installation.application, "--lenient-unregister", "--json")
            let other = try #require(try JSONValue(json: open.out.utf8)["path"]?.stringValue)
            let program = try await installation.serve()
            defer { program.endAtOnce() }
            let base = try await program.addresses().http
            func play(_ path: String, _ command: String, _ members: JSONObject) async throws -> JSONValue? {
                try await Self.play(
                    [Self.call(command, .object(members))], at: base, path, in: installation.scratch
                ).first
            }
            let old: JSONObject = [
                "sender_id": .null, "registration_token": .string(Self.token), "app_user": .string("jo"),
            ]
            #expect(try await play(path, "register", old)?["http"] == .integer(404))
            #expect(try await play("/genero/guess/token_maintainer", "register", old)?["http"] == .integer(404))
            #expect(try await play(other, "register", old)?["status"] == .integer(0))
            #expect(
                try await play(other, "unregister", ["registration_token": .string("ab")])?["status"] == .integer(0))
            _ = try await installation.run("genero", "disable", "--app", installation.application)
            #expect(try await play(other, "register", old)?["http"] == .integer(404))
            try await program.end(SIGTERM)
        }
    }
}
