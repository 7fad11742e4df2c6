import BelfryTesting
import Logging
import Testing

@testable import BelfryService

@Suite struct HeartbeatMonitorTests {
    private let clock = ManualClock()
    private let store: SQLiteStore
    private let book = CapturedLog()
    private let monitor: HeartbeatMonitor

    init() throws {
        store = try .temporary(clock: clock)
        monitor = HeartbeatMonitor(
            store: store, pushes: PushService(store: store), clock: clock, period: .seconds(60), logger: book.logger)
    }

    private var pushes: [Push] {
        get async throws { try await store.allPushes() }
    }

    private func beat(of device: Device, on platform: Platform) async throws {
        let event = AnalyticsEvent(kind: .heartbeat, time: clock.now, device: device.uuid)
        _ = try await store.record([event], on: platform, lateMax: .seconds(3_600))
    }

    @Test func `each period sends subscribers one heartbeat, whatever the nodes`()
        async throws
    {
        let application = try await store.create(.numbered(1))
        let platform = try await store.create(.numbered(1, of: application.key, kind: .androidFCM))
        _ = try await store.create(.numbered(2))
        try await monitor.round()
        #expect(try await pushes.isEmpty, "nobody takes part yet")
        _ = try await store.register(.sample(1, topics: [HeartbeatPush.topic]), as: nil, on: platform)
        let other = HeartbeatMonitor(
            store: store, pushes: PushService(store: store), clock: clock, period: .seconds(60), logger: book.logger)
        for each in [monitor, other] { try await each.round() }
        let push = try #require(try await pushes.first)
        #expect(try await pushes.count == 1)
        #expect(push.content == .heartbeat(sentAt: clock.now) && push.applicationKey == application.key)
        #expect(push.audience == .any([.list(.topic(HeartbeatPush.topic))]))
        #expect(push.expiresAt == clock.now + .seconds(60))
        clock.advance(by: .seconds(60))
        for each in [other, monitor] { try await each.round() }
        #expect(try await pushes.count == 2)
    }

    @Test func `missing heartbeats are reported once, and so is their return`() async throws {
        let application = try await store.create(.numbered(1))
        let platform = try await store.create(.numbered(1, of: application.key))
        let device = try await store.register(.sample(1, topics: [HeartbeatPush.topic]), as: nil, on: platform)
        try await beat(of: device, on: platform)
        for _ in 0...5 {
            try await monitor.round()
            clock.advance(by: .seconds(60))
        }
        #expect(book.lines(atLeast: .warning).isEmpty)
        for _ in 0..<3 { try await monitor.round() }
        #expect(book.lines(atLeast: .error).map { $0.contains("no heartbeat comes back") } == [true])
        try await beat(of: device, on: platform)
        for _ in 0..<3 { try await monitor.round() }
        #expect(book.lines(atLeast: .warning).count { $0.contains("heartbeats come back again") } == 1)
    }
}
