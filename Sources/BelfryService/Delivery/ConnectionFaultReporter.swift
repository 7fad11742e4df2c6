import Logging
import Synchronization

/// Reports providers that cannot be connected to: in a metric, in a line of the log, and in the store, where the
/// receipts of waiting pushes find it.
final class ConnectionFaultReporter: Sendable {
    private struct LastReported {
        var fault: ConnectionFault
        var loggedAt: Instant
        var notedAt: Instant
    }

    private let store: any DeliveryStore
    private let clock: any WallClock
    private let logger: Logger
    private let told = Mutex<[Key<Platform>: LastReported]>([:])
    private let addressesLoggedAt = Mutex<[Key<Platform>: Instant]>([:])

    /// A platform gets one line in the log in this time.
    static let logPause = Duration.seconds(60)
    /// A platform's fault is written to the store once in this time, unless it changes.
    static let notePause = Duration.seconds(1)

    init(store: any DeliveryStore, clock: any WallClock, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    /// - Parameter outcomes: the outcomes of each settled batch of a burst.
    func report(_ outcomes: [[Outcome]], of platform: Platform) async throws {
        var faults: [ConnectionFault] = []
        var refusedAddresses = 0
        for outcomes in outcomes {
            for outcome in outcomes {
                if let fault = outcome.connectionFault {
                    faults.append(fault)
                } else if case .refused(.addressNotAllowed, _) = outcome {
                    refusedAddresses += 1
                }
            }
        }
        reportAddresses(refusedAddresses, of: platform)
        guard let fault = faults.first else { return }
        for fault in faults { DeliveryMetric.unreachable(platform.kind, fault.kind) }
        let (isLogged, isNoted) = isNew(fault, of: platform.key)
        if isLogged {
            logger.warning(
                "a provider cannot be reached, its devices wait",
                metadata: [
                    "platform.uuid": "\(platform.uuid.lowercased)", "platform.type": "\(platform.kind.rawValue)",
                    "fault": "\(fault.kind.rawValue)", "detail": "\(fault.detail)",
                ])
        }
        guard isNoted else { return }
        do {
            try await store.note(fault, on: platform.key)
        } catch let error as StoreError {
            // The next attempt notes it again.
            logger.debug("a connection fault was not noted", metadata: ["error": "\(error)"])
        }
    }

    /// A device that names an internal address is refused for good: only an operator can tell whether it may be posted to.
    private func reportAddresses(_ refused: Int, of platform: Platform) {
        guard refused > 0 else { return }
        let now = clock.now
        let isLogged = addressesLoggedAt.withLock { loggedAt in
            if let last = loggedAt[platform.key], now < last + Self.logPause { return false }
            loggedAt[platform.key] = now
            return true
        }
        guard isLogged else { return }
        logger.warning(
            "devices name a push service at an address that is not public; providers.addresses.allow lets it be posted to",
            metadata: ["platform.uuid": "\(platform.uuid.lowercased)", "devices": "\(refused)"])
    }

    private func isNew(_ fault: ConnectionFault, of platform: Key<Platform>) -> (forLog: Bool, forStore: Bool) {
        let now = clock.now
        return told.withLock { told in
            guard var last = told[platform] else {
                told[platform] = LastReported(fault: fault, loggedAt: now, notedAt: now)
                return (true, true)
            }
            let isLogged = now >= last.loggedAt + Self.logPause
            let isNoted = fault != last.fault || now >= last.notedAt + Self.notePause
            if isLogged { last.loggedAt = now }
            if isNoted { (last.fault, last.notedAt) = (fault, now) }
            told[platform] = last
            return (isLogged, isNoted)
        }
    }
}
