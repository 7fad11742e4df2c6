import BelfryService
import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

/// `/v2/topics`, and `/v1/tags` of releases before topics.
@Suite struct TopicTests {
    private let now = StoppedClock().now.milliseconds

    private func post(_ server: TestServer, _ path: String, _ body: String) async throws -> TestAnswer {
        try await server.send(.post, path, as: .sender, body)
    }

    private func names(_ server: TestServer, _ query: String = "") async throws -> [String] {
        let reply = try await server.send(.get, "/v2/topics\(query)", as: .sender)
        return reply["topics"]?.elements.compactMap { $0["name"]?.stringValue } ?? ["none: \(reply)"]
    }

    @Test(arguments: ["/v2/topics", "/v2/topics/", "//v2/topics", "/v1/topics/"])
    func `a topic is created once, in lower case, expireAt optional`(path: String) async throws {
        let server = try await TestServer()
        let first = try await post(server, path, #"{"name":"News"}"#)
        #expect(first.status == 201)
        guard case .object(let members) = first.json, case .integer? = members["id"] else {
            Issue.record("\(first)")
            return
        }
        #expect(members.keys.sorted() == ["id", "name"] && members["name"] == .string("news"))
        let again = try await post(server, path, #"{"name":"NEWS","timeToLive":60,"expireAt":null}"#)
        #expect(again.status == 201 && again.json == first.json)
    }

    @Test func `a topic ends at a moment or after a time`() async throws {
        let server = try await TestServer()
        let at = try await post(server, "/v2/topics", #"{"name":"a","expireAt":"\#(now + 5)"}"#)
        #expect(at["expireAt"] == .integer(now + 5))
        let after = try await post(server, "/v2/topics", #"{"name":"b","timeToLive":60}"#)
        #expect(after["expireAt"] == .integer(now + 60_000))
        _ = try await post(server, "/v2/topics", #"{"name":"c"}"#)
        #expect(try await names(server, "?hasExpiry=true") == ["a", "b"])
        #expect(try await names(server, "?hasExpiry=false") == ["c"])
        #expect(try await names(server) == ["a", "b", "c"])
    }

    @Test(arguments: [
        (#"{}"#, "name is missing"), (#"{"name":""}"#, "name is an empty topic name"),
        (#"{"name":"a","expireAt":100000000001}"#, "expireAt is 100000000001, which is not in the future"),
        (#"{"name":"a","timeToLive":59}"#, "timeToLive is 59 s, the least is 60 s"),
        (#"{"name":"a","timeToLive":315360001}"#, "timeToLive is 315360001 s, the most is 315360000 s"),
        (#"{"name":"a","timeToLive":0}"#, "timeToLive is 0 s, the least is 60 s"),
        (#"{"name":"a","expireAt":1600000000000,"timeToLive":60}"#, "expireAt and timeToLive exclude each other"),
        (#"{"name":"a","timeToLive":"soon"}"#, "timeToLive has to be a whole number"),
        (#"[]"#, "body has to be an object, it is an array"),
    ])
    func `a topic that cannot be meant is a 400`(body: String, message: String) async throws {
        let reply = try await post(try await TestServer(), "/v2/topics", body)
        #expect(reply.status == 400)
        #expect(reply.message?.hasPrefix(message) == true, "\(reply)")
    }

    @Test func `the list has its page and totals`() async throws {
        let server = try await TestServer()
        for name in ["a1", "a2", "a3", "b1"] { _ = try await post(server, "/v2/topics", #"{"name":"\#(name)"}"#) }
        let reply = try await server.send(.get, "/v2/topics/?q=A&size=2&page=2", as: .sender)
        #expect(reply["topics"]?.elements.compactMap { $0["name"]?.stringValue } == ["a3"])
        #expect(reply["totalTopics"] == .integer(3) && reply["totalPages"] == .integer(2))
        #expect(reply["page"] == .integer(2) && reply["size"] == .integer(2))
        for query in ["?size=0", "?page=0", "?hasExpiry=perhaps"] {
            #expect(try await server.send(.get, "/v2/topics\(query)", as: .sender).status == 400)
        }
    }

    @Test func `a deleted topic is a 404, and reaches no device`() async throws {
        let server = try await TestServer()
        _ = try await server.device("t", on: .android, #","tags":["news"]"#)
        let topic = try await post(server, "/v2/topics", #"{"name":"news"}"#)
        guard case .integer(let id)? = topic["id"] else { throw InvalidInput(field: "id", "is missing") }
        let stranger = try await server.store.create(.test(server.vault, key: "another"))
        let theirs = TestServer.User.raw(TestServer.User.basic(stranger.uuid.uuidString, "another"))
        #expect(try await server.send(.delete, "/v2/topics/\(id)", as: theirs).status == 404)
        #expect(try await server.send(.delete, "/v2/topics/\(id)", as: .sender).status == 204)
        #expect(try await server.send(.delete, "/v2/topics/\(id)", as: .sender).status == 404)
        #expect(try await server.send(.delete, "/v2/topics/news", as: .sender).status == 404)
        _ = try await server.push(#"{"message":{"body":"Hi"},"target":{"topics":["news"]}}"#)
        let push = try #require(try await server.store.allPushes().last)
        #expect(try await server.reached(by: push).isEmpty)
    }

    @Test func `changes by a back end have lines`() async throws {
        let server = try await TestServer()
        for _ in 0..<2 { _ = try await post(server, "/v2/topics", #"{"name":"news"}"#) }
        #expect(try await server.send(.delete, "/v2/topics/999", as: .sender).status == 404)
        #expect(try await server.send(.delete, "/v1/locations/999", as: .sender).status == 404)
        let place = #"{"name":"shop","lat":49.25,"long":8.5,"rad":100}"#
        #expect(try await server.send(.post, "/v1/locations", as: .sender, place).status == 200)
        let lines = try await server.store.auditLog().map(\.change)
        #expect(lines.map(\.action) == ["topic.create", "location.create"])
        #expect(lines.allSatisfy { $0.keyID == "app:\(server.application.uuid.lowercased)" })
    }

    @Test func `a batch is created and deleted`() async throws {
        let server = try await TestServer()
        _ = try await post(server, "/v2/topics", #"{"name":"a"}"#)
        let body = #"{"topics":[{"name":"A"},{"name":"b","timeToLive":60},{"name":"c"},{"name":"C"}]"#
        let silent = try await post(server, "/v2/topics/batch/", body + "}")
        #expect(silent.status == 201)
        #expect(silent.json == .object(["numTopicsCreated": .integer(2), "numTopicsExisted": .integer(2)]))
        let told = try await post(server, "/v2/topics/batch", body + #","returnTopics":true}"#)
        #expect(told["numTopicsCreated"] == .integer(0) && told["numTopicsExisted"] == .integer(4))
        let topics = try #require(told["topics"]?.elements)
        #expect(topics.compactMap { $0["name"]?.stringValue } == ["a", "b", "c", "c"])
        #expect(topics[1]["expireAt"] == .integer(now + 60_000))
        let ids = topics.compactMap { if case .integer(let id)? = $0["id"] { String(id) } else { nil } }
        let deleted = try await server.send(
            .delete, "/v2/topics/batch", as: .sender, #"{"topicIds":[\#(ids.joined(separator: ",")),999999]}"#)
        #expect(deleted.status == 200)
        #expect(deleted.json == .object(["numTopicsDeleted": .integer(3)]))
        #expect(try await names(server).isEmpty)
    }

    @Test func `a batch is limited, and one bad topic fails it`() async throws {
        let server = try await TestServer()
        let many = (1...1_025).map { #"{"name":"t\#($0)"}"# }.joined(separator: ",")
        #expect(
            try await post(server, "/v2/topics/batch", #"{"topics":[\#(many)]}"#).message
                == "topics has 1025 topics, the limit is 1024")
        let bad = try await post(server, "/v2/topics/batch", #"{"topics":[{"name":"a"},{"name":"b","timeToLive":1}]}"#)
        #expect(bad.message == "topics[1].timeToLive is 1 s, the least is 60 s")
        #expect(try await server.send(.delete, "/v2/topics/batch", as: .sender, "{}").message == "topicIds is missing")
        #expect(try await names(server).isEmpty)
    }

    // MARK: Tags

    @Test func `tags are made, counted, listed and deleted`() async throws {
        let server = try await TestServer()
        _ = try await server.device("t1", on: .android, #","tags":["two words"]"#)
        _ = try await server.device("01", #","tags":["two words","b/c"]"#)
        let made = try await server.send(.post, "/v1/tags/Caf%C3%A9", as: .sender)
        #expect(made.status == 200 && made.json == .object(["text": .string("café")]))
        let tags = try await server.send(.get, "/v1/tags", as: .sender)
        #expect(tags["tags"]?.elements.compactMap(\.stringValue) == ["b/c", "café", "two words"])
        let path = "two%20words"
        #expect(try await server.send(.get, "/v1/tags/count/\(path)", as: .sender).text == "2")
        #expect(try await server.send(.get, "/v1/tags/count/\(server.ios.uuid)/\(path)", as: .sender).text == "1")
        #expect(try await server.send(.get, "/v1/tags/count/\(UUID())/\(path)", as: .sender).status == 404)
        #expect(try await server.send(.get, "/v1/tags/count/nobody", as: .sender).text == "0")
        let devices = try await server.send(.get, "/v1/tags/all/b%2Fc", as: .sender)
        #expect(devices.json.elements.compactMap { $0["registration_token"]?.stringValue } == ["01"])
        #expect(try await server.send(.delete, "/v1/tags/\(path)", as: .sender).status == 204)
        #expect(try await server.send(.delete, "/v1/tags/\(path)", as: .sender).status == 404)
        #expect(try await server.send(.get, "/v1/tags/count/\(path)", as: .sender).text == "0")
    }

    @Test(arguments: ["all", "count", "batch"])
    func `a tag may have the name of a path`(name: String) async throws {
        let server = try await TestServer()
        _ = try await server.device("0a", #","tags":["\#(name)"]"#)
        if name != "batch" { #expect(try await server.send(.post, "/v1/tags/\(name)", as: .sender).status == 200) }
        #expect(try await server.send(.delete, "/v1/tags/\(name)", as: .sender).status == 204)
        #expect(try await names(server) == [])
    }

    @Test func `a batch tags devices by UUID and by token`() async throws {
        let server = try await TestServer()
        let uuid = try await server.device("t1", on: .android, #","tags":["old"]"#)
        _ = try await server.device("0a")
        let reply = try await post(
            server, "/v1/tags/batch",
            #"[{"device_uuid":"\#(uuid)","tags":["New"]},{"registration_token":"0A","tags":["new","x"]}]"#)
        #expect(reply.status == 200)
        #expect(reply["device_uuid"] == .array([.string("\(uuid)")]))
        #expect(reply["registration_token"] == .array([.string("0A")]))
        #expect(try await server.send(.get, "/v1/tags/count/new", as: .sender).text == "2")
        let device = try await server.send(.get, "/v1/registration/\(uuid)", as: .android)
        #expect(device["tags"]?.elements.compactMap { $0["text"]?.stringValue } == ["new", "old"])
    }

    @Test func `one refusal refuses the whole batch and is named`() async throws {
        let server = try await TestServer()
        _ = try await server.device("0a")
        let good = #"{"registration_token":"0a","tags":["new"]}"#
        let unknown = try await post(
            server, "/v1/tags/batch", #"[\#(good),{"registration_token":"0b","tags":["new"]}]"#)
        #expect(unknown.status == 400)
        #expect(
            unknown.json
                == .array([
                    .object([
                        "registration_token": .string("0b"), "error": .string("This application has no such device"),
                    ])
                ]))
        let faulty = try await post(
            server, "/v1/tags/batch",
            #"[\#(good),{"tags":["a"]},{"device_uuid":"x","tags":[]},{"registration_token":"0a","tags":[""]}]"#)
        #expect(faulty.status == 400)
        #expect(
            faulty.json.elements.compactMap { $0["error"]?.stringValue } == [
                "Name either a registration_token or a device_uuid", "device_uuid is not a UUID",
                "tags[0] is an empty topic name",
            ])
        #expect(try await server.send(.get, "/v1/tags/count/new", as: .sender).text == "0")
        #expect(try await post(server, "/v1/tags/batch", "{}").message == "body has to be an array, it is an object")
        #expect(try await post(server, "/v1/tags/batch", "[]").json["device_uuid"] == .array([]))
    }
}
