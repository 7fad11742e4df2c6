import BelfryTesting
import GRDB
import Testing

@testable import BelfryService

@Suite struct ComebackTests {
    @Test func `a device that comes back unchanged writes nothing`() async throws {
        let clock = ManualClock()
        try await withSQLiteStore(clock: clock) { store, _ in
            let platform = try await TestStore(store: store, clock: clock).platform
            func rowsWritten(_ topics: Set<String>, _ language: String) async throws -> Int {
                let registration = try Registration(
                    token: DeviceToken(bytes: Array("a".utf8)), about: Device.About(), customUserID: .set("Kim"),
                    topics: .replace(topics), detail: DeviceDetail.Change(language: language))
                return try await store.write { session in
                    let before = session.db.totalChangesCount
                    _ = try session.register(registration, as: nil, on: platform)
                    return session.db.totalChangesCount - before
                }
            }
            #expect(try await rowsWritten(["t"], "sv") > 0)
            clock.advance(by: .seconds(3_599))
            #expect(try await rowsWritten(["t"], "sv") == 0)
            #expect(try await rowsWritten(["t", "u"], "sv") > 0)
            #expect(try await rowsWritten(["t", "u"], "fi") > 0)
            #expect(try await rowsWritten(["t", "u"], "fi") == 0)
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
}
