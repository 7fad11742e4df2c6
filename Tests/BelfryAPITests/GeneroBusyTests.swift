import BelfryService
import BelfryTesting
import Hummingbird
import HummingbirdTesting
import Testing

@testable import BelfryAPI

/// Genero's apps wait five seconds. When the database takes longer, they get an answer in words, not a failure of the network.
@Suite struct GeneroBusyTests {
    private static let key = "0123456789abcdef0123456789abcdef"

    @Test func `a command that takes too long is answered in time, and carried out later`() async throws {
        let clock = ManualClock()
        let memory = MemoryStore(clock: clock)
        let application = try await memory.create(.test(PlaintextVault()))
        let platform = try await memory.create(.test(.ios, of: application))
        _ = try await memory.create(
            try NewOpenEndpoint(kind: .genero, application: application.key, keyHash: SecretHash.of(Self.key)))
        let (release, releaser) = AsyncStream.makeStream(of: Void.self)
        let router = ResponseMiddleware.router(clock: clock)
        GeneroRoutes(
            store: StalledStore(base: memory, release: release), clock: clock,
            requestLimiter: RequestLimiter(clock: clock)
        ).add(to: router)

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
}

/// A store that answers nothing about tokens until it is released.
private struct StalledStore: WrappedStore {
    let base: any Store
    let release: AsyncStream<Void>

    func holders(
        of tokens: [DeviceToken], on platform: Key<BelfryService.Platform>
    ) async throws -> [DeviceToken: TokenHolder] {
        for await _ in release {}
        return try await base.holders(of: tokens, on: platform)
    }
}
