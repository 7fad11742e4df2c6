import BelfryService
import Logging
import Synchronization

/// A provider that is posted to over shared connections, so that it has none of its own to look after.
protocol PostingProvider: DrainableProvider {
    var inFlight: InFlightDevices { get }
    /// Whether `deliver` fills placeholders by itself. For others the push is rendered for each group of devices that get the same.
    static var splices: Bool { get }

    /// Throws `InvalidInput`, or the error of the client's message, when the push cannot be rendered; nil when it has
    /// nothing for such a device.
    func deliver(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome]?
}

extension PostingProvider {
    static var splices: Bool { false }

    var room: Int { inFlight.room }

    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] {
        inFlight.take(recipients.count)
        defer { inFlight.take(-recipients.count) }
        do {
            if push.content.isTemplate, !Self.splices { return try await deliverFilled(push, to: recipients) }
            return try await deliver(push, to: recipients) ?? recipients.map { _ in .refused(.payloadEmpty) }
        } catch {
            return Outcome.refusals(of: push, recipients, error, inFlight.logger)
        }
    }

    /// Renders the push for each group of devices that get the same.
    private func deliverFilled(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome] {
        let placeholders = try push.content.placeholders()
        let empty = PersonalizedValues(PersonalizedValues.Values())
        let groups = Dictionary(grouping: recipients.indices) { place in
            placeholders.map { (recipients[place].filling ?? empty).text(of: $0) }
        }
        return await withTaskGroup(of: ([Int], [Outcome]).self) { tasks in
            for places in groups.values {
                tasks.addTask {
                    let group = places.map { recipients[$0] }
                    let filling = group.first?.filling ?? empty
                    return (places, await self.deliver(push, filledWith: filling, to: group))
                }
            }
            var outcomes = [Outcome](repeating: .refused(.other), count: recipients.count)
            for await (places, own) in tasks {
                for (place, outcome) in zip(places, own) { outcomes[place] = outcome }
            }
            return outcomes
        }
    }

    /// Delivers a push with its values filled in. The rendered push was checked at acceptance, except for the length of these values.
    private func deliver(
        _ push: Push, filledWith filling: PersonalizedValues, to recipients: [Recipient]
    ) async -> [Outcome] {
        do {
            let filled = Push(
                push.head, content: try push.content.filled(with: filling), audience: push.audience,
                platforms: push.platforms)
            return try await deliver(filled, to: recipients) ?? recipients.map { _ in .refused(.payloadEmpty) }
        } catch {
            inFlight.logger.debug(
                "push is too large for a device", metadata: ["push.key": "\(push.key)", "error": "\(error)"])
            return recipients.map { _ in .refused(.payloadTooLarge) }
        }
    }

    func retire() async {}

    func shutdown(within deadline: Duration) async {}
}

extension Outcome {
    /// The outcomes of a push that cannot be rendered. One that is too large for this platform was accepted for others.
    static func refusals(
        of push: Push, _ recipients: [Recipient], _ error: any Error, _ logger: Logger
    ) -> [Outcome] {
        let isTooLarge = (error as? InvalidInput)?.isTooLarge ?? false
        logger.log(
            level: isTooLarge ? .debug : .error, "push cannot be rendered",
            metadata: ["push.key": "\(push.key)", "error": "\(error)"])
        return recipients.map { _ in .refused(isTooLarge ? .payloadTooLarge : .other) }
    }
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
