import BelfryService
import BelfryTesting
import Foundation
import Testing

@Suite struct NodeConformance {
    @Test(arguments: Engine.allCases)
    func `a database reports its size and engine version`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let size = try await fixture.store.databaseSize()
            #expect(!size.engineVersion.isEmpty)
            #expect(size.bytes > 4_096 && size.engineVersion.first?.isNumber == true)
        }
    }

    private let first = NodeReport(
        uuid: UUID(), host: "one.example.org", address: "https://10.0.0.1:8080", version: "1.0.0")
    private let second = NodeReport(uuid: UUID(), host: "two.example.org", version: "1.0.1")

    @Test(arguments: Engine.allCases)
    func `a node is known by its latest report and start`(engine: Engine) async throws {
        let clock = ManualClock()
        try await engine.withStore(clock: clock) { store in
            let start = clock.now
            #expect(try await store.nodes().isEmpty)
            try await store.recordHeartbeat(first)
            clock.advance(by: .seconds(5))
            var busy = first
            (busy.batchesInFlight, busy.isDraining) = (7, true)
            try await store.recordHeartbeat(busy)
            try await store.recordHeartbeat(second)
            let nodes = try await store.nodes()
            #expect(
                nodes == [
                    Node(busy, since: start, lastSeenAt: clock.now, now: clock.now),
                    Node(second, since: clock.now, lastSeenAt: clock.now, now: clock.now),
                ])
            #expect(nodes.map(\.state) == [.draining, .up])
            try await store.remove(first.uuid)
            #expect(try await store.nodes().map(\.uuid) == [second.uuid])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a silent node is gone, and forgotten after a day`(engine: Engine) async throws {
        let clock = ManualClock()
        try await engine.withStore(clock: clock) { store in
            try await store.recordHeartbeat(first)
            clock.advance(by: Node.goneAfter)
            let silent = try #require(try await store.nodes().first)
            #expect(silent.state == .up && silent.isSilent && silent.silence == Node.goneAfter)
            clock.advance(by: .milliseconds(1))
            #expect(try await store.nodes().map(\.state) == [.gone])
            clock.advance(by: Node.deletedAfter)
            try await store.recordHeartbeat(second)
            #expect(try await store.nodes().map(\.uuid) == [second.uuid])
        }
    }

    @Test(arguments: Engine.allCases)
    func `commands' counts are added up and taken once`(engine: Engine) async throws {
        try await engine.withStore(clock: ManualClock()) { store in
            let pushes = CommandCount.Series("belfry_pushes_accepted_total", [CommandCount.Label("lane", "urgent")])
            let registrations = CommandCount.Series("belfry_registrations_total", [])
            #expect(try await store.takeCommandCounts() == [])
            try await store.add([CommandCount(pushes, 1), CommandCount(registrations, 2)])
            try await store.add([CommandCount(pushes, 3)])
            let taken = try await store.takeCommandCounts()
            #expect(Set(taken) == [CommandCount(pushes, 4), CommandCount(registrations, 2)])
            #expect(try await store.takeCommandCounts() == [])
            try await store.add([])
            try await store.add([CommandCount(registrations, 5)])
            #expect(try await store.takeCommandCounts() == [CommandCount(registrations, 5)])
        }
    }
}
