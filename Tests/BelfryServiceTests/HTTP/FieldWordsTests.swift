import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@testable import BelfryService

/// The words of refusals: the field, what was found, and what is probably meant.
@Suite struct FieldWordsTests {
    private static func admin() async throws -> (server: TestAdminServer, app: String) {
        let server = try await TestAdminServer()
        return (server, "apps/\(try await server.resources("shop").application.uuid.lowercased)")
    }

    @Test(arguments: [
        #"{"message":{"body":"x"},"target":{"topics":["a"],"topics":["b"]}}"#: "target.topics is given twice",
        #"{"message":{"body":"x"},"target":{"topics":["a"]},"target":{"platform":"all"}}"#: "target is given twice",
        #"{"message":{"body":"x"},"message":{"body":"y"},"target":{"topics":["a"]}}"#: "message is given twice",
    ])
    func `a push field given twice is refused`(body: String, words: String) async throws {
        let server = try await TestServer()
        let reply = try await server.push(body)
        #expect(reply.status == 400 && reply.message == "\(words); nothing was sent", "\(reply.text)")
        try await server.store.edit(server.application.key, ApplicationEdit(ignoresUnknownFields: true))
        #expect(try await server.push(body).status == 200)
        let (admin, app) = try await Self.admin()
        let refused = try await admin.send(
            .post, "\(app)/pushes",
            body.replacing(#"{"platform":"all"}"#, with: #"{"everyone":true}"#))
        #expect(refused.status == 400 && refused.message == "\(words); nothing was sent", "\(refused.text)")
    }

    @Test(arguments: [
        (#"{"message":{"body":"x"},"target":{"users":["ada"]}}"#, "(is custom_user_ids meant?)"),
        (#"{"message":{"body":"x"},"target":{"all":true}}"#, "(is everyone meant?)"),
        (#"{"message":{"text":"x"},"target":{"everyone":true}}"#, "(is body meant?)"),
        (#"{"message":{"body":"x","url":"x"},"target":{"everyone":true}}"#, "(is link meant?)"),
        (#"{"message":{"body":"x"},"target":{"everyone":true},"ttl":60}"#, "(is expires_at meant?)"),
        (#"{"message":{"apns":{"type":"Alert","payload":{}}},"target":{"everyone":true}}"#, "(is alert meant?)"),
        (#"{"message":{"body":"x"},"target":{"everyone":true},"urgency":"hihg"}"#, "it has to be one of"),
        (
            #"{"message":{"body":"x","custom":{"web":"x"}},"target":{"everyone":true}}"#,
            "message.custom.web has to be an object"
        ),
        (
            #"{"message":{"body":"x","custom":{"huawei":5}},"target":{"everyone":true}}"#,
            "message.custom.huawei has to be an object"
        ),
    ])
    func `an invalid admin push is refused with the intended field`(body: String, words: String) async throws {
        let (server, app) = try await Self.admin()
        let reply = try await server.send(.post, "\(app)/pushes", body)
        #expect(reply.status == 400 && reply.message?.contains(words) == true, "\(reply.text)")
        #expect(reply.message?.contains("nothing was sent") == true, "\(reply.text)")
    }

    @Test func `a badge of 3,0 in Apple's own words is 3`() async throws {
        let (server, app) = try await Self.admin()
        let reply = try await server.send(
            .post, "\(app)/pushes",
            #"{"message":{"apns":{"payload":{"aps":{"alert":"x","badge":3.0}}}},"target":{"everyone":true}}"#)
        #expect(reply.status == 201, "\(reply.text)")
        let id = try #require(reply["receipt_id"]?.stringValue)
        let shown = try await server.send(.get, "pushes/\(id)")
        #expect(shown["message"]?["apns"]?["payload"]?["aps"]?["badge"] == .integer(3), "\(shown.text)")
    }

    @Test func `a schedule moved into the past tells its due time`() async throws {
        let (server, app) = try await Self.admin()
        let made = try await server.send(
            .post, "\(app)/pushes",
            #"{"message":{"body":"x"},"target":{"everyone":true},"send_at":"2090-01-31T08:30:00Z"}"#)
        let id = try #require(made["schedule_id"]?.stringValue, "\(made.text)")
        let reply = try await server.send(.patch, "\(app)/schedules/\(id)", #"{"send_at":"2001-01-31T08:30:00Z"}"#)
        #expect(reply.status == 400, "\(reply.text)")
        #expect(
            reply.message?.contains("leave it out to leave it at 2090-01-31T08:30:00.000Z") == true, "\(reply.text)")
    }

    @Test func `a misspelt topic field is refused or warned of`() async throws {
        let server = try await TestServer()
        let body = #"{"name":"dairy","expire_at":4000000000000}"#
        let refused = try await server.send(.post, "/v2/topics", as: .sender, body)
        #expect(refused.status == 400 && refused.text.contains("(is expireAt meant?)"), "\(refused.text)")
        try await server.store.edit(server.application.key, ApplicationEdit(ignoresUnknownFields: true))
        let taken = try await server.send(.post, "/v2/topics", as: .sender, body)
        #expect(taken.status == 201 && taken.headers[.warning]?.contains("expireAt") == true, "\(taken)")
    }

    @Test(arguments: [
        (#""notification_type":"WNS""#, "notification_type is 'WNS', it has to be APNS or FCM"),
        (
            #""notification_type":"APNS","app_user":"\#(String(repeating: "x", count: 300))""#,
            "app_user is longer than 255 characters"
        ),
    ])
    func `Genero's app is told the field as it calls it`(fields: String, words: String) async throws {
        #expect(try await Self.genero(fields).contains(words))
    }

    @Test(arguments: [" apns ", "iOS", "apn"])
    func `Genero's names of a platform are read loosely`(name: String) async throws {
        #expect(try await Self.genero(#""notification_type":"\#(name)""#).contains(#""status":0"#))
    }

    private static func genero(_ fields: String) async throws -> String {
        let clock = ManualClock()
        let store = try SQLiteStore.temporary(clock: clock)
        let application = try await store.create(.test(PlaintextVault()))
        _ = try await store.create(.test(.ios, of: application))
        let key = "0123456789abcdef0123456789abcdef"
        _ = try await store.create(
            try NewOpenEndpoint(kind: .genero, application: application.key, keyHash: SecretHash.of(key)))
        let router = ResponseMiddleware.router(clock: clock)
        GeneroRoutes(Services(store, clock: clock)).add(to: router)
        return try await Hummingbird.Application(router: router).test(.router) { client in
            let answer = try await client.execute(
                uri: "/genero/\(key)/token_maintainer/register", method: .post,
                headers: [.contentType: "application/json"],
                body: ByteBuffer(
                    string: #"{"registration_token":"\#(String(repeating: "ab", count: 32))",\#(fields)}"#))
            return String(buffer: answer.body)
        }
    }
}
