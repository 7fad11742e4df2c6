import BelfryService
import BelfryTesting
import FoundationEssentials
import Testing

/// Each invariant of a store's contents can fail.
@Suite struct ViolationTests {
    /// Three devices of one push, two of them answered.
    private func contents() async throws -> Contents {
        let clock = ManualClock()
        let store = MemoryStore(clock: clock)
        let application = try await store.create(.numbered(1))
        let platform = try await store.create(.numbered(1, of: application.key))
        for number in 1...3 as ClosedRange<UInt8> {
            _ = try await store.register(.sample(number), as: nil, on: platform)
        }
        _ = try await store.accept(.sample(to: platform))
        let fanOut = try #require(
            try await store.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60)).first)
        let devices = try await store.devices(in: fanOut, after: nil, limit: 10)
        #expect(try await store.advance(FanOutStep(fanOut: fanOut, batches: [devices], isLast: true)))
        let batch = try #require(
            try await store.claimBatches(BatchClaim(burstsMax: 1, roomElsewhere: 1, lease: .seconds(60))).first)
        #expect(
            try await store.settle(Settlement(batch: batch, answers: [.accepted, .gone, .pending], retryAt: clock.now)))
        try store.check()
        return store.contents
    }

    @Test func `contents that were written by the rules hold`() async throws {
        #expect(try await contents().violations.isEmpty)
    }

    @Test func `a counter that is off is noticed`() async throws {
        var contents = try await contents()
        for key in contents.pushes.keys { contents.pushes[key]?.counts[.accepted] = 2 }
        #expect(contents.violations.contains { $0.contains("counters") })
    }

    @Test func `a push settled too early is noticed`() async throws {
        var contents = try await contents()
        for key in contents.pushes.keys { contents.pushes[key]?.settledAt = .zero }
        #expect(contents.violations.contains { $0.contains("is settled, and devices wait") })
    }

    @Test func `a push that is done and not settled is noticed`() async throws {
        var contents = try await contents()
        contents.answer([.accepted, .gone, .accepted], dueAt: nil)
        #expect(contents.violations.contains { $0.contains("no device waits, and it is not settled") })
    }

    @Test func `a batch that waits and never falls due is noticed`() async throws {
        var contents = try await contents()
        contents.answer([.accepted, .gone, .pending], dueAt: nil)
        #expect(contents.violations.contains { $0.contains("is due exactly while devices wait") })
    }

    @Test func `devices out of order, or twice, are noticed`() async throws {
        var contents = try await contents()
        contents.changeBatch { batch in
            let devices = [batch.devices[1], batch.devices[0], batch.devices[1]]
            return batch.with(devices: devices, answers: batch.answers)
        }
        #expect(contents.violations.contains { $0.contains("do not ascend") })
        #expect(contents.violations.contains { $0.contains("stand in two places") })
    }

    @Test func `a batch without an answer for each device is noticed`() async throws {
        var contents = try await contents()
        contents.changeBatch { $0.with(devices: $0.devices, answers: [.pending]) }
        #expect(contents.violations.contains { $0.contains("1 answers for 3 devices") })
    }

    @Test func `a missing time of the first answer is noticed`() async throws {
        var contents = try await contents()
        for key in contents.pushes.keys { contents.pushes[key]?.firstAnswerAt = nil }
        #expect(contents.violations.contains { $0.contains("first answer") })
    }

    @Test func `a token of two devices is noticed`() async throws {
        var contents = try await contents()
        let keys = contents.devices.keys.sorted()
        for address in contents.holders.keys { contents.holders[address] = keys[0] }
        #expect(contents.violations.contains { $0.contains("another device has its token") })
    }

    @Test func `an answer that changes is noticed`() async throws {
        let clock = ManualClock()
        let store = MemoryStore(clock: clock, contents: try await contents())
        clock.advance(by: .seconds(1))
        let batch = try #require(
            try await store.claimBatches(BatchClaim(burstsMax: 1, roomElsewhere: 1, lease: .seconds(60))).first)
        _ = try await store.settle(Settlement(batch: batch, answers: [.gone, .gone, .gone], retryAt: nil))
        #expect(throws: Violations.self) { try store.check() }
        #expect(store.violations().contains { $0.contains("had accepted, now gone") })
    }
}

extension Contents {
    fileprivate mutating func changeBatch(_ change: (Batch) -> Batch) {
        for (key, row) in batches { batches[key]?.batch = change(row.batch) }
    }

    /// Writes answers and their counts, and nothing else.
    fileprivate mutating func answer(_ answers: [Answer], dueAt: Instant?) {
        for (key, row) in batches {
            batches[key]?.batch = row.batch.with(devices: row.batch.devices, answers: answers)
            batches[key]?.lease = Lease(dueAt: dueAt)
        }
        for key in pushes.keys { pushes[key]?.counts = answers.reduce(into: [:]) { $0[$1, default: 0] += 1 } }
    }
}

extension Batch {
    fileprivate func with(devices: [Key<Device>], answers: [Answer]) -> Batch {
        Batch(
            key: key, pushKey: pushKey, platformKey: platformKey, lane: lane, devices: devices, answers: answers,
            attempt: attempt, isLapsed: isLapsed)
    }
}
