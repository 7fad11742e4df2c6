import Foundation
import Testing

@testable import BelfrySimulators

/// Broadcasts to the simulated APNs, frame by frame; and the management of channels, by curl.
@Suite(.timeLimit(.minutes(20))) struct BroadcastTests {
    private static let bundle = "com.example.app"

    /// The fields of a proper broadcast; a change of nil takes a field away.
    private static func fields(
        _ fixture: TestSimulator, _ channel: String, _ changes: [String: String?] = [:]
    ) throws -> [(String, String)] {
        let proper: [String: String?] = [
            ":path": "/4/broadcasts/apps/\(bundle)", "apns-topic": nil, "apns-push-type": "liveactivity",
            "apns-priority": "10", "apns-expiration": "0", "apns-channel-id": channel,
        ]
        return try fixture.fields(proper.merging(changes) { $1 })
    }

    @Test func `a channel is notified under the request's id`() async throws {
        let registry = ChannelRegistry()
        try await TestSimulator.with({ $0.channels = registry }) { fixture in
            let channel = try #require(registry.create(storing: 1, of: Self.bundle))
            let id = "123e4567-e89b-12d3-a456-426614174000"
            let client = try await fixture.connect()
            let fields = try Self.fields(fixture, channel, ["apns-request-id": id, "apns-expiration": "1900000000"])
            try await client.send([(fields, "{}"), (try fixture.fields(), "{}")])
            let answers = await client.events(until: .ends(2)).compactMap { event -> [String: String]? in
                if case .answer(_, let fields) = event { fields } else { nil }
            }
            #expect(answers.first?[":status"] == "200")
            #expect(answers.first?["apns-request-id"] == id)
            #expect(answers.first?["apns-unique-id"] != nil)
            #expect(answers.first?["apns-id"] == nil)
            #expect(answers.last?["apns-id"] != nil, "a device's answer on the same connection has its own")
            #expect(fixture.simulator.ledger.token(Array(channel.utf8))?.told == 1)
            try await client.close()
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var status: Int
        var reason: String
        var changes: [String: String?] = [:]
        var payload = "{}"
        var testDescription: String { "\(status) \(reason) \(changes)" }
    }

    static let rows = [
        Row(status: 400, reason: "BadMessageId", changes: ["apns-request-id": "x"]),
        Row(status: 405, reason: "MethodNotAllowed", changes: [":method": "PUT"]),
        Row(status: 400, reason: "MissingChannelId", changes: ["apns-channel-id": nil]),
        Row(status: 400, reason: "BadChannelId", changes: ["apns-channel-id": "%%"]),
        Row(status: 400, reason: "ChannelNotRegistered", changes: ["apns-channel-id": "Z29uZQ=="]),
        Row(status: 400, reason: "MissingPushType", changes: ["apns-push-type": nil]),
        Row(status: 400, reason: "InvalidPushType", changes: ["apns-push-type": "alert"]),
        Row(status: 400, reason: "BadPriority", changes: ["apns-priority": nil]),
        Row(status: 400, reason: "BadPriority", changes: ["apns-priority": "1"]),
        Row(status: 400, reason: "BadExpirationDate", changes: ["apns-expiration": nil]),
        Row(status: 400, reason: "BadExpirationDate", changes: ["apns-expiration": "1900000000"]),
        Row(
            status: 400, reason: "TopicDisallowed", changes: [":path": "/4/broadcasts/apps/com.example.app.voip"]),
        Row(status: 403, reason: "TopicMismatch", changes: [":path": "/4/broadcasts/apps/com.example.other"]),
        Row(status: 403, reason: "MissingProviderToken", changes: ["authorization": nil]),
        Row(status: 403, reason: "InvalidProviderToken", changes: ["authorization": "bearer x"]),
        Row(status: 400, reason: "PayloadEmpty", payload: ""),
        Row(status: 400, reason: "BadRequestPayload", payload: "x"),
        Row(status: 413, reason: "PayloadTooLarge", payload: "{" + String(repeating: " ", count: 5_120)),
    ]

    @Test(arguments: rows) func `each flaw of a broadcast is answered with its reason`(row: Row) async throws {
        let registry = ChannelRegistry()
        try await TestSimulator.with({
            $0.channels = registry
            $0.topics = [Self.bundle]
        }) { fixture in
            let channel = try #require(registry.create(storing: 0, of: Self.bundle))
            let client = try await fixture.connect()
            try await client.send([(try Self.fields(fixture, channel, row.changes), row.payload)])
            let events = await client.events(until: .end(of: 1))
            #expect(events.statuses[1] == "\(row.status)")
            #expect(events.bodies[1] == #"{"reason":"\#(row.reason)"}"#)
            #expect(fixture.simulator.ledger.totals().told == 0)
            try await client.close()
        }
    }

    // MARK: Management

    private struct Answer {
        let status: Int
        let head: String
        let body: String

        var channel: String? {
            head.split(separator: "\r\n").first { $0.hasPrefix("apns-channel-id: ") }.map {
                String($0.dropFirst("apns-channel-id: ".count))
            }
        }
    }

    private static func ask(
        _ simulator: APNsChannelsSimulator, _ jwt: String?, _ method: String, _ resource: String,
        channel: String? = nil,
        _ more: [String] = [], body: String? = nil, bundle: String = bundle
    ) async throws -> Answer {
        try await Tool.withFile(simulator.trustRootPEM) { trust in
            var arguments = ["--silent", "--max-time", "20", "--http2", "--cacert", trust, "--include"]
            arguments += ["--request", method]
            if let jwt { arguments += ["--header", "authorization: bearer \(jwt)"] }
            if let channel { arguments += ["--header", "apns-channel-id: \(channel)"] }
            if let body { arguments += ["--data-binary", body] }
            arguments += more + ["https://localhost:\(simulator.port)/1/apps/\(bundle)/\(resource)"]
            let output = try await Tool.run("/usr/bin/curl", arguments).output
            let cut = output.range(of: "\r\n\r\n")
            let head = cut.map { String(output[..<$0.lowerBound]) } ?? output
            return Answer(
                status: Int(head.split(separator: " ").dropFirst().first?.prefix(3) ?? "") ?? 0, head: head,
                body: cut.map { String(output[$0.upperBound...]) } ?? "")
        }
    }

    private static func with(
        _ change: (inout APNsChannelsConfiguration) -> Void = { _ in },
        _ body: (APNsChannelsSimulator, String) async throws -> Void
    ) async throws {
        let key = APNsSimulator.IssuedKey()
        var configuration = APNsChannelsConfiguration()
        configuration.keys = [key.known]
        configuration.topics = [bundle]
        configuration.listening.now = { .seconds(TestSimulator.now) }
        change(&configuration)
        let simulator = try await APNsChannelsSimulator.start(configuration)
        do {
            try await body(simulator, try key.providerToken(issuedAt: TestSimulator.now))
        } catch {
            try await simulator.shutdown()
            throw error
        }
        try await simulator.shutdown()
    }

    @Test func `a channel works as Apple describes`() async throws {
        try await Self.with { simulator, jwt in
            let made = try await Self.ask(
                simulator, jwt, "POST", "channels",
                ["--header", "apns-request-id: 123e4567-e89b-12d3-a456-426614174000"],
                body: #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
            #expect(made.status == 201)
            #expect(made.body == "")
            #expect(made.head.contains("apns-request-id: 123e4567-e89b-12d3-a456-426614174000"))
            let id = try #require(made.channel)
            let shown = try await Self.ask(simulator, jwt, "GET", "channels", channel: id)
            #expect(shown.body == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
            let list = try await Self.ask(simulator, jwt, "GET", "all-channels")
            #expect(list.body == #"{"channels":[\#(id.quoted)]}"#)
            let deleted = try await Self.ask(simulator, jwt, "DELETE", "channels", channel: id)
            #expect(deleted.status == 204)
            let gone = try await Self.ask(simulator, jwt, "GET", "channels", channel: id)
            #expect(gone.status == 400)
            #expect(gone.body == #"{"reason":"ChannelNotRegistered"}"#)
        }
    }

    @Test func `each channel request flaw has its reason`() async throws {
        let good = #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#
        try await Self.with({ $0.channels = ChannelRegistry(ofAppMax: 0) }) { simulator, jwt in
            let answers: [(Answer, Int, String)] = [
                (try await Self.ask(simulator, jwt, "POST", "channels", body: good), 400, "CannotCreateChannelConfig"),
                (
                    try await Self.ask(
                        simulator, jwt, "POST", "channels", ["--header", "apns-request-id: x"], body: good), 400,
                    "BadMessageId"
                ),
                (try await Self.ask(simulator, jwt, "POST", "channels"), 400, "PayloadEmpty"),
                (try await Self.ask(simulator, jwt, "POST", "channels", body: "x"), 400, "BadRequestPayload"),
                (
                    try await Self.ask(simulator, jwt, "POST", "channels", body: #"{"message-storage-policy":0}"#), 400,
                    "MissingPushType"
                ),
                (
                    try await Self.ask(
                        simulator, jwt, "POST", "channels", body: #"{"message-storage-policy":0,"push-type":"Alert"}"#),
                    400, "InvalidPushType"
                ),
                (
                    try await Self.ask(
                        simulator, jwt, "POST", "channels",
                        body: #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#), 400, "BadRequestParams"
                ),
                (try await Self.ask(simulator, jwt, "GET", "channels"), 400, "MissingChannelId"),
                (try await Self.ask(simulator, jwt, "GET", "channels", channel: "%%"), 400, "BadChannelId"),
                (
                    try await Self.ask(simulator, jwt, "DELETE", "channels", channel: "Z29uZQ=="), 400,
                    "ChannelNotRegistered"
                ),
                (try await Self.ask(simulator, jwt, "PUT", "channels", body: good), 405, "MethodNotAllowed"),
                (try await Self.ask(simulator, jwt, "GET", "channel"), 404, "BadPath"),
                (try await Self.ask(simulator, nil, "GET", "all-channels"), 403, "MissingProviderToken"),
                (try await Self.ask(simulator, "x", "GET", "all-channels"), 403, "InvalidProviderToken"),
                (
                    try await Self.ask(simulator, jwt, "GET", "all-channels", bundle: "com.example.app.voip"), 400,
                    "TopicDisallowed"
                ),
                (
                    try await Self.ask(simulator, jwt, "GET", "all-channels", bundle: "com.example.other"), 403,
                    "TopicMismatch"
                ),
            ]
            for (answer, status, reason) in answers {
                #expect(answer.status == status, "\(reason)")
                #expect(answer.body == #"{"reason":"\#(reason)"}"#)
            }
        }
    }
}
