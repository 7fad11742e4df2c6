import BelfryTesting
import Hummingbird
import HummingbirdTesting
import Testing

@testable import BelfryService

/// Genero's apps wait five seconds. When the database takes longer, they get an answer in words, not a failure of the network.
@Suite struct GeneroBusyTests {
    private static let key = "0123456789abcdef0123456789abcdef"

    @Test(arguments: ["", "/token_maintainer", "/token_maintainer/register", "/any/path"])
    func `every path below the key greets`(path: String) async throws {
        let clock = ManualClock()
        let store = try SQLiteStore.temporary(clock: clock)
        let application = try await store.create(.test(PlaintextVault()))
        _ = try await store.create(
            try NewOpenEndpoint(kind: .genero, application: application.key, keyHash: SecretHash.of(Self.key)))
        let router = ResponseMiddleware.router(clock: clock)
        GeneroRoutes(Services(store, clock: clock)).add(to: router)
        try await Hummingbird.Application(router: router).test(.router) { client in
            let answer = try await client.execute(uri: "/genero/\(Self.key)\(path)", method: .get)
            #expect(answer.status == .ok)
        }
    }

    /// The database is slow at the search for the key, or at the command.
    @Test(arguments: [InterceptedStore.Access.read, .write])
    func `a slow command is answered in time and finished later`(slow: InterceptedStore.Access) async throws {
        let clock = ManualClock()
        let memory = try SQLiteStore.temporary(clock: clock)
        let application = try await memory.create(.test(PlaintextVault()))
        let platform = try await memory.create(.test(.ios, of: application))
        _ = try await memory.create(
            try NewOpenEndpoint(kind: .genero, application: application.key, keyHash: SecretHash.of(Self.key)))
        let (release, releaser) = AsyncStream.makeStream(of: Void.self)
        let router = ResponseMiddleware.router(clock: clock)
        let store = InterceptedStore(memory) { access in
            if access == slow { for await _ in release {} }
        }
        GeneroRoutes(Services(store, clock: clock)).add(to: router)

        try await Hummingbird.Application(router: router).test(.router) { client in
            async let answer = client.execute(
                uri: "/genero/\(Self.key)/token_maintainer/register", method: .post,
                headers: [.contentType: "application/json"],
                body: ByteBuffer(string: #"{"notification_type":"APNS","registration_token":"00112233"}"#))
            while clock.sleepers == 0 { await Task.yield() }
            clock.advance(by: GeneroRoutes.answerTime)
            let body = String(buffer: try await answer.body)
            #expect(body == #"{"status":-2,"message":"The server is busy, try again\n[00112233]"}"#)
        }
        let token = try DeviceToken(anySpelling: "00112233", for: .ios)
        #expect(try await memory.holders(of: [token], on: platform.key).isEmpty)
        releaser.finish()
        while try await memory.holders(of: [token], on: platform.key).isEmpty { await Task.yield() }
    }

    @Test func `an app is answered in words without a database`() async throws {
        let clock = ManualClock()
        let router = ResponseMiddleware.router(clock: clock)
        let store = InterceptedStore(try SQLiteStore.temporary(clock: clock)) { _ in
            throw StoreError.unavailable("the disk is full")
        }
        GeneroRoutes(Services(store, clock: clock)).add(to: router)
        try await Hummingbird.Application(router: router).test(.router) { client in
            let answer = try await client.execute(
                uri: "/genero/\(Self.key)/token_maintainer/unregister", method: .post,
                headers: [.contentType: "application/json"], body: ByteBuffer(string: #"{"registration_token":"00"}"#))
            let body = String(buffer: answer.body)
            #expect(body == #"{"status":-1,"message":"The server cannot do it at present\n[00]"}"#)
        }
    }
}
