import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct ApplicationCacheTests {
    private static let application = Application(
        key: Key(1), uuid: UUID(), name: "shop", apiKeyHash: [], sharedSecret: Sealed(bytes: []), createdAt: .zero,
        tenantKey: Key(1), description: "")

    private func entry() -> ApplicationCache.Entry { ApplicationCache.Entry(Self.application, []) }

    @Test func `an entry from before a change is read again`() async throws {
        let cache = ApplicationCache(ageMax: .seconds(86_400))
        let name = ApplicationCache.Name.uuid(Self.application.uuid)
        #expect(!cache.has(name))
        let first = try await cache.entry(name) { entry() }
        #expect(try await cache.entry(name) { entry() } === first)
        cache.forget()
        #expect(cache.has(name), "its holder does not wait with strangers")
        #expect(try await cache.entry(name) { entry() } !== first)
    }

    @Test func `a platform that is active already is resumed`() async throws {
        let server = try await TestAdminServer()
        let (store, platform) = (server.store, try await server.resources("shop").platform.key)
        try await store.park(platform, Parking(cause: .credentials, detail: "403", since: .zero))
        #expect(try await store.platform(platform)?.parked != nil)
        // As another node does.
        try await store.write { session in _ = try session.prepared(PlatformStatements.resume).run(platform) }
        try await store.resume(platform)
        #expect(try await store.platform(platform)?.parked == nil)
    }

    @Test func `a name that a change deleted is unknown`() async throws {
        let cache = ApplicationCache(ageMax: .seconds(86_400))
        let name = ApplicationCache.Name.uuid(Self.application.uuid)
        _ = try await cache.entry(name) { entry() }
        #expect(!cache.has(.platformUUID(Self.application.uuid)), "no platform has an application's UUID")
        cache.forget()
        #expect(try await cache.entry(name) { nil } == nil)
        #expect(!cache.has(name))
    }

    @Test func `an entry read during a change is not kept`() async throws {
        let cache = ApplicationCache(ageMax: .seconds(86_400))
        let name = ApplicationCache.Name.uuid(Self.application.uuid)
        _ = try await cache.entry(name) {
            cache.forget()
            return entry()
        }
        #expect(!cache.has(name))
    }
}
