import BelfryService
import Logging
import Synchronization
import Tunnel

/// Logs proxy failures, at a limited rate.
///
/// Such a failure is the operator's, not a platform's: no platform is parked because of it, and work is retried with a
/// growing wait.
final class ProxyFaultReporter: Sendable {
    private struct Troubles {
        var last: (error: TunnelError, at: Instant)?
        /// When each kind was last logged.
        var toldAt: [TunnelError.Code: Instant] = [:]
    }

    private let clock: any WallClock
    private let logger: Logger
    private let troubles = Mutex<[Proxy: Troubles]>([:])

    /// The time in which one failure of a proxy is logged only once.
    static let pause = Duration.seconds(60)

    init(clock: any WallClock, logger: Logger) {
        self.clock = clock
        self.logger = logger
    }

    func tunnel(through proxy: Proxy, lookUp: HostLookup? = nil) -> Tunnel {
        Tunnel(through: proxy, lookUp: lookUp) { [self] in note($0, proxy) }
    }

    /// The last failure of a proxy, if it had any since then.
    func trouble(with proxy: Proxy, since: Instant) -> TunnelError? {
        troubles.withLock { $0[proxy]?.last.flatMap { $0.at >= since ? $0.error : nil } }
    }

    private func note(_ error: TunnelError, _ proxy: Proxy) {
        let now = clock.now
        let isNew = troubles.withLock { troubles in
            let toldAt = troubles[proxy]?.toldAt[error.code]
            let isNew = toldAt.map { now >= $0 + Self.pause } ?? true
            troubles[proxy, default: Troubles()].last = (error, now)
            if isNew { troubles[proxy]?.toldAt[error.code] = now }
            return isNew
        }
        guard isNew else { return }
        // A wrong password does not correct itself.
        logger.log(
            level: error.code == .credentials ? .error : .warning, "a proxy lets nothing through",
            metadata: ["proxy": "\(proxy)", "reason": "\(error.reason)"])
    }
}
