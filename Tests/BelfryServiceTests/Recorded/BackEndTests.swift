import BelfryService
import BelfryTesting
import FoundationEssentials
import Testing

/// Requests of back ends about topics, tags and registrations, form by form. Source: PCF Push Notification Service 1.5 and 1.6, the
/// pages "Topics", "Tags" and "Registrations", and the forms that real callers were seen to use.
@Suite struct BackEndTests {
    private func subscribe(_ server: RecordedServer, _ token: String, _ tags: String) async throws -> String {
        let answer = try await server.exchange(
            ExampleRequest.sent(
                "POST /v1/registration", try server.device(.androidFCM),
                #"{"registration_token":"\#(token)","tags":\#(tags)}"#), 200, .device)
        return try #require(answer?["device_uuid"]?.string)
    }

    // MARK: Topics

    @Test func `a topic is created once, listed and deleted`() async throws {
        try await RecordedServer.open { server in
            let me = server.sender
            let lasting = try await server.exchange(
                ExampleRequest.sent("POST /v2/topics/", me, #"{"name":"News"}"#), 201, .topic)
            #expect(lasting?["name"] == .string("news"))
            #expect(lasting?["expireAt"] == nil)
            let again = try await server.exchange(
                ExampleRequest.sent("POST /v2/topics", me, #"{"name":"NEWS","timeToLive":3600}"#), 201, .topic)
            #expect(again == lasting)
            let expiring = try await server.exchange(
                ExampleRequest.sent("POST /v1/topics", me, #"{"name":"sale","timeToLive":60}"#), 201, .topic)
            #expect(expiring?["expireAt"] == .integer(1_500_000_060_000))
            let quoted = try await server.exchange(
                ExampleRequest.sent(
                    "POST /v2/topics", me, #"{"name":"spring","expireAt":"1500000090000","timeToLive":null}"#),
                201,
                .topic)
            #expect(quoted?["expireAt"] == .integer(1_500_000_090_000))
            let all = try await server.exchange(ExampleRequest.asked("GET /v2/topics", me), 200, .topics)
            #expect(all?["totalTopics"] == .integer(3))
            #expect(all?["size"] == .integer(20))
            for (query, count) in [("hasExpiry=true", 2), ("hasExpiry=false", 1), ("q=EW", 1), ("size=1&page=3", 3)] {
                let some = try await server.exchange(ExampleRequest.asked("GET /v2/topics?\(query)", me), 200, .topics)
                #expect(some?["totalTopics"] == .integer(Int64(count)), "\(query)")
            }
            let id = try #require(lasting?["id"]?.integer)
            try await server.exchange(ExampleRequest.asked("DELETE /v2/topics/\(id)", me), 204, nil)
            try await server.exchange(ExampleRequest.asked("DELETE /v2/topics/\(id)", me), 404, .error)
            server.clock.advance(by: .seconds(60))
            let left = try await server.exchange(ExampleRequest.asked("GET /v2/topics", me), 200, .topics)
            #expect(left?["totalTopics"] == .integer(1))
            try await server.exchange(
                ExampleRequest.asked("DELETE /v2/topics/\(try #require(expiring?["id"]?.integer))", me), 404, .error)
        }
    }

    @Test(arguments: [
        #"{"name":"a","expireAt":1600000000000,"timeToLive":60}"#, #"{"name":"a","timeToLive":59}"#, #"{"name":""}"#,
        "{}", #"{"name":7}"#,
    ])
    func `a topic that cannot be meant is a 400`(body: String) async throws {
        try await RecordedServer.open { server in
            try await server.exchange(ExampleRequest.sent("POST /v2/topics", server.sender, body), 400, .error)
        }
    }

    @Test func `topics are created and deleted in batches`() async throws {
        try await RecordedServer.open { server in
            let me = server.sender
            let counted = try await server.exchange(
                ExampleRequest.sent(
                    "POST /v2/topics/batch/", me, #"{"topics":[{"name":"a"},{"name":"b","timeToLive":60}]}"#),
                201,
                .topicsCreated)
            #expect(counted == .object(["numTopicsCreated": .integer(2), "numTopicsExisted": .integer(0)]))
            let told = try await server.exchange(
                ExampleRequest.sent(
                    "POST /v2/topics/batch", me, #"{"topics":[{"name":"A"},{"name":"c"}],"returnTopics":true}"#),
                201, .topicsCreated)
            #expect(told?["numTopicsCreated"] == .integer(1))
            #expect(told?["numTopicsExisted"] == .integer(1))
            let list = try await server.exchange(ExampleRequest.asked("GET /v2/topics", me), 200, .topics)
            guard case .array(let topics) = list?["topics"] else { return }
            let ids = topics.compactMap { $0["id"]?.integer }.map(String.init).joined(separator: ",")
            let deleted = try await server.exchange(
                ExampleRequest.sent("DELETE /v2/topics/batch", me, #"{"topicIds":[\#(ids),987654321]}"#), 200,
                .topicsDeleted)
            #expect(deleted == .object(["numTopicsDeleted": .integer(3)]))
            let many = (0...1_024).map { #"{"name":"t\#($0)"}"# }.joined(separator: ",")
            try await server.exchange(
                ExampleRequest.sent("POST /v2/topics/batch", me, #"{"topics":[\#(many)]}"#), 400, .error)
        }
    }

    // MARK: Registrations

    @Test func `registrations are paged and searched`() async throws {
        try await RecordedServer.open { server in
            let uuid = try await subscribe(server, "fcm-token-1", #"["Beta"]"#)
            _ = try await subscribe(server, "fcm-token-2", "[]")
            let platform = try #require(server.platforms[.androidFCM]).uuid.uuidString.lowercased()
            for (query, count) in [
                ("", 2), ("size=1&page=2", 2), ("size=0", 2), ("topic=BETA", 1), ("platform=all", 2),
                ("platform=ios", 0),
                ("platform=android-fcm", 2), ("platformUuid=\(platform)", 2), ("q=token-1", 1),
                ("q=\(uuid.prefix(13))", 1), ("q=nothing", 0),
            ] {
                let page = try await server.exchange(
                    ExampleRequest.asked("GET /v2/registrations/?\(query)", server.sender), 200, .registrations)
                #expect(page?["totalRegistrations"] == .integer(Int64(count)), "\(query)")
            }
            try await server.exchange(
                ExampleRequest.asked("GET /v2/registrations", try server.device(.androidFCM)), 401, .error)
        }
    }

    // MARK: Tags, the API of 1.5 and before

    @Test func `the tags API of old is served`() async throws {
        try await RecordedServer.open { server in
            let me = server.sender
            let uuid = try await subscribe(server, "fcm-token-1", #"["beta"]"#)
            let platform = try #require(server.platforms[.androidFCM]).uuid.uuidString.lowercased()
            let created = try await server.exchange(
                ExampleRequest.sent("POST /v1/tags/caf%C3%A9%20au%20lait", me, ""), 200, .object(["text": .string]))
            #expect(created?["text"] == .string("café au lait"))
            let tags = try await server.exchange(
                ExampleRequest.asked("GET /v1/tags", me), 200, .object(["tags": .array(.string)]))
            #expect(tags?["tags"] == .array([.string("beta"), .string("café au lait")]))
            let all = try await server.exchange(ExampleRequest.asked("GET /v1/tags/all/BETA", me), 200, .array(.device))
            #expect(all?[0]?["device_uuid"] == .string(uuid))
            for path in ["/v1/tags/count/beta", "/v1/tags/count/\(platform)/beta"] {
                #expect(
                    try await server.exchange(ExampleRequest.asked("GET \(path)", me), 200, .integer) == .integer(1))
            }
            let batch = try await server.exchange(
                ExampleRequest.sent(
                    "POST /v1/tags/batch", me,
                    #"[{"registration_token":"fcm-token-1","tags":["x"]},{"device_uuid":"\#(uuid)","tags":["y"]}]"#),
                200,
                .object(["device_uuid": .array(.string), "registration_token": .array(.string)]))
            #expect(batch?["registration_token"] == .array([.string("fcm-token-1")]))
            #expect(batch?["device_uuid"] == .array([.string(uuid)]))
            let now = try await server.exchange(ExampleRequest.asked("GET /v1/tags/all/y", me), 200, .array(.device))
            #expect(now?[0]?["tags"] == .array(["beta", "x", "y"].map { .object(["text": .string($0)]) }))
            let faults = try await server.exchange(
                ExampleRequest.sent("POST /v1/tags/batch", me, #"[{"registration_token":"nobody","tags":["x"]}]"#), 400,
                .array(.object(["registration_token": .string, "error": .string])))
            #expect(faults?[0]?["registration_token"] == .string("nobody"))
            try await server.exchange(ExampleRequest.asked("DELETE /v1/tags/beta", me), 204, nil)
            #expect(
                try await server.exchange(ExampleRequest.asked("GET /v1/tags/count/beta", me), 200, .integer)
                    == .integer(0))
        }
    }
}
