import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import BelfryService

/// The push service as application servers and devices see it.
@Suite struct WebPushRouteTests {
    @Test(arguments: [PlatformKind.ios, .androidFCM, .web])
    func `a message becomes a push to its device alone`(kind: PlatformKind) async throws {
        let rig = try await WebPushRig()
        let device = try await rig.device(kind)
        _ = try await rig.device(kind, "b")
        let path = try await rig.endpoint(of: device, kind)
        let answer = try await rig.post(path, [.urgency: "high", .ttl: "9999999"])
        #expect(answer.headers[.ttl] == "2419200")
        let push = try #require(try await rig.store.allPushes().first)
        #expect(try Self.location(answer, path) == push.receiptID)
        #expect(push.lane == .urgent && push.expiresAt == rig.clock.now + .seconds(2_419_200))
        var reached: [Key<Device>] = []
        try await rig.store.deliver { _, device in
            reached.append(device)
            return .accepted
        }
        #expect(reached == [device.key])
    }

    private static func location(_ answer: TestAnswer, _ path: String) throws -> UUID? {
        let location = try WebPushRig.location(answer)
        #expect(location.hasPrefix("\(path)/"))
        return UUID(text: location.dropFirst(path.utf8.count + 1))
    }

    @Test func `discovery answers as UnifiedPush has it`() async throws {
        let rig = try await WebPushRig()
        let path = try await rig.endpoint(of: try await rig.device(.androidFCM), .androidFCM)
        let found = try await rig.send(.get, path)
        #expect(found.status == 200 && found.text == #"{"unifiedpush":{"version":1}}"#)
        #expect(try await rig.send(.get, "/wp/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").status == 404)
    }

    @Test func `a message can be looked at and retracted`() async throws {
        let rig = try await WebPushRig()
        let device = try await rig.device(.ios)
        let path = try await rig.endpoint(of: device, .ios)
        let sent = try WebPushRig.location(try await rig.post(path))
        let waiting = try WebPushRig.location(try await rig.post(path))
        let first = try #require(try await rig.store.allPushes().first?.key)
        try await rig.store.deliver { batch, _ in batch.pushKey == first ? .accepted : nil }
        #expect(try await rig.send(.get, sent)["state"] == .string("accepted"))
        #expect(try await rig.send(.get, waiting)["state"] == .string("pending"))
        #expect(try await rig.send(.head, waiting).status == 200)
        for location in [sent, waiting, waiting] {
            #expect(try await rig.send(.delete, location).status == 204)
        }
        #expect(try await rig.send(.get, sent)["state"] == .string("accepted"))
        #expect(try await rig.send(.get, waiting)["state"] == .string("skipped: cancelled"))
        #expect(try await rig.store.auditLog().isEmpty, "a sender's own messages are nobody's business")
        // Another endpoint does not lead to it, nor does a message of others.
        let other = try await rig.endpoint(of: try await rig.device(.ios, "b"), .ios)
        let foreign = other + sent.dropFirst(path.utf8.count)
        #expect(try await rig.send(.delete, foreign).status == 404)
        #expect(try await rig.send(.get, foreign).status == 404)
        #expect(try await rig.send(.delete, "\(path)/\(UUID().lowercased)").status == 404)
        #expect(try await rig.send(.delete, "\(path)/x").status == 404)
    }

    /// Apps see the receipt ids of pushes that reach them.
    @Test(arguments: [PlatformKind.ios, .web])
    func `an endpoint cancels no push of others`(kind: PlatformKind) async throws {
        let rig = try await WebPushRig()
        let device = try await rig.device(kind)
        let path = try await rig.endpoint(of: device, kind)
        let sibling = try WebPushRig.location(try await rig.post(try await rig.endpoint(of: device, kind)))
        let everyone = try await PushService(store: rig.store).send(
            PushRequest(content: Push.Content(body: "Hi"), target: .everyone, lane: .urgent), for: rig.application.key)
        let ids = [everyone.receiptID.lowercased, String(sibling.split(separator: "/").last ?? "")]
        for (method, id) in [HTTPRequest.Method.get, .delete].flatMap({ method in ids.map { (method, $0) } }) {
            #expect(try await rig.send(method, "\(path)/\(id)").status == 404)
        }
        #expect(try await rig.store.answer(of: device.key, in: everyone.key) == .pending)
        #expect(try await rig.send(.get, sibling)["state"] == .string("pending"))
    }

    @Test func `a topic replaces what waits at its endpoint`() async throws {
        let rig = try await WebPushRig()
        let device = try await rig.device(.ios)
        let (path, other) = (try await rig.endpoint(of: device, .ios), try await rig.endpoint(of: device, .ios))
        var locations: [String] = []
        for (path, topic) in [(path, "news"), (other, "news"), (path, nil), (path, "news")] as [(String, String?)] {
            locations.append(try WebPushRig.location(try await rig.post(path, [.topic: topic])))
        }
        var states: [JSONValue?] = []
        for location in locations { states.append(try await rig.send(.get, location)["state"]) }
        #expect(states == ["skipped: cancelled", "pending", "pending", "pending"].map(JSONValue.string))
    }

    @Test func `a device that fetches gets its messages and deletes them`() async throws {
        let rig = try await WebPushRig()
        let device = try await rig.device(.web)
        let path = try await rig.endpoint(of: device, .web, #"{"delivery":"fetch"}"#)
        let location = try WebPushRig.location(try await rig.post(path, [.topic: "t"], [7, 8]))
        let now = try await rig.post(path, [.ttl: "0"])
        #expect(now.status == 201 && now.headers[.ttl] == "0")
        #expect(try await rig.send(.get, location)["state"] == .string("pending"))
        let list = try await rig.ask(.get, "", of: device, .web)
        guard case .array(let endpoints)? = list["endpoints"], let id = endpoints.first?["endpoint_id"]?.wholeNumber
        else {
            Issue.record("\(list)")
            return
        }
        #expect(endpoints.first?["delivery"] == .string("fetch") && !list.text.contains("/wp/"))
        let fetched = try await rig.ask(.get, "/\(id)/messages", of: device, .web)
        guard case .array(let messages)? = fetched["messages"], let message = messages.first else {
            Issue.record("\(fetched)")
            return
        }
        #expect(messages.count == 1 && message["webpush"] == .string("Bwg") && message["topic"] == .string("t"))
        let acknowledged = "/\(id)/messages/\(message["message_id"]?.stringValue ?? "")"
        #expect(try await rig.ask(.delete, acknowledged, of: device, .web).status == 204)
        #expect(try await rig.ask(.delete, acknowledged, of: device, .web).status == 404)
        #expect(try await rig.send(.get, location).status == 404)
        #expect(try await rig.store.allPushes().isEmpty)
        // Those of another device are not there for this one.
        let other = try await rig.device(.web, "b")
        #expect(try await rig.ask(.get, "/\(id)/messages", of: other, .web).status == 404)
        #expect(try await rig.ask(.delete, "/\(id)", of: other, .web).status == 404)
        #expect(try await rig.ask(.delete, "/\(id)", of: device, .web).status == 204)
        #expect(try await rig.post(path).status == 404)
    }

    @Test func `a full queue says when to come again`() async throws {
        let rig = try await WebPushRig()
        let path = try await rig.endpoint(of: try await rig.device(.ios), .ios, #"{"delivery":"fetch"}"#)
        for _ in 0..<WebPushEndpoint.messagesMax { #expect(try await rig.post(path).status == 201) }
        let full = try await rig.post(path)
        #expect(full.status == 429 && full.headers[.retryAfter] == "600", "\(full)")
    }

    @Test func `an endpoint dies with its device`() async throws {
        let rig = try await WebPushRig()
        let device = try await rig.device(.ios)
        let path = try await rig.endpoint(of: device, .ios)
        let location = try WebPushRig.location(try await rig.post(path))
        let platform = try rig.platform(.ios)
        try await rig.store.unregister(device.uuid, on: platform.key)
        for (method, path) in [(HTTPRequest.Method.post, path), (.get, path), (.get, location), (.delete, location)] {
            #expect(try await rig.send(method, path, WebPushRig.headers(), [1]).status == 410)
        }
        try await rig.store.delete(device, on: platform)
        #expect(try await rig.post(path).status == 404)
    }

    @Test func `switched off, nothing is accepted and nothing forgotten`() async throws {
        let rig = try await WebPushRig()
        let device = try await rig.device(.ios)
        let path = try await rig.endpoint(of: device, .ios)
        try await rig.store.edit(rig.application.key, ApplicationEdit(webPush: .off))
        let refused = try await rig.post(path)
        #expect(refused.status == 503 && refused.headers[.retryAfter] == "3600", "\(refused)")
        #expect(try await rig.ask(.post, "", of: device, .ios).status == 403)
        try await rig.store.edit(rig.application.key, ApplicationEdit(webPush: .on))
        #expect(try await rig.post(path).status == 201)
    }

    @Test func `a body too large for the provider is a 413`() async throws {
        let rig = try await WebPushRig()
        let path = try await rig.endpoint(of: try await rig.device(.ios), .ios)
        let answer = try await rig.post(path, [:], [UInt8](repeating: 1, count: 3_100))
        #expect(answer.status == 413 && answer.text.contains("APNs takes"), "\(answer)")
        let web = try await rig.endpoint(of: try await rig.device(.web), .web)
        #expect(try await rig.post(web, [:], [UInt8](repeating: 1, count: 4_096)).status == 201)
        #expect(try await rig.post(web, [:], [UInt8](repeating: 1, count: 4_097)).status == 413)
    }

    @Test func `some types are fetched alone`() async throws {
        let rig = try await WebPushRig(kinds: [.apple(.voip)])
        let device = try await rig.device(.apple(.voip))
        let refused = try await rig.ask(.post, "", of: device, .apple(.voip))
        #expect(refused.status == 400 && refused.text.contains("delivery is push"), "\(refused)")
        _ = try await rig.endpoint(of: device, .apple(.voip), #"{"delivery":"fetch"}"#)
    }

    @Test(arguments: [
        (#"{"vapid_public_key":"AAAA"}"#, "vapid_public_key"), (#"{"delivery":"mail"}"#, "delivery"),
        (#"{"vapid":"x"}"#, "vapid"), ("[]", "body"),
    ])
    func `a wrong wish is refused by its field`(body: String, field: String) async throws {
        let rig = try await WebPushRig()
        let answer = try await rig.ask(.post, "", of: try await rig.device(.ios), .ios, body)
        #expect(answer.status == 400 && answer.text.contains(field), "\(answer)")
    }
}

// MARK: Hostile callers

extension WebPushRouteTests {
    @Test func `guesses are limited, and the right one gets through`() async throws {
        let rig = try await WebPushRig()
        let path = try await rig.endpoint(of: try await rig.device(.ios), .ios)
        var statuses: Set<Int> = []
        for number in 0..<200 { statuses.insert(try await rig.post("/wp/guess\(number)").status) }
        #expect(statuses == [404, 429])
        rig.clock.advance(by: .milliseconds(50))
        #expect(try await rig.post(path).status == 201)
    }

    @Test func `a flood to one device is its own matter`() async throws {
        let rig = try await WebPushRig()
        let device = try await rig.device(.androidFCM)
        let path = try await rig.endpoint(of: device, .androidFCM)
        let other = try await rig.endpoint(of: try await rig.device(.ios), .ios)
        for _ in 0..<100 { #expect(try await rig.post(path, [:], [1]).status == 201) }
        let refused = try await rig.post(path, [:], [1])
        #expect(refused.status == 429 && refused.headers[.retryAfter] == "1", "\(refused)")
        #expect(try await rig.post(other).status == 201)
        rig.clock.advance(by: .seconds(1))
        for status in [201, 201, 201, 201, 201, 429] { #expect(try await rig.post(path, [:], [1]).status == status) }
    }

    @Test func `an application's rate counts its endpoints`() async throws {
        let rig = try await WebPushRig(limits: [.sender: RateLimit(perSecond: 1, burst: 2)])
        let device = try await rig.device(.ios)
        let (path, other) = (try await rig.endpoint(of: device, .ios), try await rig.endpoint(of: device, .ios))
        var statuses: [Int] = []
        for path in [path, other, path] { statuses.append(try await rig.post(path).status) }
        #expect(statuses == [201, 201, 429])
    }

    /// Its end is never sent: the server answers as soon as it is too long.
    @Test func `a body without a length ends at the limit`() async throws {
        let rig = try await WebPushRig()
        let path = try await rig.endpoint(of: try await rig.device(.web), .web)
        let router = ResponseMiddleware.router(clock: rig.clock)
        WebPushRoutes(
            Services(rig.store, clock: rig.clock), address: ServerAddress(publicURL: WebPushRig.url)
        ).add(to: router)
        let app = Hummingbird.Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
        try await app.test(.live) { client in
            let wire = try await Wire.open(port: try #require(client.port))
            let head = "POST \(path) HTTP/1.1\r\nHost: push.example.org\r\nTTL: 60\r\nContent-Encoding: aes128gcm\r\n"
            let chunk = "400\r\n\(String(repeating: "x", count: 1_024))\r\n"
            let answer = try await wire.exchange(
                head + "Transfer-Encoding: chunked\r\n\r\n" + String(repeating: chunk, count: 5))
            #expect(answer.status == 413, "\(answer)")
            try? await wire.close()
            let second = try await Wire.open(port: try #require(client.port))
            let small = try await second.exchange(
                head + "Transfer-Encoding: chunked\r\n\r\n" + String(repeating: chunk, count: 4) + "0\r\n\r\n")
            #expect(small.status == 201, "\(small)")
            try? await second.close()
        }
    }

    @Test func `a device asks for its own endpoints alone`() async throws {
        let rig = try await WebPushRig()
        let device = try await rig.device(.ios)
        let path = "/v1/registration/\(device.uuid.lowercased)/endpoints"
        #expect(try await rig.send(.post, path).status == 401)
        let foreign = TestServer.User.basic(try rig.platform(.web).uuid.uuidString, TestServer.secret)
        #expect(try await rig.send(.post, path, [.authorization: foreign]).status == 404)
        #expect(try await rig.send(.get, path, [.authorization: foreign]).status == 404)
    }
}

// MARK: Recorded senders

extension WebPushRouteTests {
    /// Requests of other projects' senders, by their headers. The bodies are as long as theirs, and opaque.
    private static let recorded: [(sender: String, headers: [String: String], bytes: Int)] = [
        // Source: mastodon, app/workers/web/push_notification_worker.rb, for subscriptions without `standard`.
        (
            "Mastodon, aesgcm",
            [
                "Content-Type": "application/octet-stream", "Ttl": "172800", "Urgency": "normal",
                "Content-Encoding": "aesgcm", "Encryption": "salt=SVzmyN6TpFOehi6GNJk8uw",
                "Crypto-Key":
                    "dh=BDf5UyzVhK7mT6MSZlSVgnPzKEQlqLmbEsFnBFcSGJJ0T3QyVcnJfcXRQTWoOL1OEELF1bXG6eJmFbEKIv7NhMA;p256ecdsa=BB5cHdd",
                "Authorization": "WebPush eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.e30.AAAA",
            ], 1_402
        ),
        // Source: the same file, since 4.4.
        (
            "Mastodon, aes128gcm",
            [
                "Content-Type": "application/octet-stream", "Ttl": "172800", "Urgency": "normal",
                "Content-Encoding": "aes128gcm", "Content-Length": "1490",
                "Authorization": "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.e30.AAAA,k=BB5cHdd",
            ], 1_490
        ),
        // Source: nextcloud/notifications, lib/WebPushClient.php, by minishlink/web-push, which fills payloads up to 2,820 bytes.
        (
            "Nextcloud",
            [
                "Content-Type": "application/octet-stream", "Content-Encoding": "aes128gcm", "TTL": "2419200",
                "Urgency": "high", "Authorization": "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.e30.AAAA, k=BB5cHdd",
            ], 2_923
        ),
        // Source: web-push-libs/web-push (node), src/web-push-lib.js, its defaults.
        (
            "web-push",
            [
                "TTL": "2419200", "Content-Type": "application/octet-stream", "Content-Encoding": "aes128gcm",
                "Content-Length": "155", "Urgency": "normal", "Topic": "a_B-9",
                "Authorization": "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.e30.AAAA, k=BB5cHdd",
            ], 155
        ),
        // Source: web-push-libs/pywebpush, which sends no body where there are no data.
        ("pywebpush without data", ["ttl": "0", "Authorization": "vapid t=x,k=y"], 0),
    ]

    @Test(arguments: recorded.indices, [PlatformKind.ios, .androidFCM, .web])
    func `requests of others are taken`(index: Int, kind: PlatformKind) async throws {
        let (sender, headers, bytes) = Self.recorded[index]
        let rig = try await WebPushRig()
        let path = try await rig.endpoint(of: try await rig.device(kind), kind)
        var fields: HTTPFields = [:]
        for (name, value) in headers { fields[try #require(HTTPField.Name(name))] = value }
        let body = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let answer = try await rig.send(.post, path, fields, body)
        #expect(answer.status == 201, "\(sender): \(answer)")
        let content = try #require(try await rig.store.allPushes().last?.content)
        let ciphertext =
            try kind == .web ? #require(content.ciphertext) : Ciphertext(stored: content.shared.data)
        #expect(ciphertext.body == body && ciphertext.encoding == headers["Content-Encoding"], "\(sender)")
        #expect(ciphertext.encryption == headers["Encryption"], "\(sender)")
        #expect(ciphertext.cryptoKey == headers["Crypto-Key"].map { $0.replacing(";p256ecdsa=BB5cHdd", with: "") })
    }
}
