import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct ComebackTests {
    @Test func `a device that comes back unchanged writes nothing`() async throws {
        let clock = ManualClock()
        try await withSQLiteStore(clock: clock) { store, path in
            let fixture = try await TestStore(store: store, clock: clock)
            let first = try await fixture.register("a", topics: .replace(["t"]), user: .set("Kim"))
            let written = try logSize(path)
            clock.advance(by: .seconds(3_599))
            let again = try await fixture.register("a", topics: .replace(["t"]), user: .set("Kim"))
            #expect(again == first)
            #expect(try logSize(path) == written)
            _ = try await fixture.register("a", topics: .replace(["t", "u"]), user: .set("Kim"))
            #expect(try logSize(path) > written, "a change is written")
        }
    }

    @Test func `after an hour its time is written`() async throws {
        let clock = ManualClock()
        try await withSQLiteStore(clock: clock) { store, _ in
            let fixture = try await TestStore(store: store, clock: clock)
            let first = try await fixture.register("a")
            clock.advance(by: .seconds(3_600))
            let again = try await fixture.register("a")
            #expect(again.registeredAt == first.registeredAt + .seconds(3_600))
            #expect(try await store.device(first.uuid, on: fixture.platform.key) == again)
        }
    }

    @Test(arguments: [(since: 59, stays: true), (since: 60, stays: true), (since: 61, stays: false)])
    func `a verdict from before the return is ignored`(since: Int, stays: Bool) async throws {
        let clock = ManualClock()
        try await withSQLiteStore(clock: clock) { store, _ in
            let fixture = try await TestStore(store: store, clock: clock)
            let device = try await fixture.register("a")
            clock.advance(by: .seconds(60))
            _ = try await fixture.register("a")
            let (platform, verdict) = (fixture.platform.key, device.registeredAt + .seconds(since))
            try await store.write { session in
                try session.deactivate([.init(device: device.key, since: verdict)], on: platform, as: .gone)
            }
            #expect(try await store.device(device.uuid, on: platform)?.isActive == stays)
        }
    }

    @Test func `details that stay as they are write nothing`() async throws {
        let clock = ManualClock()
        try await withSQLiteStore(clock: clock) { store, path in
            let fixture = try await TestStore(store: store, clock: clock)
            func register(_ language: String) async throws {
                let registration = try Registration(
                    token: DeviceToken(bytes: Array("a".utf8)), about: Device.About(), customUserID: .keep, topics: .keep,
                    detail: DeviceDetail.Change(language: language))
                _ = try await store.register(registration, as: nil, on: fixture.platform)
            }
            try await register("sv")
            let written = try logSize(path)
            try await register("sv")
            #expect(try logSize(path) == written)
            try await register("fi")
            #expect(try logSize(path) > written)
        }
    }

    /// The bytes of SQLite's log, which grows with each write.
    private func logSize(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path + "-wal")
        return try #require(attributes[.size] as? Int)
    }
}
