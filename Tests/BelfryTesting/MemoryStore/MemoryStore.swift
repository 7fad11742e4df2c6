package import BelfryService
import Synchronization

extension MemoryStore {
    package func cancel(_ push: Key<Push>) async throws -> Cancellation {
        let now = clock.now
        let cancellation = transaction { $0.cancel(push, now: now) }
        if cancellation.fanOuts > 0 { signals.fire(.all) }
        return cancellation
    }
}

extension Contents {
    fileprivate mutating func cancel(_ push: Key<Push>, now: Instant) -> Cancellation {
        var cancellation = Cancellation()
        for (key, row) in fanOuts where key.push == push && row.lease.dueAt != nil && !row.fanOut.isCancelled {
            fanOuts[key] = FanOutRow(fanOut: row.fanOut.cancelled, lease: Lease(dueAt: now))
            cancellation.fanOuts += 1
        }
        for row in batches.values where row.batch.pushKey == push && row.lease.dueAt != nil {
            cancellation.add(cancel(row, now: now))
        }
        settleIfDone(push, now: now)
        return cancellation
    }

    private mutating func cancel(_ row: BatchRow, now: Instant) -> Cancellation {
        let batch = row.batch
        let pending = batch.answers.count { $0 == .pending }
        guard !row.lease.isHeld || row.lease.isDue(at: now) else {
            batches[batch.key]?.batch = batch.with(
                answers: batch.answers, attempt: batch.attempt, isLapsed: batch.isLapsed,
                retryTimes: batch.retryTimes, isCancelled: true)
            return Cancellation(devicesInFlight: pending)
        }
        // A batch whose lease lapsed is claimed and given up at once.
        let closed = Settlement(
            cancelled: batch.with(
                answers: batch.answers, attempt: batch.attempt + 1, isLapsed: row.lease.isHeld,
                retryTimes: row.retryTimes.filter { $0.value > now }))
        tally(from: batch, to: closed.answers, now: now)
        batches[batch.key]?.batch = closed.batch.with(
            answers: closed.answers, attempt: closed.batch.attempt, isLapsed: closed.batch.isLapsed)
        batches[batch.key]?.lease = Lease(dueAt: nil)
        batches[batch.key]?.retryTimes = [:]
        batches[batch.key]?.answeredAt = row.answeredAt ?? now
        let unknown = zip(batch.answers, closed.answers).count { $0 == .pending && $1 == .unknown }
        return Cancellation(devices: pending - unknown, devicesInFlight: unknown)
    }
}

extension FanOut {
    fileprivate var cancelled: FanOut {
        FanOut(
            pushKey: pushKey, platformKey: platformKey, lane: lane, audience: audience, cursor: cursor,
            attempt: attempt, isCancelled: true, perMinute: perMinute)
    }
}

/// The part of a store that delivery needs, in memory: the model that the SQL stores are compared with, and the store of simulations.
///
/// Simple rather than fast: each method is one change of `Contents` under one lock, so each is a transaction.
package final class MemoryStore: DeliveryPorts {
    private let held: Mutex<Contents>
    let signals = WorkHints()
    let clock: any WallClock

    package init(clock: any WallClock, contents: Contents = Contents()) {
        self.clock = clock
        held = Mutex(contents)
    }

    /// A copy of the contents.
    package var contents: Contents { transaction { $0 } }

    /// Changes the contents against all rules, to plant a fault.
    package func tamper(_ change: @Sendable (inout Contents) -> Void) { held.withLock { change(&$0) } }

    /// The presently violated invariants of docs/Architecture.md, "What must always hold".
    package func violations() -> [String] { contents.violations }

    package func check() throws {
        let violations = violations()
        guard violations.isEmpty else { throw Violations(found: violations) }
    }

    package func hints(of work: DueWork) -> AsyncStream<Void> { signals.stream(of: work) }

    func transaction<Result: Sendable>(_ body: (inout sending Contents) throws -> sending Result) rethrows -> Result {
        try held.withLock { try body(&$0) }
    }
}

/// Violated invariants, a sentence each.
package struct Violations: Error, CustomStringConvertible {
    package let found: [String]

    package init(found: [String]) { self.found = found }

    package var description: String { found.joined(separator: "\n") }
}
