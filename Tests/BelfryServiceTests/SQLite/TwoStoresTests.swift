import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// Two stores on one file, as a command beside a running server is.
@Suite struct TwoStoresTests {
    @Test(.timeLimit(.minutes(20))) func `one connection's writes are seen and heard by others`() async throws {
        try await withSQLiteStore { server, path in
            let clock = ManualClock()
            let command = try SQLiteStore.open(at: path, clock: clock, logger: .strict, migrate: false)
            let fixture = try await TestStore(store: server, clock: clock)
            #expect(try await command.platform(fixture.platform.key) == fixture.platform)
            #expect(try await server.applications().count == 1)

            var receiver = server.hints(of: .all).makeAsyncIterator()
            let parking = Parking(cause: .deadTokens, detail: "many", since: clock.now)
            try await command.park(fixture.platform.key, parking)
            while try await server.platform(fixture.platform.key)?.parked == nil {
                #expect(await receiver.next(isolation: nil) != nil)
            }
            #expect(try await server.platform(fixture.platform.key)?.parked == parking)
            try await command.close()
        }
    }

    @Test func `a command cancels claimed and unclaimed work of a server`() async throws {
        try await withSQLiteStore { server, path in
            let clock = ManualClock()
            let command = try SQLiteStore.open(at: path, clock: clock, logger: .strict, migrate: false)
            let fixture = try await TestStore(store: server, clock: clock)
            _ = try await fixture.registerMany(6)
            let push = try await fixture.push()
            try await fixture.fanOut(batchesOf: 2)
            let held = try await fixture.claimOne()
            #expect(try await command.cancel(push.key) == Cancellation(devices: 4, devicesInFlight: 2))
            #expect(try await fixture.claim(9).isEmpty)
            #expect(try await server.settle(Settlement(handingBack: held, at: clock.now)))
            #expect(try await fixture.counts(of: push) == [.skipped(.cancelled): 6])
            try await command.close()
        }
    }

    @Test func `two processes do not disturb each other's topics and devices`() async throws {
        try await withSQLiteStore { first, path in
            let clock = ManualClock()
            let second = try SQLiteStore.open(at: path, clock: clock, logger: .strict, migrate: false)
            let here = try await TestStore(store: first, clock: clock)
            for number in 0..<40 {
                let store: SQLiteStore = number.isMultiple(of: 2) ? first : second
                let device = try await store.register(
                    try Registration(
                        token: DeviceToken(bytes: [UInt8(number / 2)]), about: .init(), customUserID: .keep,
                        topics: .change(subscribe: ["t\(number / 2)"], unsubscribe: [])),
                    as: nil, on: here.platform)
                #expect(try await here.devices(.topic("t\(number / 2)")) == [device.key])
            }
            #expect(try await first.deviceCount(on: here.platform.key) == 20)
            try await second.close()
        }
    }
}

extension TwoStoresTests {
    @Test func `a platform made by another process is found on look-up`() async throws {
        // It does not look by itself for what others have written, which it would find at any moment.
        try await withSQLiteStore(use: .copyingFrom) { server, path in
            let clock = ManualClock()
            let command = try SQLiteStore.open(at: path, clock: clock, logger: .strict, migrate: false)
            let fixture = try await TestStore(store: server, clock: clock)
            // The server keeps what it has read.
            #expect(try await server.platforms(of: fixture.application.key) == [fixture.platform])
            let platform = try await command.create(.of(fixture.application))
            #expect(try await server.platform(platform.uuid) == platform)
            #expect(try await server.platform(UUID()) == nil)
            try await command.close()
        }
    }
}
