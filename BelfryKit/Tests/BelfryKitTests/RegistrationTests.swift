import BelfryKit
import Foundation
import MessageEncryption
import Testing

#if canImport(CryptoKit)
import CryptoKit
#else
import Crypto
#endif

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

    @Test func `a confirmed registration is sent again after a day`() async throws {
        var phone = ScriptedPhone()
        defer { phone.wipe() }
        try await phone.start().register(phone.wish())
        // A clock that is set back starts the day anew.
        for (hours, count) in [(23, 1), (24, 2), (47, 2), (48, 3), (1, 4)] {
            phone.now = 1_700_000_000_000 + Int64(hours) * 3_600_000
            let app = try phone.start()
            try await app.resume()
            try await app.resume()
            #expect(phone.server.asked.count == count, "after \(hours) hours")
        }
        #expect(phone.server.asked.dropFirst().allSatisfy { $0.method == "PUT" && $0.path == "/v1/registration/d-1" })
    }

    @Test func `another platform or server gets the registration once`() async throws {
        var phone = ScriptedPhone()
        defer { phone.wipe() }
        try await phone.start().register(phone.wish())
        for change in ["platform", "server"] {
            if change == "platform" { phone.platform = UUID() } else { phone.address = "http://other.example/" }
            for _ in 0..<2 { try await phone.start().register(phone.wish()) }
        }
        #expect(phone.server.asked.map(\.method) == ["POST", "PUT", "PUT"])
        #expect(phone.server.asked.map(\.host) == ["push.example", "push.example", "other.example"])
        #expect(phone.server.asked.dropFirst().allSatisfy { $0.path == "/v1/registration/d-1" })
        #expect(Set(phone.server.asked.map(\.authorization)).count == 2)
    }

    @Test func `another server gets no ended registration`() async throws {
        var phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start()
        try await app.register(phone.wish())
        try await app.unregister()
        phone.address = "http://other.example/"
        try await phone.start().resume()
        #expect(phone.server.asked.map(\.method) == ["POST", "DELETE"])
    }

    @Test func `a file of an earlier version is read`() async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let first = try phone.start()
        var wish = phone.wish()
        let key = P256.KeyAgreement.PrivateKey().publicKey.x963Representation
        wish.encryptionKeys = try DeviceKeys(publicKey: Array(key), secret: [UInt8](repeating: 5, count: 16))
        try await first.register(wish)
        try await first.received(PushMessage(receiptID: "r", title: "Decrypted", receivedAt: phone.now))
        try await first.resume()
        let file = phone.folder.appendingPathComponent("belfry.json")
        let written = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        var state = try #require(written as? [String: Any])
        for name in ["server", "platform", "confirmedAt", "heldUntil"] { state[name] = nil }
        try JSONSerialization.data(withJSONObject: state).write(to: file)
        let app = try phone.start()
        #expect(await app.device == "d-1")
        try await app.resume()
        let registrations = phone.server.asked.filter { $0.path.hasPrefix("/v1/registration") }
        #expect(registrations.map(\.method) == ["POST", "PUT"])
        #expect(await app.latestMessages == [PushMessage(receiptID: "r", receivedAt: phone.now)])
    }

    @Test func `a server below a path is asked there`() async throws {
        for address in ["http://push.example/push", "http://push.example/push/"] {
            var phone = ScriptedPhone()
            defer { phone.wipe() }
            phone.address = address
            try await phone.start().register(phone.wish())
            #expect(phone.server.asked.map(\.path) == ["/push/v1/registration"])
        }
    }

    @Test func `a server that asks to wait is left alone`() async throws {
        var phone = ScriptedPhone(ScriptedServer([.init(status: 429, fields: ["Retry-After": "120"])]))
        defer { phone.wipe() }
        let start = phone.now
        await #expect(throws: BelfryError.busy(retryAfter: 120)) { try await phone.start().register(phone.wish()) }
        for (wait, left) in [(0, 120), (60_001, 60), (119_999, 1)] {
            phone.now = start + Int64(wait)
            let app = try phone.start()
            await #expect(throws: BelfryError.busy(retryAfter: left)) { try await app.resume() }
            await #expect(throws: BelfryError.busy(retryAfter: left)) { try await app.updateGeofences() }
        }
        #expect(phone.server.asked.count == 1)
        phone.now = start + 120_000
        try await phone.start().resume()
        #expect(phone.server.asked.count == 2)
    }

    @Test(arguments: [
        ("9223372036854775807", -86_400_000), ("86400", 3_600_000), ("-9223372036854775808", 0), ("0", 0),
    ])
    func `no server holds for longer than an hour`(seconds: String, later: Int64) async throws {
        var phone = ScriptedPhone(ScriptedServer([.init(status: 503, fields: ["Retry-After": seconds])]))
        defer { phone.wipe() }
        await #expect(throws: BelfryError.self) { try await phone.start().register(phone.wish()) }
        // A clock that is set back ends it too.
        phone.now += later
        try await phone.start().resume()
        #expect(phone.server.asked.count == 2)
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
        let refused = ScriptedServer.Answer(status: 400, body: #"{"message":"registration_token is no token"}"#)
        let phone = ScriptedPhone(ScriptedServer([refused, refused]))
        defer { phone.wipe() }
        let app = try phone.start()
        await #expect(throws: BelfryError.self) { try await app.register(phone.wish("{length = 32}")) }
        #expect(try await app.register(phone.wish("bb")) == "d-1")
        #expect(phone.server.asked.count == 3)
    }

    @Test func `a proxy's page forgets no device of a lost answer`() async throws {
        let phone = ScriptedPhone(ScriptedServer([.init(), .init(status: 403, body: "<html>")]))
        defer { phone.wipe() }
        let app = try phone.start()
        for token in ["aa", "bb"] {
            await #expect(throws: BelfryError.self) { try await app.register(phone.wish(token)) }
        }
        try await app.resume()
        #expect(phone.server.asked.map(\.method) == ["POST", "POST", "POST", "PUT"])
        let tokens = phone.server.asked.map { $0.member("registration_token") as? String }
        #expect(tokens == ["aa", "aa", "aa", "bb"])
    }

    @Test func `a device of a lost answer is found unsigned`() async throws {
        struct Away: Error {}
        let phone = ScriptedPhone(ScriptedServer([.init()]))
        defer { phone.wipe() }
        let first = try phone.start(signer: { $0 })
        await #expect(throws: BelfryError.self) { try await first.register(phone.wish("aa", user: "emma")) }
        let away = try phone.start(signer: { _ in throw Away() })
        await #expect(throws: BelfryError.unsigned("Away()")) {
            try await away.register(phone.wish("bb", user: "emma"))
        }
        try await phone.start(signer: { $0 }).resume()
        #expect(phone.server.asked.map(\.method) == ["POST", "POST", "PUT"])
        #expect(phone.server.asked.map { $0.member("custom_user_id") as? String } == ["emma", "", "emma"])
    }

    @Test func `listeners hear each change in order`() async throws {
        let phone = ScriptedPhone(ScriptedServer([.init(), .init(status: 503)]))
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
                .received(message), .failed(.unreadable("no device_uuid")), .failed(.busy(retryAfter: nil)),
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
