import BelfryCore
import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Synchronization
import Testing

@testable import BelfryAPI

/// What a caller hears of requests that are taken although something in them is probably wrong, and of times in seconds.
@Suite struct CallerMistakesTests {
    private static let token = RegistrationTests.token

    @Test(arguments: [
        (#""expires_at":1800000000000,"target":{"topics":["a"]}"#, "expires_at was ignored (is expiryTime meant?)"),
        (#""expiry_time":1800000000000,"target":{"topics":["a"]}"#, "expiry_time was ignored (is expiryTime meant?)"),
        (#""ScheduleIn":1,"target":{"topics":["a"]}"#, "ScheduleIn was ignored (is scheduleIn meant?)"),
        (#""topics":["b"],"target":{"topics":["a"]}"#, "topics was ignored (is target.topics meant?)"),
        (#""target":{"topics":["a"],"platfrom":"ios"}"#, "target.platfrom was ignored (is target.platform meant?)"),
        (#""target":{"topics":["a"],"users":["ada"]}"#, "target.users was ignored (is target.custom_user_ids meant?)"),
    ])
    func `a push answers with a warning of a field that nothing reads`(fields: String, words: String) async throws {
        let reply = try await TestServer().push(#"{"message":{"body":"Hi"},\#(fields)}"#)
        #expect(reply.status == 200)
        #expect(reply.headers[.warning] == #"299 - "\#(words)""#)
    }

    @Test(arguments: [#""x":1,"#, #""request_id":"7","sender":"erp","#, ""])
    func `a field that resembles none is passed over in silence`(fields: String) async throws {
        let reply = try await TestServer().push(
            #"{\#(fields)"message":{"body":"Hi"},"target":{"topics":["a"],"campaign":"may"}}"#)
        #expect(reply.status == 200 && reply.headers[.warning] == nil, "\(reply.headers)")
    }

    @Test func `very many strange fields cost no more than a few`() async throws {
        let fields = (0..<2_000).map { #""expires_a\#($0)":1"# }.joined(separator: ",")
        let reply = try await TestServer().push(#"{\#(fields),"message":{"body":"Hi"},"target":{"topics":["a"]}}"#)
        #expect(reply.status == 200)
        #expect((reply.headers[.warning] ?? "").utf8.count < 1_000)
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
    func `an update hears of a nested field, and of a user, that nothing reads`(
        fields: String, words: String
    ) async throws {
        let server = try await TestServer()
        let uuid = try #require(
            try await server.register(#"{"registration_token":"\#(Self.token)"}"#)["device_uuid"]?.stringValue)
        let reply = try await server.send(
            .put, "/v1/registration/\(uuid)", as: .iPhone, #"{"registration_token":"\#(Self.token)",\#(fields)}"#)
        #expect(reply.status == 200 && reply.headers[.warning] == #"299 - "\#(words)""#, "\(reply)")
    }

    @Test func `a push hears of a field of its message, and of a user, that nothing reads`() async throws {
        let reply = try await TestServer().push(
            #"{"message":{"body":"Hi","costum":{}},"target":{"topics":["a"],"user":"ada"}}"#)
        #expect(
            reply.headers[.warning]
                == #"299 - "message.costum was ignored (is message.custom meant?); target.user was ignored (is target.custom_user_ids meant?)""#
        )
    }

    @Test func `a token of APNs that is too short is taken, and warned of`() async throws {
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

    /// It is made in memory behind the cache's back by a store that shows it only once it was asked for.
    @Test func `a platform that another process made is found at its first request`() async throws {
        var server = try await TestServer(over: UnseenPlatforms(base: MemoryStore(clock: StoppedClock())))
        server.requestLimiter = RequestLimiter(clock: server.clock)
        let reply = try await server.register(#"{"registration_token":"\#(Self.token)"}"#)
        #expect(reply.status == 200)
    }
}

/// Shows platforms to those who ask for UUIDs only after the database was asked for news.
private final class UnseenPlatforms: WrappedStore {
    let base: any Store
    private let isSeen = Flag()

    init(base: any Store) { self.base = base }

    func platform(_ uuid: UUID) async throws -> BelfryCore.Platform? {
        isSeen.isSet ? try await base.platform(uuid) : nil
    }

    func isNew(_ uuid: UUID) async throws -> Bool {
        isSeen.set()
        return true
    }

    final class Flag: Sendable {
        private let value = Mutex(false)
        var isSet: Bool { value.withLock { $0 } }
        func set() { value.withLock { $0 = true } }
    }
}
