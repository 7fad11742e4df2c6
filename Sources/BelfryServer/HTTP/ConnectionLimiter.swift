import BelfryService
import Metrics
import Synchronization

/// Counts the connections of a listener, in total and by address, and refuses those beyond the limits.
final class ConnectionLimiter: Sendable {
    struct Limits: Sendable {
        let total: Int
        let perAddress: Int
        /// Whether an address is a trusted proxy; only the total limits it.
        let isProxy: @Sendable (NetworkAddress) -> Bool
    }

    enum Reason: String, CaseIterable, Sendable { case total, address, files }

    private let limits: Limits
    /// The share of all listeners together; nil for one that has descriptors of its own.
    private let shared: SharedConnections?
    private let counts = Mutex(Counts())
    private let open: Meter
    private let refusals: [Reason: Counter]

    private struct Counts {
        var total = 0
        var byAddress: [NetworkAddress: Int] = [:]
    }

    init(listener: String, limits: Limits, shared: SharedConnections?) {
        self.limits = limits
        self.shared = shared
        open = Metric.connections(listener)
        refusals = Dictionary(
            uniqueKeysWithValues: Reason.allCases.map { ($0, Metric.refusals(listener, $0.rawValue)) })
    }

    /// nil when the connection is admitted; then `left` must be called when it is closed.
    ///
    /// - Parameter address: nil for a connection without an IP address; only the total limits that.
    func enter(_ address: NetworkAddress?) -> Reason? {
        let site = address.flatMap { limits.isProxy($0) ? nil : $0.site }
        let reason = counts.withLock { counts -> Reason? in
            if counts.total >= limits.total { return .total }
            if let site, counts.byAddress[site, default: 0] >= limits.perAddress { return .address }
            if let shared, !shared.enter() { return .files }
            counts.total += 1
            if let site { counts.byAddress[site, default: 0] += 1 }
            open.set(counts.total)
            return nil
        }
        if let reason { refusals[reason]?.increment() }
        return reason
    }

    func left(_ address: NetworkAddress?) {
        let site = address.flatMap { limits.isProxy($0) ? nil : $0.site }
        counts.withLock { counts in
            counts.total -= 1
            shared?.left()
            open.set(counts.total)
            guard let site, let count = counts.byAddress[site] else { return }
            counts.byAddress[site] = count > 1 ? count - 1 : nil
        }
    }
}
