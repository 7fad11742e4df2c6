import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Audiences of pushes, refusals, and answers to the sender.
@Suite struct PushTests {
    @Test func `a push is accepted, and its answer is one receipt`() async throws {
        let server = try await TestServer()
        let reply = try await server.push(#"{"message":{"body":"Hi"},"target":{"platform":"all"}}"#)
        let push = try #require(try await server.store.allPushes().first)
        #expect(reply.status == 200)
        #expect(reply.json == .object(["receipt_id": .string(push.receiptID.uuidString.lowercased())]))
        #expect(push.applicationKey == server.application.key)
        #expect(push.content == Push.Content(body: "Hi"))
        #expect(push.audience == .list(.active))
        #expect(push.platforms == nil)
        #expect(push.lane == .normal)
        #expect(push.expiresAt == nil)
    }

    @Test(arguments: [
        (#"{"platform":"all","custom_user_id":["emma"]}"#, "custom_user_id", "custom_user_ids"),
        (#"{"platforms":["ios"],"topic":["news"]}"#, "topic", "topics"),
        (#"{"device":["x"],"platform":"all"}"#, "device", "devices"),
    ])
    func `a misspelt audience is refused, for it would be everyone`(
        target: String, written: String, meant: String
    ) async throws {
        let server = try await TestServer()
        let reply = try await server.push(#"{"message":{"body":"Hi"},"target":\#(target)}"#)
        #expect(reply.status == 400 && "\(reply.json)".contains("target.\(written)"), "\(reply)")
        #expect("\(reply.json)".contains("is \(meant) meant?"), "\(reply)")
        #expect(try await server.store.allPushes().isEmpty)
    }

    @Test(arguments: [#""scheduleIn":60000,"#, ""])
    func `a message over its limit is refused, now or scheduled`(
        when: String
    ) async throws {
        let server = try await TestServer()
        func send(_ count: Int) async throws -> TestAnswer {
            let numbers = Array(repeating: "1e18", count: count).joined(separator: ",")
            return try await server.push(
                #"{\#(when)"message":{"body":"Hi","custom":{"nobody":[\#(numbers)]}},"target":{"platform":"all"}}"#)
        }
        let refused = try await send(13_200)
        #expect(refused.status == 400)
        #expect(refused.text.contains("message is 66035 bytes as it is stored, the limit is 65536"), "\(refused)")
        #expect(try await server.store.allPushes().isEmpty)
        #expect(try await send(13_000).status == 200)
    }

    /// Targets, and the names of the devices below that they reach.
    @Test(arguments: [
        (#"{"platform":"all"}"#, ["i1", "i2", "a1", "a2"]),
        (#"{"platform":"ios"}"#, ["i1", "i2"]),
        (#"{"platforms":["ios"]}"#, ["i1", "i2"]),
        (#"{"platforms":["android-fcm"]}"#, ["a1", "a2"]),
        (#"{"platforms":["ios"],"platform":"android-fcm"}"#, ["i1", "i2", "a1", "a2"]),
        (#"{"platforms":["ios"],"platform":"all"}"#, ["i1", "i2", "a1", "a2"]),
        (#"{"platforms":["ios"],"platform":""}"#, ["i1", "i2"]),
        (#"{"platforms":["windows8"]}"#, []),
        (#"{"platforms":["android"]}"#, ["a1", "a2"]),
        (#"{"topics":["news"]}"#, ["i1", "a1"]),
        (#"{"topics":["NEWS","sport"]}"#, ["i1", "a1", "a2"]),
        (#"{"tags":["news"]}"#, ["i1", "a1"]),
        (#"{"tags":["news"],"topics":["sport"]}"#, ["i1", "a1", "a2"]),
        (#"{"topics":["news"],"platforms":["ios"]}"#, ["i1"]),
        (#"{"topics":["nobody's"]}"#, []),
        (#"{"custom_user_ids":["Ann"]}"#, ["i2", "a2"]),
        (#"{"custom_user_ids":["ann"]}"#, []),
        (#"{"custom_user_ids":["Ann"],"topics":["sport"]}"#, ["i2", "a2"]),
        (#"{"custom_user_ids":["Ann"],"topics":["news"],"platforms":["ios"]}"#, ["i1", "i2"]),
        (#"{"platform":"all","interactive-only":true}"#, ["i1", "a1"]),
        (#"{"topics":["sport"],"interactive-only":true}"#, []),
        (#"{"topics":["news"],"interactive-only":"true"}"#, ["i1", "a1"]),
        (#"{"topics":[],"devices":[],"custom_user_ids":[],"platforms":[],"platform":"ios"}"#, ["i1", "i2"]),
        (#"{"topics":null,"devices":null,"platforms":["ios"],"interactive-only":null}"#, ["i1", "i2"]),
        (
            #"{"devices":["i1","a2"],"topics":["news"],"platforms":["no such"],"custom_user_ids":["Ann"]}"#,
            ["i1", "a2"]
        ),
        (#"{"devices":["i1","i1","00000000-0000-0000-0000-000000000000","111-222-333444"]}"#, ["i1"]),
        (#"{"devices":["i2"],"interactive-only":true}"#, ["i2"]),
        (#"{"devices":["other"]}"#, []),
        (#"{"devices":["dead"]}"#, ["dead"]),
        (#"{"platform":"all","unknown key":null}"#, ["i1", "i2", "a1", "a2"]),
        (#"{"platform":"all","topic":null}"#, ["i1", "i2", "a1", "a2"]),
    ])
    func `a target reaches these devices`(target: String, expected: [String]) async throws {
        var server = try await TestServer()
        server.options.verifiesCustomUserIDs = false
        let devices = try await crowd(on: server)
        var body = #"{"message":{"body":"Hi"},"target":\#(target)}"#
        for (name, uuid) in devices {
            body = body.split(separator: "\"\(name)\"", omittingEmptySubsequences: false).joined(
                separator: "\"\(uuid)\"")
        }
        let reply = try await server.push(body)
        #expect(reply.status == 200, "\(reply)")
        let push = try #require(try await server.store.allPushes().first)
        let reached = try await server.reached(by: push)
        #expect(Set(devices.filter { reached.contains($0.value) }.keys) == Set(expected))
    }

    private func crowd(on server: TestServer) async throws -> [String: UUID] {
        var stranger = try await TestServer()
        stranger = server
        let other = try await server.store.create(
            NewPlatform.test(.ios, of: try await server.store.create(.test(server.vault, key: "another"))))
        let dead = try await server.device("dead", on: .android, #","tags":["news"],"custom_user_id":"Ann""#)
        _ = try await stranger.send(.delete, "/v1/registration/\(dead)", as: .android)
        return [
            "i1": try await server.device("a1", on: .iPhone, #","tags":["news"],"os_version":"8.0""#),
            "i2": try await server.device("a2", on: .iPhone, #","custom_user_id":"Ann","os_version":"7.1""#),
            "a1": try await server.device("t1", on: .android, #","tags":["News"],"os_version":"4.1.1""#),
            "a2": try await server.device("t2", on: .android, #","tags":["sport"],"custom_user_id":"Ann""#),
            "dead": dead,
            "other": try await server.device(
                "a3", on: .raw(TestServer.User.basic(other.uuid.uuidString, TestServer.secret)), #","tags":["news"]"#),
        ]
    }

    @Test(arguments: [
        ("android", ["android", "android-fcm", "android-baidu"]), ("android-fcm", ["android-fcm"]),
        ("android-baidu", ["android-baidu"]),
    ])
    func `android targets every Android service, a service name only itself`(
        name: String, expected: [String]
    ) async throws {
        let server = try await TestServer()
        let gcm = try await server.store.create(NewPlatform.test(.android, of: server.application))
        let baidu = try await server.store.create(NewPlatform.test(.androidBaidu, of: server.application))
        let keys = ["android": gcm.key, "android-fcm": server.fcm.key, "android-baidu": baidu.key]
        for (type, platform) in [("android", gcm), ("android-fcm", server.fcm), ("android-baidu", baidu)] {
            let user = TestServer.User.raw(TestServer.User.basic(platform.uuid.uuidString, TestServer.secret))
            _ = try await server.device("of \(type)".filter { $0 != " " }, on: user)
        }
        _ = try await server.push(#"{"message":{"body":"Hi"},"target":{"platforms":["\#(name)"]}}"#)
        var reached: Set<Key<BelfryService.Platform>> = []
        try await server.store.deliver { batch, _ in
            reached.insert(batch.platformKey)
            return .accepted
        }
        #expect(reached == Set(expected.compactMap { keys[$0] }))
        let list = try await server.send(.get, "/v2/registrations?platform=\(name)", as: .sender)
        #expect(list["totalRegistrations"] == .integer(Int64(expected.count)))
    }

    @Test func `the maximum of users fits beside the longest message`()
        async throws
    {
        let server = try await TestServer()
        let ids = (0..<PushLimits.customUserIDsMax).map { number in
            let digits = String(number)
            return "\"" + digits + String(repeating: "u", count: 255 - digits.count) + "\""
        }
        let text = String(repeating: "\\u0061", count: 3_000)
        let reply = try await server.push(
            #"{"message":{"custom":{"pager":{"unread":"\#(text)"}},"body":"Hi"},"#
                + #""target":{"custom_user_ids":[\#(ids.joined(separator: ","))]}}"#)
        #expect(reply.status == 200, "\(reply.status) \(reply.message ?? "")")
        let push = try #require(try await server.store.allPushes().first)
        guard case .any(let lists) = push.audience else { throw StoreError.unknown("audience") }
        #expect(lists.count == PushLimits.customUserIDsMax)
    }

    @Test func `a push to a few names goes before the broadcasts`() async throws {
        let server = try await TestServer()
        _ = try await server.push(#"{"message":{"body":"Hi"},"target":{"custom_user_ids":["Ann"]}}"#)
        _ = try await server.push(#"{"message":{"body":"Hi"},"target":{"devices":["\#(UUID())"]}}"#)
        #expect(try await server.store.allPushes().map(\.lane) == [.urgent, .urgent])
    }

    @Test func `device keys go to the store ascending, each once`() async throws {
        let server = try await TestServer()
        let first = try await server.device("01")
        let second = try await server.device("02")
        _ = try await server.push(
            #"{"message":{"body":"Hi"},"target":{"devices":["\#(second)","\#(first)","\#(second)"]}}"#)
        let keys = try await server.store.allDevices().map(\.key)
        #expect(keys.count == 2)
        #expect(
            try await server.store.allPushes().first?.audience == .all([.list(.devices(keys)), .list(.registered)]))
    }

    @Test func `a platform's parts are kept as sent`() async throws {
        let server = try await TestServer()
        let reply = try await server.push(
            """
            {"message":{"body":"","custom":{"ios":{"alert":{"body":"b"},"badge":1,"extra":{"deep":[1,2.5,{"x":null}]}},
            "android":{"collapse_key":"k","n":9007199254740993},"windows8":null,"bb10":"text"}},"target":{"platform":"all"}}
            """)
        #expect(reply.status == 200, "\(reply)")
        let content = try #require(try await server.store.allPushes().first?.content)
        #expect(content.body == nil)
        #expect(content.custom["bb10"] == .string("text"))
        #expect(content.custom["windows8"] == nil)
        #expect(content.custom["android"]?["n"] == .integer(9_007_199_254_740_993))
        #expect(
            content.custom["ios"]?["extra"]?["deep"]
                == .array([.integer(1), .number(2.5), .object(["x": .null])]))
    }

    @Test(arguments: [
        ("1459468800000", 1_459_468_800_000), (#""1459468800000""#, 1_459_468_800_000),
        ("1.4594688e12", 1_459_468_800_000),
        ("null", nil), ("0", nil), (#""1600000000000""#, 1_600_000_000_000),
    ])
    func `an expiry is a number or text, past included`(sent: String, expected: Int64?) async throws {
        let server = try await TestServer()
        let reply = try await server.push(
            #"{"message":{"body":"Hi"},"target":{"platform":"all"},"expiryTime":\#(sent)}"#)
        #expect(reply.status == 200, "\(reply)")
        #expect(try await server.store.allPushes().first?.expiresAt == expected.map(Instant.init(milliseconds:)))
    }

    /// The clock stands at 1500000000000.
    @Test(
        arguments: [
            (#""scheduleAt":1345852800000,"scheduleIn":0"#, nil),
            (#""scheduleAt":"1345852800000""#, nil),
            (#""scheduleAt":null,"scheduleIn":null"#, nil),
            (#""scheduleAt":0,"scheduleIn":0"#, nil),
            (#""scheduleAt":1500000060000"#, nil), (#""scheduleAt":1500000060001"#, 1_500_000_060_001),
            (#""scheduleAt":"1500000060001","scheduleIn":"0""#, 1_500_000_060_001),
            (#""scheduleIn":60"#, nil), (#""scheduleIn":"60""#, nil), (#""scheduleIn":61"#, 1_500_000_061_000),
            (#""scheduleIn":251902300799"#, 253_402_300_799_000),
            (#""scheduleAt":253402300799999"#, 253_402_300_799_999),
        ] as [(String, Int64?)])
    func `a due time near or past sends now, others wait`(times: String, dueAt: Int64?)
        async throws
    {
        let server = try await TestServer()
        let reply = try await server.push(#"{"message":{"body":"Hi"},"target":{"platform":"all"},\#(times)}"#)
        #expect(reply.status == 200, "\(reply)")
        let schedules = try await server.store.schedules(of: server.application.key, after: nil, limit: 9)
        #expect(schedules.map(\.dueAt) == (dueAt.map { [Instant(milliseconds: $0)] } ?? []))
        #expect(try await server.store.allPushes().count == (dueAt == nil ? 1 : 0))
        #expect((reply["schedule_id"] != nil) == (dueAt != nil))
        #expect((reply["receipt_id"] != nil) == (dueAt == nil))
    }

    static let hello = #""message":{"body":"Hi"}"#
    static let all = #""target":{"platform":"all"}"#

    @Test(arguments: [
        (#"{\#(all)}"#, "message needs a body or a custom part"),
        (#"{"message":null,\#(all)}"#, "message needs a body or a custom part"),
        (#"{"message":{},\#(all)}"#, "message needs a body or a custom part"),
        (#"{"message":{"body":"","custom":{}},\#(all)}"#, "message needs a body or a custom part"),
        (#"{"message":"Hi",\#(all)}"#, "message has to be an object, it is a string"),
        (#"{"message":{"body":1},\#(all)}"#, "message.body has to be a string, it is a number"),
        (#"{"message":{"custom":[]},\#(all)}"#, "message.custom has to be an object, it is an array"),
        (#"{"message":{"custom":{"ios":"x"}},\#(all)}"#, "message.custom.ios has to be an object, it is a string"),
        (#"{"message":{"custom":{"android":1}},\#(all)}"#, "message.custom.android has to be an object"),
        (#"{"message":{"custom":{"windows8":[]}},\#(all)}"#, "message.custom.windows8 has to be an object"),
        (#"{"message":{"custom":{"bb10":{}}},\#(all)}"#, "message.custom.bb10 has to be a string, it is an object"),
        (#"{"message":{"custom":{"ios":{"badge":"x"}}},\#(all)}"#, "message.custom.ios.badge has to be a whole number"),
        (#"{"message":{"custom":{"ios":{"alert":7}}},\#(all)}"#, "message.custom.ios.alert has to be a string"),
        (#"{"message":{"custom":{"ios":{"alert":{"title":[]}}}},\#(all)}"#, "message.custom.ios.alert.title has to be"),
        (
            #"{"message":{"custom":{"ios":{"content-available":"yes"}}},\#(all)}"#,
            "message.custom.ios.content-available"
        ),
        (#"{"message":{"custom":{"ios":{"extra":[]}}},\#(all)}"#, "message.custom.ios.extra has to be an object"),
        (#"{"message":{"custom":{"ios":{"extra":{"aps":{}}}}},\#(all)}"#, "message.custom.ios.extra.aps is reserved"),
        (#"{\#(hello)}"#, "target needs at least one of devices, topics, custom_user_ids, platforms or platform"),
        (#"{\#(hello),"target":null}"#, "target needs at least one"),
        (#"{\#(hello),"target":{"interactive-only":true}}"#, "target needs at least one"),
        (#"{\#(hello),"target":{"topics":[],"devices":[],"platform":""}}"#, "target needs at least one"),
        (#"{\#(hello),"target":[]}"#, "target has to be an object, it is an array"),
        (#"{\#(hello),"target":{"topics":"news"}}"#, "target.topics has to be an array of strings, it is a string"),
        (#"{\#(hello),"target":{"topics":["a",2]}}"#, "target.topics[1] has to be a string, it is a number"),
        (#"{\#(hello),"target":{"topics":["a",""]}}"#, "target.topics[1] is an empty topic name"),
        (#"{\#(hello),"target":{"tags":{}}}"#, "target.tags has to be an array of strings, it is an object"),
        (#"{\#(hello),"target":{"devices":"x"}}"#, "target.devices has to be an array of strings, it is a string"),
        (#"{\#(hello),"target":{"devices":[null]}}"#, "target.devices[0] has to be a string, it is null"),
        (#"{\#(hello),"target":{"custom_user_ids":[1]}}"#, "target.custom_user_ids[0] has to be a string"),
        (#"{\#(hello),"target":{"custom_user_ids":["a",""]}}"#, "target.custom_user_ids[1] is empty"),
        (
            #"{\#(hello),"target":{"platforms":["ios","symbian"]}}"#,
            "target.platforms[1] is 'symbian', it has to be one of ios,"
        ),
        (
            #"{\#(hello),"target":{"platform":"symbian"}}"#,
            "target.platform is 'symbian', it has to be one of all, ios,"
        ),
        (#"{\#(hello),"target":{"platforms":"ios"}}"#, "target.platforms has to be an array of strings"),
        (#"{\#(hello),"target":{"platform":["ios"]}}"#, "target.platform has to be a string, it is an array"),
        (
            #"{\#(hello),"target":{"platform":"all","interactive-only":1}}"#,
            "target.interactive-only has to be true or false"
        ),
        (#"{\#(hello),\#(all),"scheduleAt":1600000000000,"scheduleIn":5}"#, "scheduleAt and scheduleIn are both given"),
        (#"{\#(hello),\#(all),"scheduleAt":"soon"}"#, "scheduleAt has to be a whole number"),
        (#"{\#(hello),\#(all),"scheduleAt":true}"#, "scheduleAt has to be a whole number, it is a boolean"),
        (#"{\#(hello),\#(all),"scheduleIn":1.5}"#, "scheduleIn has to be a whole number"),
        (#"{\#(hello),\#(all),"scheduleIn":-1}"#, "scheduleIn is -1, it has to be 0 or more"),
        (#"{\#(hello),\#(all),"scheduleIn":1e300}"#, "scheduleIn has to be a whole number of 64 bits"),
        (#"{\#(hello),\#(all),"scheduleAt":253402300800000}"#, "scheduleAt is 253402300800000 ms, which is beyond"),
        (
            #"{\#(hello),\#(all),"expiryTime":9223372036854775807}"#,
            "expiryTime is 9223372036854775807 ms, which is beyond"
        ),
        (#"{\#(hello),\#(all),"scheduleIn":251902300800}"#, "scheduleIn is 251902300800 s, which ends beyond the year"),
        (
            #"{\#(hello),\#(all),"scheduleIn":9223372036854775807}"#,
            "scheduleIn is 9223372036854775807 s, which ends beyond"
        ),
        (
            #"{\#(hello),\#(all),"scheduleAt":1500000900000,"expiryTime":1500000900000}"#,
            "expiryTime is 2017-07-14T02:55:00.000Z, which is not after the time at which the push is sent"
        ),
        (
            #"{\#(hello),\#(all),"scheduleIn":900,"expiryTime":1400000000000}"#,
            "expiryTime is 2014-05-13T16:53:20.000Z, which is not"
        ),
        (#"{\#(hello),\#(all),"expiryTime":-5}"#, "expiryTime is -5, it has to be 0 or more"),
        (#"{\#(hello),\#(all),"expiryTime":[]}"#, "expiryTime has to be a whole number, it is an array"),
        (#"{\#(hello),\#(all),"expiryTime":1e999}"#, "expiryTime is a number beyond 1.8e308"),
        (#"{\#(hello),\#(all)"#, "body is not valid JSON: expected ',' or '}' at byte"),
    ])
    func `an invalid push is a 400 that names its field`(body: String, message: String) async throws {
        let server = try await TestServer()
        let reply = try await server.push(body)
        #expect(reply.status == 400)
        #expect(reply.message?.hasPrefix(message) == true, "\(reply)")
        #expect(try await server.store.allPushes().isEmpty)
    }

    @Test(arguments: [("devices", 4_096, "devices"), ("topics", 1_024, "topics"), ("custom_user_ids", 4_096, "ids")])
    func `a push names so many and no more`(field: String, limit: Int, noun: String) async throws {
        let server = try await TestServer()
        func body(_ count: Int) -> String {
            let names = (1...count).map { "\"\(field == "devices" ? UUID().uuidString : "\($0)")\"" }.joined(
                separator: ",")
            return #"{\#(Self.hello),"target":{"\#(field)":[\#(names)]}}"#
        }
        #expect(try await server.push(body(limit)).status == 200)
        let reply = try await server.push(body(limit + 1))
        #expect(reply.status == 400)
        #expect(reply.message == "target.\(field) has \(limit + 1) \(noun), the limit is \(limit)")
    }

    @Test func `limits apply to overriding names, known to devices or not`() async throws {
        let server = try await TestServer()
        let post = { (target: String) in
            try await server.send(.post, "/v1/push", as: .sender, #"{"message":{"body":"Hi"},"target":{\#(target)}}"#)
        }
        let names = { (count: Int) in Array(repeating: #""x""#, count: count).joined(separator: ",") }
        let topics = try await post(#""devices":["x"],"topics":[\#(names(1_025))]"#)
        #expect(topics.message == "target.topics has 1025 topics, the limit is 1024")
        let devices = try await post(#""devices":[\#(names(4_097))]"#)
        #expect(devices.message == "target.devices has 4097 devices, the limit is 4096")
    }

    @Test func `a payload over 4,096 bytes is refused where providers do`()
        async throws
    {
        let server = try await TestServer()
        let text = String(repeating: "x", count: 4_100)
        let refused = try await server.push(#"{"message":{"body":"\#(text)"},"target":{"platforms":["ios"]}}"#)
        #expect(refused.status == 400)
        #expect(refused.message?.hasPrefix("message makes an iOS payload of 4") == true, "\(refused)")
        #expect(refused.message?.hasSuffix("APNs takes 4096") == true, "\(refused)")
        let android = try await server.push(#"{"message":{"body":"\#(text)"},"target":{"platforms":["android-fcm"]}}"#)
        #expect(android.status == 400)
        #expect(android.message?.hasPrefix("message makes an android-fcm payload of 4") == true, "\(android)")
        let taken = try await server.push(#"{"message":{"body":"\#(text)"},"target":{"platforms":["bb10"]}}"#)
        #expect(taken.status == 200)
    }
}
