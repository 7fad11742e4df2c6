import BelfryKit
import Foundation
import Testing

@Suite struct ErrorTests {
    @Test(arguments: [
        (ScriptedServer.Answer(status: 401), BelfryError.unauthorized, false),
        (.init(status: 429, fields: ["Retry-After": "30"]), .busy(retryAfter: 30), true),
        (.init(status: 503, body: "<html>"), .busy(retryAfter: nil), true),
        (.init(status: 408), .busy(retryAfter: nil), true),
        (
            .init(status: 400, body: #"{"message":"tags has too many"}"#),
            .refused(status: 400, reason: "tags has too many"), false
        ),
        (.init(status: 404, body: "not JSON"), .unreadable("404 without JSON"), true),
        (.init(body: "{}"), .unreadable("no device_uuid"), true),
        (.init(body: "not JSON"), .unreadable("no JSON object"), true),
    ])
    func `each server error has a type and stops nothing`(
        answer: ScriptedServer.Answer, error: BelfryError, isTemporary: Bool
    ) async throws {
        var phone = ScriptedPhone(ScriptedServer([answer]))
        defer { phone.wipe() }
        await #expect(throws: error) { try await phone.start().register(phone.wish()) }
        #expect(error.isTemporary == isTemporary)
        // The wish is kept, and the next start sends it.
        phone.now += 30_000
        let app = try phone.start()
        try await app.resume()
        #expect(await app.device == "d-1")
    }

    @Test func `no answer is an error that says why`() async throws {
        let phone = ScriptedPhone(ScriptedServer(otherwise: nil))
        defer { phone.wipe() }
        let app = try phone.start()
        do throws(BelfryError) {
            try await app.register(phone.wish())
            Issue.record("there was an answer")
        } catch {
            guard case .unreachable(let reason) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(!reason.isEmpty && error.isTemporary)
        }
    }

    @Test func `a user's id that was not signed is not sent`() async throws {
        struct Away: Error {}
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start(signer: { _ in throw Away() })
        await #expect(throws: BelfryError.unsigned("Away()")) { try await app.register(phone.wish(user: "emma")) }
        #expect(phone.server.asked.isEmpty)
        let again = try phone.start(signer: { $0 + "!" })
        try await again.resume()
        #expect(phone.server.asked.last?.member("custom_user_id") as? String == "emma!")
    }

    @Test func `a folder that cannot be written is said at once`() throws {
        let phone = ScriptedPhone()
        // A file stands where the folder has to be.
        try Data().write(to: phone.folder)
        defer { phone.wipe() }
        do throws(BelfryError) {
            _ = try Belfry(
                BelfryConfiguration(
                    server: phone.folder, platform: UUID(), platformSecret: "", folder: phone.folder),
                identity: FixedIdentity(own: UUID()), transport: phone.server)
            Issue.record("it was written")
        } catch {
            guard case .storage = error else {
                Issue.record("\(error)")
                return
            }
            #expect(error.isTemporary)
        }
    }

    @Test func `a file that cannot be read is none`() async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        try await phone.start().register(phone.wish())
        try Data("{".utf8).write(to: phone.folder.appendingPathComponent("belfry.json"))
        let app = try phone.start()
        #expect(await app.device == nil)
        #expect(try await app.register(phone.wish()) == "d-1")
    }
}
