import BelfryTesting
import FoundationEssentials
import Hummingbird
import HummingbirdTesting
import NIOCore
import Synchronization
import Testing

@testable import BelfryService

/// Requests of back ends to the mediator, byte by byte. Source: Acrobits, "HTTP push", "Form HTTP push" and "SIPIS-less pushes", and
/// the public clients that docs/compatibility/acrobits.md lists.
@Suite struct MediatorTests {
    private static let json = "application/json"
    private static let form = "application/x-www-form-urlencoded"
    private static let sent = #"{"code":200,"response":"Your message was sent."}"#

    private static func call(_ verb: String, calls: Bool = false, _ more: String = "") -> String {
        let (app, token) =
            calls
            ? (SoftphoneServer.callsAppID, SoftphoneServer.callsToken)
            : (SoftphoneServer.appID, SoftphoneServer.callsToken)
        return
            #"{"verb":"\#(verb)","AppId":"\#(app)","DeviceToken":"\#(token)","Selector":"\#(SoftphoneServer.selector)"\#(more)}"#
    }

    private static func expectSent(_ answer: RawAnswer, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(answer.status == 200 && answer.body == sent, "\(answer)", sourceLocation: sourceLocation)
        #expect(answer.headers["content-type"]?.hasPrefix("application/json") == true, sourceLocation: sourceLocation)
    }

    @Test func `an incoming call is an urgent PushKit push, one minute`() async throws {
        try await SoftphoneServer.with { server in
            let call = Self.call(
                "NotifyIncomingCall", calls: true,
                #","Id":"a84b4c76e66710","UserName":"bob","UserDisplayName":"Bob B."#
                    + #"","Unknown":"x""#)
            Self.expectSent(try await server.post("/pnm2/send", Self.json, call))
            let push = try #require(try await server.pushes.first)
            #expect(push.lane == .urgent && push.platforms == nil)
            #expect(push.expiresAt == server.clock.now + .seconds(60))
            let apple = try #require(push.content.apple)
            #expect(apple.type == .voip)
            #expect(apple.payload["s"] == .string(SoftphoneServer.selector))
            #expect(apple.payload["Id"] == .string("a84b4c76e66710"))
            #expect(apple.payload["UserDisplayName"] == .string("Bob B."))
            #expect(apple.payload["Unknown"] == nil)
            // It has its batch already, so it leaves at once.
            #expect(try await server.store.number("SELECT count(*) FROM batch") == 1)
            #expect(try await server.devices(.apple(.voip)).count == 1)
        }
    }

    @Test(arguments: [
        ("NotifyIncomingCallMissed", "s_missed"), ("NotifyTextMessage", "sm"), ("NotifyIncomingCall", "s"),
    ])
    func `each verb has its own key for the app`(verb: String, key: String) async throws {
        try await SoftphoneServer.with { server in
            Self.expectSent(try await server.post("/pnm2/send", Self.json, Self.call(verb)))
            let payload = try #require(try await server.pushes.first?.content.apple?.payload)
            #expect(payload[key] == .string(SoftphoneServer.selector))
            #expect(["s", "sm", "s_missed", "type"].filter { payload[$0] != nil } == [key])
        }
    }

    @Test(arguments: ["NotifyIncomingCallAnsweredElsewhere", "NotifyReprovision"])
    func `a verb without a key reaches the app as data`(verb: String) async throws {
        try await SoftphoneServer.with { server in
            Self.expectSent(try await server.post("/pnm2/send", Self.json, Self.call(verb)))
            let apple = try #require(try await server.pushes.first?.content.apple)
            #expect(apple.type == .background && apple.payload["type"] == .string(verb))
        }
    }

    @Test(arguments: [#""1""#, "1"])
    func `a text message shows text; its badge may be text`(badge: String) async throws {
        try await SoftphoneServer.with { server in
            let fields =
                #","Message":"Hello","Badge":\#(badge),"Sound":"default","UserName":"+441234","UserDisplayName":"Bob","ContentType":"text/plain","Id":"42","ThreadId":"9""#
            Self.expectSent(try await server.post("/pnm2/send", Self.json, Self.call("NotifyTextMessage", fields)))
            let push = try #require(try await server.pushes.first)
            let apple = try #require(push.content.apple)
            #expect(apple.type == .alert)
            let aps: JSONValue = .object([
                "alert": .object(["title": .string("Bob"), "body": .string("Hello")]), "badge": .integer(1),
                "sound": .string("default"), "thread-id": .string("9"), "content-available": .integer(1),
            ])
            #expect(apple.payload["aps"] == aps)
            #expect(apple.payload["Id"] == .string("42"))
            #expect(push.expiresAt == server.clock.now + .seconds(86_400))
        }
    }

    @Test func `a shown text needs no selector; FCM gets urgent data`()
        async throws
    {
        try await SoftphoneServer.with { server in
            let call =
                #"{"verb":"NotifyGenericTextMessage","AppId":"com.cloudsoftphone.app","DeviceToken":"\#(SoftphoneServer.otherToken)","Message":"Hello"}"#
            Self.expectSent(try await server.post("/pnm2/send", Self.json, call))
            let content = try #require(try await server.pushes.first?.content)
            #expect(content.apple == nil)
            #expect(content.custom["android"]?["message"] == .string("Hello"))
            #expect(content.custom["android"]?["priority"] == .string("high"))
            #expect(try await server.tokens(.androidFCM) == [SoftphoneServer.otherTokenText])
        }
    }

    @Test func `the form needs no selector or JSON and is decoded`() async throws {
        try await SoftphoneServer.with { server in
            let token = "Udl99X2JFP1bWwS5gR%2FwGeLE1hmAB2CMpr1Ej0wxkrY%3D"
            let smsglue = "verb=NotifyTextMessage&AppId=com.cloudsoftphone.app&DeviceToken=\(token)\n"
            Self.expectSent(try await server.post("/pnm2", Self.form, smsglue))
            let voipbits =
                "verb=NotifyTextMessage&AppId=com.cloudsoftphone.app&DeviceToken=\(token)&Selector=S&Badge=1&UserName=%2B44+123&Message=Hi+there"
            Self.expectSent(try await server.post("/pnm2", Self.form, voipbits))
            #expect(try await server.devices(.ios).count == 1)
            let payload = try #require(try await server.pushes.last?.content.apple?.payload)
            #expect(payload["aps"]?["alert"]?["title"] == .string("+44 123"))
            #expect(payload["aps"]?["alert"]?["body"] == .string("Hi there"))
        }
    }

    @Test(arguments: [
        ("verb", #"{"AppId":"a","DeviceToken":"b","Selector":"c"}"#),
        ("AppId", #"{"verb":"NotifyTextMessage","DeviceToken":"b","Selector":"c"}"#),
        ("DeviceToken", #"{"verb":"NotifyTextMessage","AppId":"a","Selector":"c"}"#),
        ("Selector", #"{"verb":"NotifyTextMessage","AppId":"a","DeviceToken":"b"}"#),
        ("Message", #"{"verb":"NotifyGenericTextMessage","AppId":"a","DeviceToken":"b"}"#),
        ("body", "{"), ("body", "3"), ("AppId", #"{"verb":"X","AppId":"unknown","DeviceToken":"b","Selector":"c"}"#),
    ])
    func `a missing or unknown field sends nothing and is 400`(
        field: String, body: String
    ) async throws {
        try await SoftphoneServer.with { server in
            let answer = try await server.post("/pnm2/send", Self.json, body)
            #expect(answer.status == 400, "\(answer)")
            let json = try JSONValue(json: answer.body.utf8)
            #expect(json["code"] == .integer(400))
            #expect(json["response"]?.stringValue?.contains(field) == true, "\(answer)")
            #expect(try await server.pushes.isEmpty)
        }
    }

    @Test(arguments: [(String?.none, 200), ("404", 404)])
    func `a dead token is 404 in the body, HTTP optional`(
        setting: String?, status: Int
    ) async throws {
        try await SoftphoneServer.with(deadTokenStatus: setting) { server in
            let call = Self.call("NotifyIncomingCall", calls: true)
            Self.expectSent(try await server.post("/pnm2/send", Self.json, call))
            let device = try #require(try await server.devices(.apple(.voip)).first)
            try await server.store.unregister(device.uuid, on: device.platformKey)
            let answer = try await server.post("/pnm2/send", Self.json, call)
            #expect(answer.status == status, "\(answer)")
            let json = try JSONValue(json: answer.body.utf8)
            #expect(json["code"] == .integer(404))
            #expect(json["response"]?.stringValue?.contains("404") == true)
            #expect(try await server.pushes.count == 1)
        }
    }

    @Test func `a token that is none is dead for a day`() async throws {
        try await SoftphoneServer.with { server in
            let call = Self.call("NotifyIncomingCall", calls: true)
            for _ in 1...2 {
                Self.expectSent(try await server.post("/pnm2/send", Self.json, call))
                try await server.store.deliver { _, _ in .refused(.badToken) }
                let answer = try await server.post("/pnm2/send", Self.json, call)
                #expect(answer.status == 200 && answer.body.contains(#""code":404"#), "\(answer)")
                server.clock.advance(by: TokenGateway.deadFor)
            }
            #expect(try await server.pushes.count == 2)
        }
    }

    @Test(arguments: [(Answer.gone, true), (.refused(.badToken), true), (.refused(.tokenOfAnotherApplication), false)])
    func `a token that is reported again is sent to`(answer: Answer, isDead: Bool) async throws {
        try await SoftphoneServer.with { server in
            let call = Self.call("NotifyIncomingCall", calls: true)
            Self.expectSent(try await server.post("/pnm2/send", Self.json, call))
            let device = try #require(try await server.devices(.apple(.voip)).first)
            try await server.store.deliver { _, _ in answer }
            let refused = try await server.post("/pnm2/send", Self.json, call)
            #expect(refused.body.contains(#""code":404"#) == isDead, "\(refused)")
            server.clock.advance(by: .seconds(1))
            let report = try Registration(
                token: try #require(device.token), about: Device.About(osVersion: "2"), customUserID: .keep,
                topics: .keep)
            let platform = try #require(try await server.store.platform(device.platformKey))
            _ = try await server.store.register(report, as: nil, on: platform)
            Self.expectSent(try await server.post("/pnm2/send", Self.json, call))
        }
    }

    @Test func `several messages in an array are answered one by one`() async throws {
        try await SoftphoneServer.with { server in
            let body = "[\(Self.call("NotifyTextMessage")),{},\(Self.call("NotifyIncomingCall", calls: true))]"
            let answer = try await server.post("/pnm2/send", Self.json, body)
            #expect(answer.status == 200)
            guard case .array(let answers) = try JSONValue(json: answer.body.utf8) else {
                throw StoreError.unknown("array")
            }
            #expect(answers.map { $0["code"] } == [.integer(200), .integer(400), .integer(200)])
            #expect(try await server.pushes.count == 2)
            let long = "[\(Array(repeating: "{}", count: Acrobits.callsPerBatch + 1).joined(separator: ","))]"
            #expect(try await server.post("/pnm2/send", Self.json, long).status == 400)
        }
    }

    @Test func `an operator's payload replaces the usual one`() async throws {
        try await SoftphoneServer.with { server in
            let voip = try #require(server.platforms[.apple(.voip)])
            let template = try AcrobitsPayloadTemplate(
                #"{"NotifyIncomingCall":{"v":"%verb%","to":"x-%Selector%","n":"%Badge%","id":"%Id%","aps":{"badge":7}},"*":{"t":1}}"#
            )
            try await server.store.set(
                AcrobitsAppID(
                    name: SoftphoneServer.callsAppID, applicationKey: server.application.key, platformKey: voip.key,
                    payload: template))
            let call = Self.call("NotifyIncomingCall", calls: true, #","Badge":"3""#)
            Self.expectSent(try await server.post("/pnm2/send", Self.json, call))
            let expected: JSONObject = [
                "v": .string("NotifyIncomingCall"), "to": .string("x-\(SoftphoneServer.selector)"), "n": .integer(3),
                "aps": .object(["badge": .integer(7)]),
            ]
            #expect(try await server.pushes.first?.content.apple?.payload == expected)
            Self.expectSent(try await server.post("/pnm2/send", Self.json, Self.call("Other", calls: true)))
            #expect(try await server.pushes.last?.content.apple?.payload["t"] == .integer(1))
        }
    }

    @Test func `numbers of an operator's payload keep their digits`() async throws {
        try await SoftphoneServer.with { server in
            let voip = try #require(server.platforms[.apple(.voip)])
            let data =
                #""price":12.50,"one":1.0,"zero":-0,"id":123456789012345678901234567890,"z":[1E+2],"é":1,"e"#
                + "\u{301}\":2,\"a\":{\"b\":1.10}"
            let template = try AcrobitsPayloadTemplate("{\"*\":{\(data),\"aps\":{\"badge\":7}}}")
            try await server.store.set(
                AcrobitsAppID(
                    name: SoftphoneServer.callsAppID, applicationKey: server.application.key, platformKey: voip.key,
                    payload: template))
            Self.expectSent(try await server.post("/pnm2/send", Self.json, Self.call("Other", calls: true)))
            let content = try #require(try await server.pushes.first?.content)
            let stored = try Push.Content(stored: Array(content.storedText.utf8))
            let payload = try IOSPayload(stored, for: .voip, receiptID: nil, sentAt: .zero).bytes
            #expect(payload.firstRange(of: Array(data.utf8)) != nil, "\(String(decoding: payload, as: UTF8.self))")
        }
    }

    @Test(arguments: [
        "\"" + String(repeating: "%Message%", count: 400) + "\"",
        "[" + [String](repeating: "\"%Message%\"", count: 300).joined(separator: ",") + "]",
    ])
    func `a repeated template field cannot make an unbounded payload`(texts: String) async throws {
        try await SoftphoneServer.with { server in
            let voip = try #require(server.platforms[.apple(.voip)])
            try await server.store.set(
                AcrobitsAppID(
                    name: SoftphoneServer.callsAppID, applicationKey: server.application.key, platformKey: voip.key,
                    payload: try AcrobitsPayloadTemplate(#"{"*":{"m":\#(texts)}}"#)))
            let long = String(repeating: "y", count: 1_000)
            let call = Self.call("NotifyTextMessage", calls: true, #","Message":"\#(long)""#)
            let answer = try await server.post("/pnm2/send", Self.json, call)
            #expect(answer.status == 400 && answer.body.contains("8192"))
            #expect(try await server.pushes.isEmpty, "\(answer)")
        }
    }

    @Test(arguments: [nil, ["10.0.0.0/8"], []] as [[String]?])
    func `an address that is not listed finds no mediator`(allowed: [String]?) async throws {
        try await SoftphoneServer.with(mediators: allowed) { server in
            for path in ["/pnm2/send", "/pnm2"] {
                let answer = try await server.post(path, Self.json, Self.call("NotifyTextMessage"))
                #expect(answer.status == 404)
            }
            #expect(try await server.pushes.isEmpty)
            #expect(try await server.store.allDevices().isEmpty)
        }
    }

    /// A tenant that claims the victim's app id, with a mediator for the whole net, whose path has the key `thief`.
    private static func thief(_ server: SoftphoneServer) async throws -> BelfryService.Application {
        let tenant = try await server.store.create(try NewTenant(uuid: UUID(), name: Name("Thief")))
        let thief = try await server.store.create(.test(PlaintextVault(), tenant: tenant.key))
        let platform = try await server.store.create(.test(.ios, of: thief))
        try await server.store.set(
            AcrobitsAppID(name: SoftphoneServer.appID, applicationKey: thief.key, platformKey: platform.key))
        _ = try await server.store.create(
            try NewOpenEndpoint(
                kind: .acrobitsMediator, application: thief.key, keyHash: SecretHash.of("thief"),
                allowed: ["0.0.0.0/0"]))
        return thief
    }

    @Test func `another tenant gains nothing by claiming an app id`() async throws {
        try await SoftphoneServer.with { server in
            let thief = try await Self.thief(server)
            Self.expectSent(try await server.post("/pnm2/send", Self.json, Self.call("NotifyTextMessage")))
            Self.expectSent(try await server.post("/pnm2/mediator/send", Self.json, Self.call("NotifyTextMessage")))
            #expect(try await server.pushes.allSatisfy { $0.applicationKey == server.application.key })
            Self.expectSent(try await server.post("/pnm2/thief/send", Self.json, Self.call("NotifyTextMessage")))
            #expect(try await server.pushes.count { $0.applicationKey == thief.key } == 1)
            for key in ["unknown", SoftphoneServer.key] {
                let answer = try await server.post("/pnm2/\(key)/send", Self.json, Self.call("NotifyTextMessage"))
                #expect(answer.status == 404)
            }
        }
    }

    @Test func `a call is charged to the app id's owner`() async throws {
        let clock = ManualClock()
        let store = try SQLiteStore.temporary(clock: clock)
        let limiter = RequestLimiter(
            options: RequestLimiter.Options(limits: [.sender: RateLimit(perSecond: 1, burst: 2)]), clock: clock)
        let router = ResponseMiddleware.router(clock: clock)
        MediatorRoutes(Services(store, clock: clock, requestLimiter: limiter)).add(to: router)
        for name in ["a", "b"] {
            let application = try await store.create(.test(PlaintextVault()))
            let platform = try await store.create(.test(.ios, of: application))
            try await store.set(
                AcrobitsAppID(name: name, applicationKey: application.key, platformKey: platform.key))
            _ = try await store.create(
                try NewOpenEndpoint(
                    kind: .acrobitsMediator, application: application.key, keyHash: SecretHash.of(name),
                    allowed: ["127.0.0.0/8"], isPlain: true))
        }
        let app = Hummingbird.Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
        try await app.test(.live) { client in
            func statuses(_ appID: String, _ path: String, count: Int, messages: Int = 1) async throws -> [Int] {
                var call =
                    #"{"verb":"NotifyTextMessage","AppId":"\#(appID)","Selector":"S","#
                    + #""DeviceToken":"\#(SoftphoneServer.callsToken)"}"#
                if messages > 1 { call = "[\([String](repeating: call, count: messages).joined(separator: ","))]" }
                var statuses: [Int] = []
                for _ in 0..<count {
                    statuses.append(
                        try await client.execute(uri: path, method: .post, body: ByteBuffer(string: call)).status.code)
                }
                return statuses
            }
            let answered = [
                try await statuses("a", "/pnm2/send", count: 3), try await statuses("a", "/pnm2/a/send", count: 1),
                try await statuses("b", "/pnm2/send", count: 2),
            ]
            #expect(answered == [[200, 200, 429], [429], [200, 200]])
            clock.advance(by: .seconds(2))
            // Each message of a batch counts, with a key and without.
            for path in ["/pnm2/send", "/pnm2/b/send"] {
                #expect(try await statuses(path == "/pnm2/send" ? "a" : "b", path, count: 1, messages: 3) == [429])
            }
        }
    }

    @Test(arguments: [nil, "192.0.2.0/24", "127.0.0.0/8"])
    func `a flood costs few queries, whatever its paths`(network: String?) async throws {
        let clock = ManualClock()
        let lookUps = Atomic(0)
        let base = try SQLiteStore.temporary(clock: clock)
        let store = InterceptedStore(base) { _ in lookUps.add(1, ordering: .relaxed) }
        let limiter = RequestLimiter(
            options: RequestLimiter.Options(limits: [.sender: RateLimit(perSecond: 1, burst: 2)]), clock: clock)
        let router = ResponseMiddleware.router(clock: clock)
        MediatorRoutes(Services(store, clock: clock, requestLimiter: limiter)).add(to: router)
        let application = try await base.create(.test(PlaintextVault()))
        if let network {
            _ = try await base.create(
                try NewOpenEndpoint(
                    kind: .acrobitsMediator, application: application.key, keyHash: SecretHash.of("right"),
                    allowed: [network], isPlain: true))
        }
        let app = Hummingbird.Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
        try await app.test(.live) { client in
            var refused = 0
            for number in 0..<100 {
                let paths = network == nil ? ["/pnm2/\(number)", "/pnm2/\(number)/send"] : ["/pnm2", "/pnm2/send"]
                for path in paths {
                    let status = try await client.execute(uri: path, method: .post, body: ByteBuffer(string: "{}"))
                        .status
                    if status == .tooManyRequests { refused += 1 }
                }
            }
            let most = network == "127.0.0.0/8" ? 5 : 100
            let looked = lookUps.load(ordering: .relaxed)
            #expect(refused >= 100 && looked <= most, "\(refused) were refused, \(looked) looked for")
        }
    }

    @Test func `a right key gets its turn where others guess`() async throws {
        let clock = ManualClock()
        let store = try SQLiteStore.temporary(clock: clock)
        let router = ResponseMiddleware.router(clock: clock)
        MediatorRoutes(Services(store, clock: clock)).add(to: router)
        let application = try await store.create(.test(PlaintextVault()))
        for key in ["right", "other"] {
            _ = try await store.create(
                try NewOpenEndpoint(
                    kind: .acrobitsMediator, application: application.key, keyHash: SecretHash.of(key),
                    allowed: ["127.0.0.0/8"], isPlain: false))
        }
        let app = Hummingbird.Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
        try await app.test(.live) { client in
            func status(_ key: String) async throws -> (Int, String) {
                let answer = try await client.execute(
                    uri: "/pnm2/\(key)/send", method: .post, body: ByteBuffer(string: "{}"))
                return (answer.status.code, String(buffer: answer.body))
            }
            for number in 0..<99 { _ = try await status("\(number)") }
            #expect(try await status("right").0 != 429, "the last look-up is its own")
            _ = try await status("99")
            let refused = try await status("100")
            #expect(refused.0 == 429 && refused.1.contains("unknown keys"), "\(refused)")
            #expect(try await status("right").0 != 429, "it is known")
            clock.advance(by: .milliseconds(50))
            #expect(try await status("other").0 != 429, "it is looked up")
        }
    }

    @Test(arguments: ["127.0.0.1/32", "0.0.0.0/0", "127.0.0.0/9"])
    func `a network without a key is of one tenant`(network: String) async throws {
        try await SoftphoneServer.with { server in
            let thief = try await Self.thief(server)
            func plain(_ network: String, of application: BelfryService.Application) throws -> NewOpenEndpoint {
                try NewOpenEndpoint(
                    kind: .acrobitsMediator, application: application.key, keyHash: SecretHash.of(network),
                    allowed: network.contains(":") ? [network] : ["192.0.2.\(application.key)", network], isPlain: true)
            }
            await #expect(throws: StoreError.self) { try await server.store.create(plain(network, of: thief)) }
            _ = try await server.store.create(plain("2001:db8::/32", of: thief))
            _ = try await server.store.create(plain(network, of: server.application))
            Self.expectSent(try await server.post("/pnm2/send", Self.json, Self.call("NotifyTextMessage")))
        }
    }

    @Test func `an app id unknown to the mediator is passed on`() async throws {
        let relay = RecordingRelay()
        let clock = ManualClock()
        let store = try SQLiteStore.temporary(clock: clock)
        let service = Services(store, clock: clock).acrobits
        let call = try AcrobitsCall(json: try JSONValue(json: Self.call("NotifyTextMessage").utf8))
        #expect(try await service.send(try await service.route(call, among: [])) == .unknownAppID)
        let answer = MediatorAnswer(try await relay.relay([1], isForm: true))
        #expect(answer.status == 200 && answer.code == 404)
        #expect(MediatorAnswer(.unreachable).code == 500)
    }
}

private struct RecordingRelay: MediatorRelay {
    func relay(_ body: [UInt8], isForm: Bool) async throws -> RelayedAnswer {
        .answered(status: 200, code: 404, words: "gone")
    }
}
