import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Synchronization
import Testing

@testable import BelfryService

/// Warnings about requests that are accepted although something in them is probably wrong, and about times in seconds.
@Suite struct CallerMistakesTests {
    private static let token = RegistrationTests.token

    private static let misspelt = [
        (#""expires_at":1800000000000,"target":{"topics":["a"]}"#, "expires_at", "expiryTime"),
        (#""expiry_time":1800000000000,"target":{"topics":["a"]}"#, "expiry_time", "expiryTime"),
        (#""ScheduleIn":1,"target":{"topics":["a"]}"#, "ScheduleIn", "scheduleIn"),
        (#""send_at":"2090-01-31T08:30:00Z","target":{"topics":["a"]}"#, "send_at", "scheduleAt"),
        (#""topics":["b"],"target":{"topics":["a"]}"#, "topics", "target.topics"),
        (#""target":{"topics":["a"],"platfrom":"ios"}"#, "target.platfrom", "target.platform"),
        (#""target":{"topics":["a"],"not_topics":["b"]}"#, "target.not_topics", "target.topics"),
        (#""target":{"topics":["a"],"users":["ada"]}"#, "target.users", "target.custom_user_ids"),
    ]

    /// The application's back ends send what nothing reads.
    private static func tolerantServer() async throws -> TestServer {
        let server = try await TestServer()
        try await server.store.edit(server.application.key, ApplicationEdit(ignoresUnknownFields: true))
        _ = try await server.device(token, #","tags":["a"]"#)
        return server
    }

    @Test(arguments: misspelt)
    func `a push that says what nothing reads is refused`(fields: String, field: String, meant: String) async throws {
        let server = try await TestServer()
        let reply = try await server.push(#"{"message":{"body":"Hi"},\#(fields)}"#)
        #expect(reply.status == 400)
        let name = field.hasPrefix("target.") ? meant.replacing("target.", with: "") : meant
        #expect(reply.text.contains("\(field) is not a field of a"), "\(reply.text)")
        #expect(reply.text.contains("(is \(name) meant?)") && reply.text.contains("nothing was sent"), "\(reply.text)")
        #expect(try await server.store.receipts(of: server.application.key, before: nil, limit: 1).isEmpty)
    }

    @Test(arguments: [
        #"{"message":{"body":"Hi"},"target":{"topics":["a"]},"repeat":"daily"}"#,
        #"{"message":{"body":"Hi"},"target":{"topics":["a"],"campaign":"may"}}"#,
        #"{"mesage":{"body":"Hi"},"target":{"topics":["a"]}}"#,
    ])
    func `an unknown field is refused with the known ones`(body: String) async throws {
        let reply = try await TestServer().push(body)
        #expect(reply.status == 400 && reply.text.contains("nothing was sent"), "\(reply.text)")
        #expect(reply.text.contains("which takes"), "\(reply.text)")
        let null = try await TestServer().push(
            #"{"message":{"body":"Hi"},"target":{"topics":["a"],"campaign":null},"repeat":null}"#)
        #expect(null.status == 200, "\(null.text)")
    }

    @Test func `parameters behind the path refuse a push`() async throws {
        let server = try await TestServer()
        let body = #"{"message":{"body":"Hi"},"target":{"topics":["a"]}}"#
        let refused = try await server.send(.post, "/v1/push?dry_run=true", as: .sender, body)
        #expect(refused.status == 400 && refused.text.contains("'dry_run' is not a parameter"), "\(refused.text)")
        #expect(try await server.store.receipts(of: server.application.key, before: nil, limit: 1).isEmpty)
        let tolerant = try await Self.tolerantServer()
        #expect(try await tolerant.send(.post, "/v1/push?dry_run=true", as: .sender, body).status == 200)
    }

    @Test func `a schedule update is validated as a push is`() async throws {
        let server = try await TestServer()
        let made = try await server.push(
            #"{"message":{"body":"Hi"},"target":{"topics":["a"]},"scheduleIn":7200}"#)
        let id = try #require(made["schedule_id"]?.stringValue)
        let refused = try await server.send(.put, "/v1/schedules/\(id)", as: .sender, #"{"send_at":"2090-01-31"}"#)
        #expect(refused.status == 400 && refused.text.contains("send_at is not a field"), "\(refused.text)")
        let warned = try await server.send(
            .put, "/v1/schedules/\(id)", as: .sender, #"{"message":{"body":"Ho","mood":"good"}}"#)
        #expect(warned.status == 200 && warned.headers[.warning] == #"299 - "message.mood was ignored""#)
    }

    @Test(arguments: misspelt)
    func `an application that ignores unknown fields warns of them`(
        fields: String, field: String, meant: String
    ) async throws {
        let reply = try await Self.tolerantServer().push(#"{"message":{"body":"Hi"},\#(fields)}"#)
        #expect(reply.status == 200)
        #expect(reply.headers[.warning] == #"299 - "\#(field) was ignored (is \#(meant) meant?)""#)
    }

    @Test(arguments: [
        (#"["diary"]"#, "nobody subscribes to diary"), (#"["a","b"]"#, "nobody subscribes to b"),
        (#"["x y","ü"]"#, "nobody subscribes to 2 of the topics"), (#"["ü","d"]"#, "nobody subscribes to d, 1 more"),
    ])
    func `a push to topics without subscribers warns`(topics: String, words: String) async throws {
        let server = try await Self.tolerantServer()
        let reply = try await server.push(#"{"message":{"body":"Hi"},"target":{"topics":\#(topics)}}"#)
        #expect(reply.status == 200 && reply.headers[.warning] == #"299 - "\#(words)""#, "\(reply)")
        let known = try await server.push(#"{"message":{"body":"Hi"},"target":{"topics":["A"]}}"#)
        #expect(known.status == 200 && known.headers[.warning] == nil, "\(known)")
    }

    @Test(arguments: [#""x":1,"#, #""request_id":"7","sender":"erp","#, ""])
    func `a tolerant application passes over what resembles nothing`(fields: String) async throws {
        let reply = try await Self.tolerantServer().push(
            #"{\#(fields)"message":{"body":"Hi"},"target":{"topics":["a"],"campaign":"may"}}"#)
        #expect(reply.status == 200 && reply.headers[.warning] == nil, "\(reply.headers)")
    }

    @Test func `very many strange fields cost no more than a few`() async throws {
        let fields = (0..<2_000).map { #""expires_a\#($0)":1"# }.joined(separator: ",")
        let reply = try await TestServer().push(
            #"{"message":{"body":"Hi",\#(fields)},"target":{"topics":["a"]}}"#)
        #expect(reply.status == 200)
        let warning = reply.headers[.warning] ?? ""
        #expect(warning.utf8.count < 1_000 && warning.contains("1992 more fields were ignored"), "\(warning)")
    }

    @Test(arguments: [
        (#"{"bdy":"Hi"}"#, "message.bdy was ignored (is message.body meant?)"),
        (#"{"text":"Hi","zzz":1}"#, "message.text was ignored (is message.body meant?); message.zzz was ignored"),
    ])
    func `a message without anything to show names what it had`(message: String, words: String) async throws {
        let reply = try await TestServer().push(#"{"message":\#(message),"target":{"topics":["a"]}}"#)
        #expect(reply.status == 400 && reply.text.contains(words), "\(reply.text)")
        #expect(reply.text.contains("nothing was sent"))
    }

    @Test(arguments: [
        (#"{"aps":{"alert":"x"}}"#, "message.custom.ios.aps is not a key of aps"),
        (#"{"content_available":true}"#, "(is content-available meant?)"),
        (#"{"interruption-level":"timeSensitive"}"#, "(is time-sensitive meant?)"),
        (#"{"alert":{"titel":"x"}}"#, "(is title meant?)"),
        (#"{"thread_id":"x"}"#, "(is thread-id meant?)"),
        (#"{"own":1}"#, "data for the app itself are members of extra"),
        (#"{"relevance-score":7}"#, "message.custom.ios.relevance-score has to be a number from 0 to 1"),
    ])
    func `a key that iOS does not know is refused`(ios: String, words: String) async throws {
        let body = #"{"message":{"body":"Hi","custom":{"ios":\#(ios)}},"target":{"topics":["a"]}}"#
        let reply = try await TestServer().push(body)
        #expect(reply.status == 400 && reply.text.contains(words), "\(reply.text)")
        #expect(try await Self.tolerantServer().push(body).status == 200)
    }

    @Test(arguments: [
        (#"{"windows8":{"typ":"raw","type":"raw"}}"#, "message.custom.windows8.typ is not a field"),
        (#"{"windowsPhone":{"template":"raw","fields":{}}}"#, "message.custom.windowsPhone.fields is not a field"),
    ])
    func `a key that Windows does not know is refused`(custom: String, words: String) async throws {
        let reply = try await TestServer().push(
            #"{"message":{"body":"Hi","custom":\#(custom)},"target":{"topics":["a"]}}"#)
        #expect(reply.status == 400 && reply.text.contains(words), "\(reply.text)")
    }

    @Test(arguments: [
        ("android", "collapseKey", "collapse_key"), ("android-fcm", "colapse_key", "collapse_key"),
        ("huawei", "chanel", "channel"), ("amazon", "prioriyt", "priority"), ("android", "mesage", "message"),
        ("web", "require_interaction", "requireInteraction"), ("web", "navigte", "navigate"),
    ])
    func `a slip in a part for a platform is refused`(part: String, written: String, meant: String) async throws {
        let body = #"{"message":{"body":"Hi","custom":{"\#(part)":{"\#(written)":"x"}}},"target":{"topics":["a"]}}"#
        let reply = try await TestServer().push(body)
        #expect(reply.status == 400, "\(reply.text)")
        #expect(reply.text.contains("message.custom.\(part).\(written) is no field of this part (is \(meant) meant?)"))
        #expect(try await Self.tolerantServer().push(body).status == 200)
        let admin = try await TestAdminServer()
        let app = try await admin.resources("shop").application.uuid.lowercased
        let refused = try await admin.send(
            .post, "apps/\(app)/pushes",
            #"{"message":{"body":"Hi","custom":{"\#(part)":{"\#(written)":"x"}}},"target":{"everyone":true}}"#)
        #expect(refused.status == 400 && refused.text.contains("(is \(meant) meant?)"), "\(refused.text)")
    }

    @Test(arguments: [
        "Title", "tile", "messages", "links", "channels", "collapse", "text", "Message", "own", "story", "message",
        "click_action", "visibilities", "ttls",
    ])
    func `unknown names in an Android part are app data`(name: String) async throws {
        let reply = try await TestServer().push(
            #"{"message":{"body":"Hi","custom":{"android":{"\#(name)":"x"}}},"target":{"platform":"all"}}"#)
        #expect(reply.status == 200 && reply.headers[.warning] == nil, "\(reply)")
    }

    @Test(arguments: [
        ("android", #""priority":"urgent""#, "android.priority has to be high or normal, it is 'urgent'"),
        ("android-fcm", #""priority":"hihg""#, "it is 'hihg' (is high meant?)"),
        ("androidFcm", #""priority":10"#, "androidFcm.priority has to be high or normal, it is 10"),
        ("android", #""priority":true"#, "it is true"),
        ("android", #""collapse_key":["a"]"#, "android.collapse_key has to be a text, it is an array"),
        ("android", #""message":{"a":1}"#, "android.message has to be a text, it is an object"),
        ("android", #""ttl":"3600s""#, "android.ttl is not sent as a field of the provider's: expires_at"),
        ("android-fcm", #""time_to_live":60"#, "expiryTime in PCF's API"),
        ("android", #""visibility":"PUBLIC""#, "android.visibility is not sent"),
        ("android-fcm", #""notification_priority":"PRIORITY_MAX""#, "notification_priority is not sent"),
        ("android", #""notification":{"title":"x"}"#, "title, body, image and the others stand in message itself"),
        ("huawei", #""category":"marketing""#, "(is MARKETING meant?)"),
        ("huawei", #""category":7"#, "huawei.category has to be a text such as MARKETING, it is 7"),
        ("huawei", #""urgency":"HIGH""#, "huawei.urgency is not sent"),
        ("amazon", #""consolidationKey":"a""#, "collapse_key is its name"),
        ("amazon", #""expiresAfter":60"#, "amazon.expiresAfter is not sent"),
        ("web", #""urgency":"hihg""#, "web.urgency is not sent as a header: it stands in message.web"),
        ("web", #""ttl":"60""#, "web.ttl is not sent as a header"),
        ("web", #""requireInteraction":"yes""#, "requireInteraction has to be true or false, it is 'yes'"),
        ("web", #""actions":{}"#, "web.actions has to be an array"),
        ("web", #""app_badge":-1"#, "web.app_badge has to be a whole number from 0"),
        ("ios", #""badge":-1"#, "ios.badge has to be a whole number from 0 to 2147483647, or a text such as"),
        ("ios", #""badge":"-1""#, "it is '-1'"), ("ios", #""badge":1.5"#, "it is 1.5"),
        ("ios", #""badge":3000000000"#, "it is 3000000000"), ("ios", #""badge":true"#, "it is true"),
    ])
    func `a value that a platform does not take is refused`(part: String, member: String, words: String) async throws {
        let message = #""message":{"body":"Hi","custom":{"\#(part)":{\#(member)}}}"#
        let reply = try await TestServer().push(#"{\#(message),"target":{"platform":"all"}}"#)
        #expect(reply.status == 400, "\(reply.text)")
        #expect(reply.message?.contains("message.custom.\(part).") == true, "\(reply.text)")
        #expect(reply.message?.contains(words) == true, "\(reply.text)")
        let admin = try await TestAdminServer()
        let app = try await admin.resources("shop").application.uuid.lowercased
        let refused = try await admin.send(.post, "apps/\(app)/pushes", #"{\#(message),"target":{"everyone":true}}"#)
        #expect(refused.status == 400 && refused.message?.contains(words) == true, "\(refused.text)")
    }

    @Test(arguments: [
        #""urgency":"hihg""#:
            "message.web.urgency has to be one of very-low, low, normal, high, it is 'hihg' (is high meant?)",
        #""ttl":-1"#: "message.web.ttl has to be a whole number from 0 to 2419200, it is -1",
        #""ttl":"60""#: "message.web.ttl has to be a whole number from 0 to 2419200, it is '60'",
        #""dir":"LTR""#: "it is 'LTR' (is ltr meant?)", #""silent":"no""#: "it is 'no'",
        #""urgncy":"high""#: "(is urgency meant?)",
    ])
    func `a value that browsers do not take is named`(member: String, words: String) async throws {
        let reply = try await TestServer().push(
            #"{"message":{"body":"Hi","web":{"title":"T",\#(member)}},"target":{"platform":"all"}}"#)
        #expect(reply.status == 400 && reply.message?.contains(words) == true, "\(reply.text)")
    }

    /// Numbers under these names are those of Android's own notifications, which plug-ins of apps read.
    @Test(arguments: [
        #""priority":2"#, #""priority":"-2""#, #""priority":"HIGH""#, #""priority":"normal""#, #""visibility":1"#,
        #""notification":"own""#, #""collapse_key":7"#,
    ])
    func `a value that apps or providers know is taken`(member: String) async throws {
        let reply = try await TestServer().push(
            #"{"message":{"body":"Hi","custom":{"android":{\#(member)}}},"target":{"platform":"all"}}"#)
        #expect(reply.status == 200 && reply.headers[.warning] == nil, "\(reply)")
    }

    @Test(arguments: ["3.0", "3e0", "30E-1"])
    func `a whole number is one however it is written`(number: String) async throws {
        let server = try await TestServer()
        let reply = try await server.push(
            #"{"message":{"body":"Hi","custom":{"ios":{"badge":\#(number)}}},"target":{"platform":"all"}}"#)
        #expect(reply.status == 200, "\(reply.text)")
        let content = try #require(try await server.store.allPushes().last?.content)
        let payload = try JSONValue(json: IOSPayload(content, receiptID: nil, sentAt: .zero).bytes)
        #expect(payload["aps"]?["badge"] == .integer(3))
        #expect(content.badgeChange(on: .ios) == .set(3))
        let shared = try await server.push(
            #"{"message":{"body":"Hi","badge":\#(number),"web":{"title":"T","ttl":\#(number)}},"target":{"platform":"ios"}}"#
        )
        #expect(shared.message?.contains("message.web is given") == true, "\(shared.text)")
    }

    @Test(arguments: [("titel", "title"), ("bdy", "body"), ("dta", "data"), ("soud", "sound"), ("Body", "body")])
    func `a misspelt message field is answered with the nearest name`(written: String, meant: String) async throws {
        let message = #""message":{"custom":{"ios":{"alert":"x"}},"\#(written)":"x"}"#
        let reply = try await TestServer().push(#"{\#(message),"target":{"platform":"all"}}"#)
        #expect(reply.status == 200, "\(reply.text)")
        #expect(
            reply.headers[.warning] == #"299 - "message.\#(written) was ignored (is message.\#(meant) meant?)""#)
        let admin = try await TestAdminServer()
        let app = try await admin.resources("shop").application.uuid.lowercased
        let refused = try await admin.send(.post, "apps/\(app)/pushes", #"{\#(message),"target":{"everyone":true}}"#)
        #expect(refused.status == 400 && refused.text.contains("(is \(meant) meant?)"), "\(refused.text)")
    }

    /// One old platform must not keep a push from all others.
    @Test func `a push too large for one platform goes to others`() async throws {
        let server = try await TestServer()
        _ = try await server.store.create(.test(.windowsPhone, of: server.application))
        let text = String(repeating: "x", count: 3_500)
        func isTold(_ reply: TestAnswer) -> Bool {
            let warning = reply.headers[.warning] ?? ""
            return warning.hasPrefix("299 - \"message makes a windowsPhone payload of 36")
                && warning.hasSuffix(" bytes, MPNS takes 3072: its devices are refused, others get it\"")
        }
        let reply = try await server.push(#"{"message":{"body":"\#(text)"},"target":{"platform":"all"}}"#)
        #expect(reply.status == 200 && isTold(reply), "\(reply)")
        let later = try await server.push(
            #"{"message":{"body":"\#(text)"},"target":{"platform":"all"},"scheduleIn":7200}"#)
        #expect(later.status == 200 && isTold(later), "\(later)")
        let alone = try await server.push(#"{"message":{"body":"\#(text)"},"target":{"platform":"windowsPhone"}}"#)
        #expect(alone.status == 400 && alone.message?.contains("MPNS takes 3072") == true, "\(alone)")
        let whole = try await server.push(
            #"{"message":{"body":"\#(text)\#(text)"},"target":{"platform":"all"}}"#)
        #expect(whole.status == 400 && whole.message?.contains("APNs takes 4096") == true, "\(whole)")
    }

    @Test func `a corrected mutable-content is told`() async throws {
        let words = "message.custom.ios.mutable-content is 1 in Apple's words, true was taken as 1"
        let message = #""message":{"body":"Hi","custom":{"ios":{"mutable-content":true}}}"#
        let reply = try await TestServer().push(#"{\#(message),"target":{"platform":"all"}}"#)
        #expect(reply.status == 200 && reply.headers[.warning] == "299 - \"\(words)\"", "\(reply)")
        let admin = try await TestAdminServer()
        let app = try await admin.resources("shop").application.uuid.lowercased
        let sent = try await admin.send(.post, "apps/\(app)/pushes", #"{\#(message),"target":{"everyone":true}}"#)
        #expect(sent.status < 300 && sent.headers[.warning] == "299 - \"\(words)\"", "\(sent)")
    }

    @Test(arguments: [
        (#"{"iOS":{"badge":1}}"#, "message.custom.iOS was ignored (is message.custom.ios meant?)"),
        (#"{"pager":{}}"#, "message.custom.pager was ignored"),
    ])
    func `a part of no platform is warned of`(custom: String, words: String) async throws {
        let reply = try await TestServer().push(
            #"{"message":{"body":"Hi","custom":\#(custom)},"target":{"platform":"all"}}"#)
        #expect(reply.status == 200 && reply.headers[.warning] == #"299 - "\#(words)""#, "\(reply.headers)")
    }

    @Test func `a registration with topics hears that they are called tags`() async throws {
        let server = try await TestServer()
        let reply = try await server.register(#"{"registration_token":"\#(Self.token)","topics":["town"]}"#)
        #expect(reply.status == 200)
        #expect(reply.headers[.warning] == #"299 - "topics was ignored (is tags meant?)""#)
        let right = try await server.register(#"{"registration_token":"\#(Self.token)","tags":["town"],"os":"ios"}"#)
        #expect(right.headers[.warning] == nil)
    }

    @Test(arguments: [
        (#""tags":{"unsubcribe":["town"]}"#, "tags.unsubcribe was ignored (is tags.unsubscribe meant?)"),
        (#""user":"ada""#, "user was ignored (is custom_user_id meant?)"),
    ])
    func `an update reports unknown nested fields and an unknown user`(
        fields: String, words: String
    ) async throws {
        let server = try await TestServer()
        let uuid = try #require(
            try await server.register(#"{"registration_token":"\#(Self.token)"}"#)["device_uuid"]?.stringValue)
        let reply = try await server.send(
            .put, "/v1/registration/\(uuid)", as: .iPhone, #"{"registration_token":"\#(Self.token)",\#(fields)}"#)
        #expect(reply.status == 200 && reply.headers[.warning] == #"299 - "\#(words)""#, "\(reply)")
    }

    @Test func `a push reports unknown message fields and an unknown user`() async throws {
        let reply = try await Self.tolerantServer().push(
            #"{"message":{"body":"Hi","costum":{}},"target":{"topics":["a"],"user":"ada"}}"#)
        #expect(
            reply.headers[.warning]
                == #"299 - "message.costum was ignored (is message.custom meant?); target.user was ignored (is target.custom_user_ids meant?)""#
        )
    }

    @Test func `a short APNs token is accepted with a warning`() async throws {
        let reply = try await TestServer().register(
            #"{"registration_token":"\#(Self.token.prefix(12))","topic":"a"}"#)
        #expect(reply.status == 200)
        #expect(
            reply.headers[.warning]
                == #"299 - "topic was ignored (is tags meant?); registration_token is 6 bytes, tokens of APNs have 32 so far""#
        )
    }

    @Test func `a device of another system is taken`() async throws {
        let reply = try await TestServer().register(#"{"registration_token":"\#(Self.token)","os":"android"}"#)
        #expect(reply.status == 200 && reply["os"] == .string("android"))
    }

    @Test(arguments: ["expiryTime", "scheduleAt"])
    func `a time in seconds is refused`(field: String) async throws {
        let server = try await TestServer()
        func push(_ time: Int64) async throws -> TestAnswer {
            try await server.push(#"{"message":{"body":"Hi"},"target":{"topics":["a"]},"\#(field)":\#(time)}"#)
        }
        let refused = try await push(1_800_000_000)
        #expect(refused.status == 400)
        #expect(refused.text.contains("\(field) is in seconds; milliseconds are expected"), "\(refused.text)")
        for time in [0, 100_000_000_000, 1_800_000_000_000] as [Int64] {
            #expect(try await push(time).status == 200, "\(time)")
        }
    }

    @Test func `a topic's time in seconds is refused too`() async throws {
        let reply = try await TestServer().send(
            .post, "/v2/topics", as: .sender, #"{"name":"town","expireAt":1800000000}"#)
        #expect(reply.status == 400 && reply.text.contains("expireAt is in seconds"), "\(reply.text)")
    }

    @Test func `a platform made elsewhere is found at its first request`() async throws {
        let base = try SQLiteStore.temporary(clock: StoppedClock())
        var server = try await TestServer(over: base)
        server.requestLimiter = RequestLimiter(clock: server.clock)
        let other = try await base.twin().create(.test(.windows8, of: server.application))
        let user = TestServer.User.raw(TestServer.User.basic(other.uuid.uuidString, TestServer.secret))
        #expect(try await server.send(.get, "/v1/registration/count", as: user).status == 200)
    }
}
