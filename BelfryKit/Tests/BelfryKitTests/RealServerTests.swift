import BelfryAdmin
import BelfryKit
import Foundation
import Testing

/// Single things that the scripted server cannot show: what the real one makes of them.
@Suite(.enabled(if: RealServer.binary != nil), .serialized) struct RealServerTests {
    private func app(at server: RealServer, secret: String? = nil) throws -> (Belfry, URL) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("phone-\(UUID().uuidString)")
        let configuration = BelfryConfiguration(
            server: server.url, platform: server.platform, platformSecret: secret ?? server.secret, folder: folder)
        return (try Belfry(configuration, identity: FixedIdentity(own: UUID())), folder)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a back end sends once and follows the push through`()
        async throws
    {
        let server = try await RealServer.shared()
        // The phones' platform is of a type that has no provider, so that a push to it waits.
        let shop = try await server.ask("POST", "apps", ["name": "Shop"])
        let name = try #require(shop["app_uuid"] as? String)
        let app = try #require(UUID(uuidString: name))
        let web: [String: Any] = ["type": "web", "name": "Web", "credentials": [String: String]()]
        _ = try await server.ask("POST", "apps/\(name)/platforms", web)
        let client = AdminClient(server: server.url, key: server.adminKey)
        let request = PushRequest(
            message: .init(body: "Hello", custom: ["android": ["data": ["order": "17"]]]), target: .everyone)
        let id = try await client.push(request, for: app, idempotencyKey: "order-17")
        #expect(try await client.push(request, for: app, idempotencyKey: "order-17") == id)
        var seen: [Receipt] = []
        for try await receipt in client.progress(of: id, every: .milliseconds(20)) { seen.append(receipt) }
        #expect(seen.last?.isFinal == true && seen.last?.receipt_id == id.uuidString.lowercased())
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 != $1 }, "each time it has changed")
        let pushes = try await server.ask("GET", "apps/\(name)/pushes")
        #expect((pushes["pushes"] as? [Any])?.count == 1)
    }

    @Test(.timeLimit(.minutes(2))) func `the admin API's refusals have a type and its words`() async throws {
        let server = try await RealServer.shared()
        let app = try #require(UUID(uuidString: server.app))
        let request = PushRequest(message: .init(body: "Hello"), target: .topics(["news"]))
        do throws(AdminError) {
            _ = try await AdminClient(server: server.url, key: "bfy_wrong").push(request, for: app)
            Issue.record("it was taken")
        } catch {
            guard case .refused(status: 401, _) = error else {
                Issue.record("\(error)")
                return
            }
        }
        do throws(AdminError) {
            let none = PushRequest(message: .init(), target: .everyone)
            _ = try await AdminClient(server: server.url, key: server.adminKey).push(none, for: app)
            Issue.record("it was taken")
        } catch {
            guard case .refused(status: 400, let reason) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(reason.contains("message"))
        }
        guard let nobody = URL(string: "http://127.0.0.1:1/") else { return }
        do throws(AdminError) {
            _ = try await AdminClient(server: nobody, key: "bfy_x").receipt(UUID())
            Issue.record("it was taken")
        } catch {
            guard case .unreachable = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test(.timeLimit(.minutes(2))) func `a wrong secret or registration has a typed error`() async throws {
        let server = try await RealServer.shared()
        let (wrong, folder) = try app(at: server, secret: "wrong")
        defer { try? FileManager.default.removeItem(at: folder) }
        await #expect(throws: BelfryError.unauthorized) {
            try await wrong.register(Registration(token: "aa", system: "android"))
        }
        let (right, other) = try app(at: server)
        defer { try? FileManager.default.removeItem(at: other) }
        do throws(BelfryError) {
            try await right.register(
                Registration(token: "aa", user: String(repeating: "x", count: 300), system: "android"))
            Issue.record("it was taken")
        } catch {
            guard case .refused(status: 400, let reason) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(reason.contains("custom_user_id") && !error.isTemporary)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `a device goes on with another platform`() async throws {
        let server = try await RealServer.shared()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("phone-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let made = try await server.ask(
            "POST", "apps/\(server.app)/platforms",
            ["type": "android-baidu", "mode": "development", "name": "Tests", "credentials": [String: String]()])
        let other = try #require((made["platform_uuid"] as? String).flatMap { UUID(uuidString: $0) })
        let otherSecret = try #require(made["platform_secret"] as? String)
        let identity = FixedIdentity(own: UUID())
        let alias = "moves-\(folder.lastPathComponent)"
        for (platform, secret) in [(server.platform, server.secret), (other, otherSecret)] {
            let configuration = BelfryConfiguration(
                server: server.url, platform: platform, platformSecret: secret, folder: folder)
            let app = try Belfry(configuration, identity: identity)
            let device = try await app.register(Registration(token: folder.path, alias: alias, system: "android"))
            var active: [String] = []
            for platform in [server.platform, other] {
                let name = platform.uuidString.lowercased()
                let found = try await server.ask("GET", "apps/\(server.app)/devices?platform_uuid=\(name)&q=\(alias)")
                let devices = (found["devices"] as? [[String: Any]] ?? []).filter { $0["active"] as? Bool == true }
                active += devices.compactMap { $0["device_uuid"] as? String }
            }
            #expect(active == [device])
        }
    }

    @Test(.timeLimit(.minutes(2))) func `geofences arrive as made and their triggers are counted`() async throws {
        let server = try await RealServer.shared()
        let (app, folder) = try app(at: server)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await app.register(Registration(token: "geo", topics: ["news"], system: "android"))
        let place = try await server.ask(
            "POST", "apps/\(server.app)/locations",
            ["name": "Dairy", "latitude": 47.4, "longitude": 8.5, "radius": 100])
        let location = try #require(place["location_id"] as? Int)
        let made = try await server.ask(
            "POST", "apps/\(server.app)/geofences",
            [
                "location_ids": [location], "trigger": "enter", "expires_at": "2199-01-01T00:00:00Z",
                "data": ["ios": ["alertTitle": "Near", "alertBody": "The dairy is open"]],
            ])
        let id = try #require(made["geofence_id"] as? Int)
        try await app.updateGeofences()
        let places = await app.nearestPlaces(latitude: 47, longitude: 8)
        #expect(places.map(\.geofence.id) == [Int64(id)] && places.first?.location.name == "Dairy")
        let shown = try await app.triggered(geofence: Int64(id), location: Int64(location), by: .enter)
        #expect(shown?.alertBody == "The dairy is open")
        try await app.resume()
        let counted = try await server.ask("GET", "apps/\(server.app)/geofence-triggers")
        let triggers = counted["triggers"] as? [[String: Any]] ?? []
        #expect(triggers.map { $0["count"] as? Int } == [1], "\(counted)")
    }

    @Test(.timeLimit(.minutes(2))) func `the latest messages are the device's own, newest first`()
        async throws
    {
        let server = try await RealServer.shared()
        let (platform, secret) = try await server.iPhones()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("phone-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let configuration = BelfryConfiguration(
            server: server.url, platform: platform, platformSecret: secret, folder: folder)
        let app = try Belfry(configuration, identity: FixedIdentity(own: UUID()))
        let device = try await app.register(Registration(token: String(repeating: "ab", count: 32)))
        #expect(try await app.fetchMessages().isEmpty)
        let client = AdminClient(server: server.url, key: server.adminKey)
        var receipts: [String] = []
        for body in ["First", "Second"] {
            let push = PushRequest(
                message: .init(body: body, custom: ["ios": ["extra": ["order": 17]]]), target: .devices([device]))
            let id = try await client.push(push, for: try #require(UUID(uuidString: server.app)))
            var last: Receipt?
            for try await receipt in client.progress(of: id, every: .milliseconds(20)) { last = receipt }
            #expect(last?.counts == ["accepted": 1])
            receipts.append(id.uuidString.lowercased())
        }
        let found = try await app.fetchMessages()
        #expect(found.map(\.receiptID) == receipts.reversed())
        #expect(found.map(\.body) == ["Second", "First"])
        let payload = try JSONSerialization.jsonObject(with: try #require(found.first).payload) as? [String: Any]
        #expect(payload?["order"] as? Int == 17 && payload?["aps"] != nil)
        #expect(try await app.fetchMessages(limit: 1).map(\.receiptID) == [receipts[1]])
    }
}
