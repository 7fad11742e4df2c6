import BelfryCore
import Logging
import Synchronization

/// A provider that is posted to over shared connections, so that it has none of its own to look after.
protocol PostingProvider: DrainableProvider {
    var inFlight: InFlightDevices { get }

    /// Throws `InvalidInput`, or the error of the client's message, when the push cannot be rendered; nil when it has
    /// nothing for such a device.
    func deliver(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome]?
}

extension PostingProvider {
    var room: Int { inFlight.room }

    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] {
        inFlight.take(recipients.count)
        defer { inFlight.take(-recipients.count) }
        do {
            return try await deliver(push, to: recipients) ?? recipients.map { _ in .refused(.payloadEmpty) }
        } catch {
            inFlight.logger.error(
                "push cannot be rendered", metadata: ["push.key": "\(push.key)", "error": "\(error)"])
            return recipients.map { _ in .refused(.other) }
        }
    }

    func retire() async {}

    func shutdown(within deadline: Duration) async {}
}

/// The number of devices that a provider is sending to.
final class InFlightDevices: Sendable {
    let logger: Logger
    private let devicesMax: Int
    private let busy = Mutex(0)

    /// - Parameter devicesMax: a few batches: more wait in the database, where an urgent one overtakes them.
    init(devicesMax: Int = 4 * Batch.devicesMax, logger: Logger) {
        self.devicesMax = devicesMax
        self.logger = logger
    }

    var room: Int { max(devicesMax - busy.withLock { $0 }, 0) }

    func take(_ count: Int) { busy.withLock { $0 += count } }
}
