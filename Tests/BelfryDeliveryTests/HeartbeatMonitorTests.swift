import BelfryDelivery
import BelfryService
import BelfryTesting
import Logging
import Testing

@Suite struct HeartbeatMonitorTests {
    private let clock = ManualClock()
    private let store: MemoryStore
    private let book = CapturedLog()
    private let monitor: HeartbeatMonitor

    init() {
        store = MemoryStore(clock: clock)
        monitor = HeartbeatMonitor(store: store, clock: clock, period: .seconds(60), logger: book.logger)
    }

    private var pushes: [Push] { store.contents.pushes.values.map(\.push).sorted { $0.key < $1.key } }

    private func beat(of device: Device, on platform: Platform) async throws {
        let event = AnalyticsEvent(kind: .heartbeat, time: clock.now, device: device.uuid)
        _ = try await store.record([event], on: platform, lateMax: .seconds(3_600))
    }

    @Test func `each period one silent push with its time goes to those who subscribe, whatever the nodes`()
        async throws
    {
        let application = try await store.create(.numbered(1))
        let platform = try await store.create(.numbered(1, of: application.key, kind: .androidFCM))
        _ = try await store.create(.numbered(2))
        try await monitor.round()
        #expect(pushes.isEmpty, "nobody takes part yet")
        _ = try await store.register(.sample(1, topics: [HeartbeatPush.topic]), as: nil, on: platform)
        let other = HeartbeatMonitor(store: store, clock: clock, period: .seconds(60), logger: book.logger)
        for each in [monitor, other] { try await each.round() }
        let push = try #require(pushes.first)
        #expect(pushes.count == 1)
        #expect(push.content == .heartbeat(sentAt: clock.now) && push.applicationKey == application.key)
        #expect(push.audience == .any([.list(.topic(HeartbeatPush.topic))]))
        #expect(push.expiresAt == clock.now + .seconds(60))
        clock.advance(by: .seconds(60))
        for each in [other, monitor] { try await each.round() }
        #expect(pushes.count == 2)
    }

    @Test func `heartbeats that stop are told once, and once more when they are back`() async throws {
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
