import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Pushes that wait, as their senders see them. The clock stands at 1500000000000.
@Suite struct ScheduleAPITests {
    private func schedule(_ server: TestServer, _ more: String = #""target":{"topics":["News"]}"#) async throws
        -> String
    {
        let reply = try await server.push(#"{"message":{"body":"Hi"},"scheduleAt":1500000900000,\#(more)}"#)
        return try #require(reply["schedule_id"]?.stringValue, "\(reply)")
    }

    private func send(
        _ method: HTTPRequest.Method, _ id: String, of server: TestServer, _ body: String? = nil
    ) async throws -> TestAnswer {
        try await server.send(method, "/v1/schedules/\(id)", as: .sender, body)
    }

    @Test func `a schedule shows its push as the documentation has it`() async throws {
        let server = try await TestServer()
        let reply = try await server.push(
            """
            {"message":{"body":"Hi \\"you\\"","custom":{"ios":{"badge":1,"extra":{"deep":[1,2.5,null,true,{"a":"b"}]}}}},
            "target":{"topics":["News"],"platforms":["ios"],"custom_user_ids":["Ann"],"interactive-only":true},
            "scheduleIn":900,"expiryTime":"1500009999999"}
            """)
        let id = try #require(reply["schedule_id"]?.stringValue)
        #expect(reply.json == .object(["schedule_id": .string(id)]))
        #expect(id.count == 16 && id.allSatisfy(\.isHexDigit))
        let shown = try await send(.get, id, of: server)
        #expect(shown.status == 200)
        let expected = try JSONValue(
            json: """
                {"schedule_id":"\(id)","scheduled_for":1500000900000,"push":{"scheduleAt":1500000900000,"scheduleIn":0,
                "expiryTime":1500009999999,"message":{"body":"Hi \\"you\\"","custom":{"ios":{"badge":1,
                "extra":{"deep":[1,2.5,null,true,{"a":"b"}]}}}},"target":{"topics":["news"],"platforms":["ios"],
                "devices":[],"custom_user_ids":["Ann"],"interactive-only":true,"platform":""}}}
                """.utf8)
        #expect(shown.json == expected)
        #expect(try await server.send(.get, "/v1/schedules", as: .sender).json == .array([expected]))
    }

    @Test func `the list is a plain array by due time`() async throws {
        let server = try await TestServer()
        #expect(try await server.send(.get, "/v1/schedules/", as: .sender).text == "[]")
        for number in (1...70).reversed() {
            let body = #"{"message":{"body":"Hi"},"target":{"platform":"all"},"scheduleIn":\#(100 + number)}"#
            #expect(try await server.push(body).status == 200)
        }
        for path in ["/v1/schedules", "/v1/schedule", "//v1/schedules/"] {
            let reply = try await server.send(.get, path, as: .sender)
            #expect(reply.status == 200)
            #expect(reply.headers[.contentType] == "application/json;charset=UTF-8")
            guard case .array(let list) = reply.json else {
                Issue.record("\(reply)")
                continue
            }
            let times = (1...70).map { JSONValue.integer(1_500_000_100_000 + $0 * 1_000) }
            #expect(list.compactMap { $0["scheduled_for"] } == times)
            #expect(list.first?["push"]?["target"]?["platform"] == .string("all"))
        }
        #expect(try await server.send(.head, "/v1/schedules", as: .sender).status == 200)
    }

    @Test(arguments: [
        (#"{"scheduleAt":1500001000000}"#, "scheduled_for", #"1500001000000"#),
        (#"{"scheduleIn":"50"}"#, "scheduled_for", #"1500000050000"#),
        (#"{"scheduleAt":"1400000000000","scheduleIn":0}"#, "scheduled_for", #"1400000000000"#),
        (#"{"expiryTime":1500002000000}"#, "expiryTime", "1500002000000"),
        (#"{"message":{"body":"new"}}"#, "message", #"{"body":"new","custom":{}}"#),
        (#"{"message":{"custom":{"ios":{"badge":0}}}}"#, "message", #"{"body":null,"custom":{"ios":{"badge":0}}}"#),
        (
            #"{"target":{"devices":["6c2a0a54-3b0f-4a4e-9a44-0e6a3d5b8b5f"]}}"#, "target",
            #"{"topics":[],"platforms":[],"devices":["6c2a0a54-3b0f-4a4e-9a44-0e6a3d5b8b5f"],"interactive-only":false,"platform":""}"#
        ),
        ("{}", "scheduled_for", "1500000900000"),
        (#"{"message":null,"target":null,"scheduleAt":null,"unknown":null}"#, "scheduled_for", "1500000900000"),
    ])
    func `an update changes what it names and nothing else`(body: String, key: String, value: String) async throws {
        let server = try await TestServer()
        let id = try await schedule(server)
        let before = try await send(.get, id, of: server)
        let reply = try await send(.put, id, of: server, body)
        #expect(reply.status == 200, "\(reply)")
        #expect(try await send(.get, id, of: server).json == reply.json)
        let expected = try JSONValue(json: value.utf8)
        #expect((reply[key] ?? reply["push"]?[key]) == expected)
        #expect(reply["push"]?["scheduleAt"] == reply["scheduled_for"])
        for other in ["message", "target", "expiryTime"] where other != key {
            #expect(reply["push"]?[other] == before["push"]?[other])
        }
        if key != "scheduled_for" { #expect(reply["scheduled_for"] == before["scheduled_for"]) }
    }

    @Test(arguments: [
        (#"{"scheduleAt":1500001000000,"scheduleIn":5}"#, "scheduleAt and scheduleIn are both given"),
        (#"{"target":{"topics":[""]}}"#, "target.topics[0] is an empty topic name"),
        (#"{"message":{"custom":{"ios":{"badge":"x"}}}}"#, "message.custom.ios.badge has to be a whole number"),
        (#"{"message":{"body":""}}"#, "message needs a body or a custom part"),
        (#"{"target":{"topics":[],"platform":""}}"#, "target needs at least one of devices"),
        (#"{"scheduleAt":-1}"#, "scheduleAt is -1"), ("[]", "body has to be an object"),
        (#"{"expiryTime":1500000100000}"#, "expiryTime is 2017-07-14T02:41:40"),
    ])
    func `an invalid update is a 400 and changes nothing`(body: String, message: String) async throws {
        let server = try await TestServer()
        let id = try await schedule(server)
        let before = try await send(.get, id, of: server).json
        let reply = try await send(.put, id, of: server, body)
        #expect(reply.status == 400)
        #expect(reply.message?.hasPrefix(message) == true, "\(reply)")
        #expect(try await send(.get, id, of: server).json == before)
    }

    @Test(arguments: ["Hi", "Ho"])
    func `a schedule written back keeps what PCF cannot show`(word: String) async throws {
        let server = try await TestServer()
        let message = """
            {"body":"Hi {{user.id}} of {{values.shop}}","template":true,"badge":3,"language":"en","values":{"shop":"Ada's"},"title":"New",
            "translations":{"de":{"body":"Hallo"}},"custom":{"android":{"priority":"high"}}}
            """
        let body = #"{"message":\#(message),"target":{"topics":["news"]}}"#
        var expected = try PCF.PushBody.parse(Array(body.utf8)).pushRequest()
        expected.content.apple = try ApplePush(JSONValue(json: #"{"payload":{"aps":{"alert":"New"}}}"#.utf8))
        expected.target = Target(
            try AudienceExpression(json: try JSONValue(json: #"{"topic":"vip"}"#.utf8), field: "where"))
        let schedule = try await server.store.schedule(
            expected, at: server.clock.now + .seconds(900), recurring: nil, for: server.application.key)
        let push = try #require(try await send(.get, schedule.key.id, of: server)["push"])
        #expect(push["target"]?["platform"] == .string(""))
        let reply = try await send(
            .put, schedule.key.id, of: server, push.flat.replacing("Hi", with: word))
        #expect(reply.status == 200, "\(reply)")
        if word != "Hi" {
            expected.content.body = "Ho {{user.id}} of {{values.shop}}"
            expected.content.apple = nil
        }
        let stored = try await server.store.schedule(schedule.key, of: server.application.key)
        #expect(stored?.pushRequest == expected)
    }

    @Test func `a cancelled schedule is gone`() async throws {
        let server = try await TestServer()
        let id = try await schedule(server)
        #expect(try await send(.delete, id, of: server).status == 204)
        for method in [HTTPRequest.Method.get, .put, .delete] {
            #expect(try await send(method, id, of: server, "{}").status == 404)
        }
        #expect(try await server.send(.get, "/v1/schedules", as: .sender).json == .array([]))
    }

    @Test(arguments: ["fc226fbc1443ebfe", "1", "null", "0000000000000000"])
    func `an unknown id is a 404`(id: String) async throws {
        let server = try await TestServer()
        for method in [HTTPRequest.Method.get, .put, .delete] {
            let reply = try await send(method, id, of: server, "{}")
            #expect(reply.status == 404)
            #expect(reply.message?.hasPrefix("No schedule with this id waits") == true, "\(reply)")
        }
    }

    @Test func `another application's schedules are unknown, and devices see none`() async throws {
        let server = try await TestServer()
        let id = try await schedule(server)
        let other = try await server.store.create(NewApplication.test(server.vault, key: "another"))
        let stranger = TestServer.User.raw(TestServer.User.basic(other.uuid.uuidString, "another"))
        for method in [HTTPRequest.Method.get, .put, .delete] {
            #expect(try await server.send(method, "/v1/schedules/\(id)", as: stranger, "{}").status == 404)
            #expect(try await server.send(method, "/v1/schedules/\(id)", as: .iPhone, "{}").status == 401)
        }
        #expect(try await server.send(.get, "/v1/schedules", as: stranger).json == .array([]))
        #expect(try await send(.get, id, of: server).status == 200)
    }

    @Test func `a schedule refuses content that a platform cannot take`() async throws {
        let server = try await TestServer()
        let text = String(repeating: "x", count: 4_100)
        let reply = try await server.push(
            #"{"message":{"body":"\#(text)"},"target":{"platforms":["ios"]},"scheduleIn":900}"#)
        #expect(reply.status == 400)
        let id = try await schedule(server, #""target":{"platforms":["ios"]}"#)
        #expect(try await send(.put, id, of: server, #"{"message":{"body":"\#(text)"}}"#).status == 400)
    }
}
