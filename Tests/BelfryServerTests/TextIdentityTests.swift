import BelfryService
import BelfryTesting
import Foundation
import PostgresRig
import Testing

/// Names that are one to their readers are one to the program, whichever database it is on and however often it is started.
extension ServerTests {
    @Suite(.timeLimit(.minutes(20))) struct TextIdentityTests {}
}

extension ServerTests.TextIdentityTests {
    /// A topic and a user id as different keyboards and languages write them; case counts for users alone.
    private static let spellings: [(topic: String, user: String)] = [
        ("zürich", "jürgen"), ("zu\u{308}rich", "ju\u{308}rgen"), ("ZU\u{308}RICH", "jürgen"),
    ]
    private static let streets = ["Straße", "STRASSE", "strasse"]
    private static let feet = ["ΠΟΔΟΣ", "ποδος", "ποδοσ"]

    @Test func `one name stays one in a file`() async throws {
        try await TestInstallation.with { try await play($0) }
    }

    @Test func `one name stays one in PostgreSQL`() async throws {
        try await PostgresServer.with { database in
            try await TestInstallation.with(database: database.url(of: "postgres")) { try await play($0) }
        }
    }

    private func play(_ installation: TestInstallation) async throws {
        let settings = ["BELFRY_PCF_VERIFY_CUSTOM_USER_ID": "false"]
        let first = try await installation.serve(settings)
        defer { first.endAtOnce() }
        let app = installation.app(at: try await first.addresses().http)
        var devices: [String] = []
        for (index, spelling) in Self.spellings.enumerated() {
            let body =
                #"{"registration_token":"\#(String(repeating: "0\(index)", count: 32))","custom_user_id":"\#(spelling.user)","#
                + #""tags":["\#(spelling.topic)","\#(Self.streets[index])","\#(Self.feet[index])"]}"#
            let answer = try await app.send("POST", "/v1/registration", body)
            #expect(answer.status == 200, "\(answer)")
            let device = try JSONValue(json: answer.body.utf8)
            #expect(bytes(device["custom_user_id"]?.stringValue) == bytes("jürgen"))
            devices.append(try #require(device["device_uuid"]?.stringValue))
        }
        try await checkPushes(installation, at: app.base)
        // Only the form changes: it is answered as it is kept.
        let again = try await app.send(
            "PUT", "/v1/registration/\(devices[0])", #"{"custom_user_id":"\#(Self.spellings[1].user)"}"#)
        #expect(bytes(try JSONValue(json: again.body.utf8)["custom_user_id"]?.stringValue) == bytes("jürgen"))
        try await first.end(SIGTERM)

        let second = try await installation.serve(settings)
        defer { second.endAtOnce() }
        let base = try await second.addresses().http
        try await checkPushes(installation, at: base)
        let sender = installation.sender(at: base)
        let topics = try JSONValue(json: try await sender.send("GET", "/v2/topics").body.utf8)
        #expect(topics["totalTopics"] == .integer(3), "\(topics)")
        let users = try JSONValue(json: try await sender.send("GET", "/v2/custom_user_ids").body.utf8)
        #expect(users["custom_user_ids"] == .array([.string("jürgen")]), "\(users)")
        try await second.end(SIGTERM)
    }

    /// Each spelling reaches all three, and several of them reach none twice.
    private func checkPushes(_ installation: TestInstallation, at base: String) async throws {
        let sender = installation.sender(at: base)
        let (topics, users) = (Self.spellings.map(\.topic), Self.spellings.map(\.user))
        let targets = [
            #""topics":["\#(topics[0])"]"#, #""topics":["\#(topics[1])","\#(topics[2])"]"#,
            #""topics":["\#(Self.streets[1])"]"#, #""topics":["\#(Self.feet[2])"]"#,
            #""custom_user_ids":["\#(users[1])"]"#, #""custom_user_ids":["\#(users[0])","\#(users[1])"]"#,
        ]
        for target in targets {
            let push = try await sender.push(#"{"message":{"body":"x"},"target":{\#(target)}}"#)
            #expect(try await installation.settled(push).devices == 3, "\(target)")
        }
    }

    private func bytes(_ text: String?) -> [UInt8] { Array((text ?? "").utf8) }
}
