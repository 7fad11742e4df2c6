import BelfryTesting
import Foundation
import HTTPTypes
import Testing

@testable import BelfryService

/// Pushes in Apple's own words and broadcast channels, through the admin API.
@Suite struct AdminApplePushTests {
    private static func platform(
        _ use: AppleTokenUse, of resources: TestAdminServer.TestResources, _ server: TestAdminServer
    ) async throws -> Platform {
        try await server.admin.createPlatform(
            of: resources.application, kind: .apple(use), mode: .production, name: try Name("\(use)"),
            credentials: ["topic": .string("org.example.own")], by: TestAdminServer.author
        ).platform
    }

    private static func push(
        _ apns: String, target: String = #"{"everyone":true}"#, _ resources: TestAdminServer.TestResources,
        _ server: TestAdminServer
    ) async throws -> TestAnswer {
        try await server.send(
            .post, "apps/\(resources.application.uuid.lowercased)/pushes",
            #"{"message":{"apns":\#(apns)},"target":\#(target)}"#)
    }

    @Test func `a push in Apple's format is kept as given`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        let calls = try await Self.platform(.voip, of: resources, server)
        let reply = try await Self.push(
            #"{"type":"voip","collapse_id":"line 1","payload":{"caller":"Emma"}}"#, resources, server)
        #expect(reply.status == 201, "\(reply)")
        let kept = try #require(try await server.store.allPushes().first { $0.content.apple != nil })
        #expect(kept.content.apple?.type == .voip)
        #expect(kept.content.apple?.collapseID == "line 1")
        #expect(kept.content.apple?.payload["caller"] == .string("Emma"))
        let device = try await server.store.register(.sample(9), as: nil, on: calls)
        let named = try await Self.push(
            #"{"type":"voip"}"#, target: #"{"devices":["\#(device.uuid.uuidString)"]}"#, resources, server)
        #expect(named.status == 201, "\(named)")
    }

    @Test(
        arguments: [
            (#"{"type":"alarm"}"#, "message.apns.type is 'alarm'"),
            (#"{"sort":"alert"}"#, "'message.apns.sort' is not a field of this request"),
            (#""voip""#, "message.apns has to be an object, it is a string"),
            (#"{"type":"background","priority":10}"#, "message.apns.priority is 10, type background takes 5"),
            (#"{"type":"alert"}"#, "message.apns.payload.aps has no alert, badge or sound"),
            (
                #"{"type":"liveactivity","payload":{"aps":{"event":"update"}}}"#,
                "message.apns.payload.aps.timestamp is missing: type liveactivity needs it"
            ),
            (#"{"type":"voip"}"#, "message.apns is of type voip, and no platform that is meant is of type ios-voip"),
        ])
    func `a payload Apple would refuse is refused at acceptance`(apns: String, words: String) async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        let reply = try await Self.push(apns, resources, server)
        #expect(reply.status == 400)
        #expect(reply.text.contains(words), "\(reply)")
        let pushes = try await server.store.allPushes().count
        #expect(pushes == 1, "the fixture's own")
    }

    @Test func `an oversized payload is refused with both figures`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        _ = try await Self.platform(.voip, of: resources, server)
        let filler = String(repeating: "x", count: 5_120)
        let reply = try await Self.push(#"{"type":"voip","payload":{"x":"\#(filler)"}}"#, resources, server)
        #expect(reply.status == 400)
        #expect(
            reply.text.contains("message.apns.payload makes an iOS payload of 5137 bytes, APNs takes 5120"), "\(reply)")
    }

    @Test func `Apple's format and the old format exclude each other`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        let reply = try await server.send(
            .post, "apps/\(resources.application.uuid.lowercased)/pushes",
            #"{"message":{"apns":{},"custom":{"ios":{"badge":1}}},"target":{"everyone":true}}"#)
        #expect(reply.status == 400)
        #expect(reply.text.contains("message.apns and message.custom.ios exclude each other"), "\(reply)")
    }

    @Test func `a normal push never goes to special tokens`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        let calls = try await Self.platform(.voip, of: resources, server)
        let pushRequest = PushRequest(content: Push.Content(body: "hello"), target: .everyone)
        let draft = try await PushService(store: server.store).preview(pushRequest, for: resources.application.key)
        #expect(draft.platformKeys == [resources.platform.key])
        let named = try PushRequest(
            content: Push.Content(body: "hello"), target: Target(platforms: [.ios, .apple(.voip)]))
        #expect(
            try await PushService(store: server.store).preview(named, for: resources.application.key).platformKeys
                == [resources.platform.key])
        #expect(calls.key != resources.platform.key)
    }

    // MARK: Channels

    private static let goal =
        #"{"type":"liveactivity","payload":{"aps":{"timestamp":1,"event":"update","content-state":{"home":1}}}}"#

    @Test func `a channel is made, listed, used, shown, deleted and audited`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        let platform = try await Self.platform(.broadcast, of: resources, server)
        let path = "platforms/\(platform.uuid.lowercased)/channels"
        let made = try await server.send(.post, path, #"{"storage":"latest"}"#)
        #expect(made.status == 201, "\(made)")
        let fields = try JSONDecoder().decode([String: String].self, from: Data(made.text.utf8))
        let id = try #require(fields["channel_id"])
        let deviceUUID = try #require(UUID(uuidString: fields["device_uuid"] ?? ""))
        let inPath = id.replacing("/", with: "%2F").replacing("+", with: "%2B").replacing("=", with: "%3D")
        let device = try await server.store.device(deviceUUID, on: platform.key)
        #expect(device?.token?.text(for: platform.kind) == id)

        let list = try await server.send(.get, path)
        #expect(list.text.contains(id))
        let shown = try await server.send(.get, "\(path)/\(inPath)")
        #expect(shown.text == #"{"channel_id":"\#(id)","storage":"latest"}"#, "\(shown)")

        let told = try await Self.push(Self.goal, target: #"{"channels":["\#(id)","ZWxzZXdoZXJl"]}"#, resources, server)
        #expect(told.status == 201, "\(told)")
        let kept = try #require(try await server.store.allPushes().first { $0.content.apple != nil })
        guard case .all(let parts) = kept.audience, case .list(.devices(let keys))? = parts.first else {
            Issue.record("\(kept.audience)")
            return
        }
        #expect(keys.count == 2, "one that was made elsewhere is taken in")
        let key = try #require(device).key
        #expect(keys.contains(key))

        let deleted = try await server.send(.delete, "\(path)/\(inPath)")
        #expect(deleted.status == 204)
        #expect(try await server.store.device(deviceUUID, on: platform.key)?.isActive == false)
        let gone = try await server.send(.get, "\(path)/\(inPath)")
        #expect(gone.status == 404)
        #expect(try await server.audited() == ["channel.delete", "push.create", "channel.create"])
    }

    @Test(
        arguments: [
            (#"{"channels":["a"],"topics":["b"]}"#, "target.channels goes with no other names"),
            (#"{"channels":["a"],"devices":[]}"#, "target.channels goes with no other names"),
            (
                #"{"channels":["a"],"everyone":true}"#,
                "target names devices, topics or users, so everyone cannot be meant"
            ),
            (#"{"channels":["a b"]}"#, "target.channels[0] holds other than visible ASCII"),
            (
                #"{"channels":["a","\#(String(repeating: "x", count: 256))"]}"#,
                "target.channels[1] is 256 bytes, the limit is 255"
            ),
        ])
    func `channels stand alone, by ids that can be some`(target: String, words: String) async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        _ = try await Self.platform(.broadcast, of: resources, server)
        let reply = try await Self.push(Self.goal, target: target, resources, server)
        #expect(reply.status == 400)
        #expect(reply.text.contains(words), "\(reply)")
    }

    @Test func `channels are asked for within a share`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        let path = "platforms/\(try await Self.platform(.broadcast, of: resources, server).uuid.lowercased)/channels"
        let calls: [(HTTPRequest.Method, String, String?)] = [
            (.get, path, nil), (.post, path, #"{"storage":"latest"}"#), (.get, "\(path)/a", nil),
            (.delete, "\(path)/a", nil),
        ]
        let leases = try (1...4).map { _ in
            try server.services.shares.take(.tests, for: ShareHolder(resources.application))
        }
        for (method, path, body) in calls {
            #expect(try await server.send(method, path, body).status == 429, "\(method) \(path)")
        }
        for lease in leases { lease.end() }
        #expect(try await server.send(.get, path).status == 200)
    }

    @Test func `channels need the one platform that broadcasts`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        let target = #"{"channels":["a"]}"#
        #expect(
            try await Self.push(Self.goal, target: target, resources, server).text.contains("of which the app has none")
        )
        _ = try await Self.platform(.broadcast, of: resources, server)
        _ = try await Self.platform(.broadcast, of: resources, server)
        #expect(
            try await Self.push(Self.goal, target: target, resources, server).text.contains("of which the app has 2"))
    }

    @Test func `a topic of Firebase gets only what names it`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        _ = try await server.admin.createPlatform(
            of: resources.application, kind: .fcmTopic, mode: .production, name: try Name("topics"),
            credentials: ["topic": .string("org.example.own")], by: TestAdminServer.author)
        let path = "apps/\(resources.application.uuid.lowercased)/pushes"
        func push(_ message: String, _ target: String) async throws -> (status: Int, text: String) {
            let reply = try await server.send(.post, path, #"{"message":\#(message),"target":\#(target)}"#)
            return (reply.status, reply.text)
        }
        let target = #"{"channels":["/topics/news","'a' in topics && !('b' in topics)"]}"#
        let told = try await push(#"{"body":"hello"}"#, target)
        #expect(told.status == 201, "\(told)")
        let kept = try #require(try await server.store.allPushes().max { $0.key < $1.key })
        guard case .all(let parts) = kept.audience, case .list(.devices(let keys))? = parts.first else {
            Issue.record("\(kept.audience)")
            return
        }
        #expect(keys.count == 2)
        let everyone = PushRequest(content: Push.Content(body: "hello"), target: .everyone)
        #expect(
            try await PushService(store: server.store).preview(everyone, for: resources.application.key).platformKeys
                == [resources.platform.key])
        for target in [#"{"platforms":["fcm-topic"],"everyone":true}"#, #"{"channels":["/topics/news"]}"#] {
            let personal = try await push(#"{"body":"hello","badge":"+1"}"#, target)
            #expect(personal.status == 400 && personal.text.contains("the same for all"), "\(personal)")
        }
        let template = try await server.send(
            .post, "apps/\(resources.application.uuid.lowercased)/templates",
            #"{"name":"w","message":{"body":"hello","badge":"+1"}}"#)
        #expect(template.status == 201, "\(template)")
        let large = try await push(#"{"body":"\#(String(repeating: "x", count: 2_048))"}"#, target)
        #expect(large.text.contains("2048"), "\(large)")
    }

    @Test func `a new channel says what it stores`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        let path = "platforms/\(resources.platform.uuid.lowercased)/channels"
        #expect(try await server.send(.post, path, "{}").text.contains("storage is missing"))
        let all = try await server.send(.post, path, #"{"storage":"all"}"#)
        #expect(all.text.contains("storage is 'all', it has to be one of nothing, latest"))
        let policy = try await server.send(.post, path, #"{"policy":"latest"}"#)
        #expect(policy.status == 400)
    }
}
