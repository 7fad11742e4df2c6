import BelfryKit
import Foundation
import Testing

@Suite struct RegistrationTests {
    @Test func `an equal registration costs no request, even after a restart`() async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start()
        #expect(try await app.register(phone.wish()) == "d-1")
        try await app.register(phone.wish())
        try await phone.start().register(phone.wish(topics: ["NEWS"]))
        #expect(phone.server.asked.map(\.method) == ["POST"])
        #expect(phone.server.asked[0].path == "/v1/registration")
        #expect(phone.server.asked[0].member("language") as? String == "de-CH")
        #expect(phone.server.asked[0].member("time_zone") as? String == "Europe/Zurich")
    }

    @Test func `an unanswered registration is sent again at the next start`() async throws {
        let phone = ScriptedPhone(ScriptedServer(otherwise: nil))
        defer { phone.wipe() }
        await #expect(throws: BelfryError.self) { try await phone.start().register(phone.wish()) }
        let later = ScriptedPhone(folder: phone.folder, identity: phone.identity)
        let app = try later.start()
        try await app.resume()
        #expect(await app.device == "d-1")
        #expect(later.server.asked.count == 1)
    }

    @Test func `topics change by additions and removals, ignoring case`() async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start()
        await #expect(throws: BelfryError.unregistered) { try await app.changeTopics(adding: ["a"]) }
        try await app.register(phone.wish(topics: ["news", "sport"]))
        try await app.changeTopics(adding: ["Town"], removing: ["SPORT"])
        #expect(await app.registration?.topics == ["news", "town"])
        #expect(phone.server.asked.last?.method == "PUT" && phone.server.asked.last?.path == "/v1/registration/d-1")
        #expect(phone.server.asked.last?.member("tags") as? [String] == ["news", "town"])
        try await app.changeTopics(removing: ["sport"])
        #expect(phone.server.asked.count == 2)
    }

    @Test func `a user id is sent with the back end's signature`() async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start(signer: { "signed(\($0))" })
        try await app.register(phone.wish(user: "emma"))
        #expect(phone.server.asked[0].member("custom_user_id") as? String == "signed(emma)")
        try await app.register(phone.wish(user: nil))
        #expect(phone.server.asked[1].member("custom_user_id") as? String == "")
    }

    @Test func `a phone restored from another's backup is a new device`() async throws {
        var phone = ScriptedPhone(ScriptedServer([.init(body: #"{"device_uuid":"old"}"#)]))
        defer { phone.wipe() }
        let old = try phone.start()
        try await old.received(PushMessage(receiptID: "r", receivedAt: phone.now))
        try await old.register(phone.wish())
        phone.identity = UUID()
        let restored = try phone.start()
        #expect(await restored.device == nil)
        #expect(await restored.latestMessages.map(\.receiptID) == ["r"])
        #expect(await restored.waitingEvents == 0)
        #expect(try await restored.register(phone.wish("bb")) == "d-1")
        #expect(phone.server.asked.last?.method == "POST")
    }

    @Test func `a refused registration keeps no other token waiting`() async throws {
        let refused = ScriptedServer.Answer(status: 400)
        let phone = ScriptedPhone(ScriptedServer([refused, refused]))
        defer { phone.wipe() }
        let app = try phone.start()
        await #expect(throws: BelfryError.self) { try await app.register(phone.wish("{length = 32}")) }
        #expect(try await app.register(phone.wish("bb")) == "d-1")
        #expect(phone.server.asked.count == 3)
    }

    @Test func `listeners hear each change in order`() async throws {
        let phone = ScriptedPhone(ScriptedServer([.init(), .init(status: 503, fields: ["Retry-After": "7"])]))
        defer { phone.wipe() }
        let app = try phone.start()
        let changes = await app.changes()
        let message = PushMessage(receiptID: "r", title: "Hello", receivedAt: phone.now)
        try await app.received(message)
        _ = try? await app.register(phone.wish())
        _ = try? await app.resume()
        try await app.resume()
        try await app.unregister()
        var heard: [BelfryChange] = []
        for await change in changes {
            heard.append(change)
            if change == .unregistered { break }
        }
        #expect(
            heard == [
                .received(message), .failed(.unreadable("no device_uuid")), .failed(.busy(retryAfter: 7)),
                .registered(device: "d-1"), .unregistered,
            ])
    }

    // MARK: From PCF's SDK

    /// Source: push-ios, `PCFPushPersistentStorage`.
    @Test(arguments: [("ab01", "PUT", "/v1/registration/pcf-1"), ("ffff", "POST", "/v1/registration")])
    func `the PCF SDK's device is kept unless another phone's`(
        token: String, method: String, path: String
    ) async throws {
        let suite = "belfrykit-\(UUID().uuidString)"
        let defaults = try #require(UserDefaults(suiteName: suite))
        defer { defaults.removePersistentDomain(forName: suite) }
        #expect(PCFInstallation(in: defaults) == nil)
        defaults.set("pcf-1", forKey: "PCF_PUSH_BACK_END_DEVICE_ID")
        defaults.set(Data([0xAB, 0x01]), forKey: "PCF_PUSH_APNS_DEVICE_TOKEN")
        let legacy = try #require(PCFInstallation(in: defaults))
        #expect(legacy == PCFInstallation(device: "pcf-1", token: "ab01"))
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start(legacy: legacy)
        #expect(await app.device == "pcf-1")
        #expect(try await app.register(phone.wish(token)) == "d-1")
        #expect(phone.server.asked.map(\.method) == [method] && phone.server.asked[0].path == path)
        // It is read once: the server has the last word.
        #expect(await (try phone.start(legacy: legacy)).device == "d-1")
    }
}
