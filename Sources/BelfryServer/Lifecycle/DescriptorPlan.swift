import BelfryProviders
import Foundation
import Synchronization

/// The file descriptors that the system lets this process have, and who may take how many.
///
/// Callers and providers get the rest beside a reserve, so that any number of callers leaves health, the database and the log working.
package struct DescriptorPlan: Sendable, Hashable {
    /// The number of descriptors that the process may have.
    package let limit: Int
    /// Connections of callers on all listeners together, but for the management port.
    package let callersMax: Int
    /// Connections to providers, as `providers.connections.max`.
    package let providersMax: Int
    /// Descriptors that are kept for everything else.
    package let reserve: Int
    /// The value of `http.connections.max`.
    private let wanted: Int

    /// Three for each event loop, of which each processor has three: for listeners, for providers and for broadcasts.
    private static let loopReserve = 9 * ProcessInfo.processInfo.activeProcessorCount
    /// Event loops, listeners, the key ring, look-ups of names, connections that are being refused.
    private static let baseReserve = 64 + loopReserve
    static let managementMax = 32
    /// The file of SQLite with its log and index, for each reader.
    private static let sqliteReserve = 24
    /// The fewest connections that are worth serving.
    private static let connectionsMin = 32
    /// More is never raised to: each would cost the kernel memory where it is used, and none is.
    package static let limitMax = 1 << 20

    /// - Parameters:
    ///   - limit: as `raiseLimit` returns it.
    ///   - connections: of the database; nil on SQLite.
    init(limit: Int, wanted: Int, providers: Int, connections: Int?) {
        self.limit = limit
        self.wanted = wanted
        reserve = Self.baseReserve + Self.managementMax + (connections.map { $0 + 4 } ?? Self.sqliteReserve)
        let free = max(0, limit - reserve)
        providersMax = max(16, min(providers, free / 2))
        callersMax = max(1, free - providersMax)
    }

    package init(_ configuration: ServerConfiguration) {
        let storage = configuration.storage
        self.init(
            limit: Self.raiseLimit(), wanted: configuration.connections.totalMax,
            providers: configuration.providers.posting.connectionsMax,
            connections: storage.databaseURL == nil ? nil : storage.connectionsMax)
    }

    /// Raises the soft limit to the hard one, and returns it. Source: getrlimit(2).
    @discardableResult package static func raiseLimit() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limits = rlimit()
        guard getrlimit(resource, &limits) == 0 else { return limitMax }
        let wanted = min(limits.rlim_max, rlim_t(limitMax))
        if limits.rlim_cur < wanted {
            let before = limits.rlim_cur
            limits.rlim_cur = wanted
            if setrlimit(resource, &limits) != 0 { limits.rlim_cur = before }
        }
        return Int(min(limits.rlim_cur, rlim_t(Int32.max)))
    }

    /// Why no command can run with this limit; nil when one can.
    package static func fault(ofCommandWith limit: Int) -> String? {
        let least = 32 + loopReserve
        return limit < least ? shortage(limit, "a command", least) : nil
    }

    private static func shortage(_ limit: Int, _ what: String, _ least: Int) -> String {
        "this process may have \(limit) files open (EMFILE), and \(what) needs \(least) at least: raise the hard limit (LimitNOFILE of systemd, "
            + "ulimit -Hn, --ulimit nofile of Docker)"
    }

    /// Why no server can run; nil when one can.
    package var fault: String? {
        let least = reserve + Self.connectionsMin
        return limit < least ? Self.shortage(limit, "a server", least) : nil
    }

    /// Tells that `http.connections.max` does not fit; nil where it does.
    package var notice: String? {
        guard fault == nil, callersMax < wanted else { return nil }
        return
            "http.connections.max is \(wanted), and of the \(limit) files that this process may have open \(callersMax) are left for "
            + "connections of callers and \(providersMax) for those to providers: raise the hard limit (LimitNOFILE of systemd, ulimit -Hn, "
            + "--ulimit nofile of Docker)"
    }

    /// The configuration with what fits.
    func bounding(_ configuration: ServerConfiguration) -> ServerConfiguration {
        var configuration = configuration
        configuration.providers.posting.connectionsMax = min(
            configuration.providers.posting.connectionsMax, providersMax)
        return configuration
    }
}

/// The connections of all listeners that share what descriptors there are.
final class SharedConnections: Sendable {
    private let limit: Int
    private let count = Atomic(0)

    init(limit: Int) { self.limit = limit }

    /// Whether one more may be held; then `left` must be called.
    func enter() -> Bool {
        if count.add(1, ordering: .relaxed).newValue <= limit { return true }
        left()
        return false
    }

    func left() { count.subtract(1, ordering: .relaxed) }
}
