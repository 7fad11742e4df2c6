/// The times at which the devices of a push were answered, by its batches: a device counts once its whole batch is answered.
package struct AnswerTimes: Sendable, Hashable {
    /// The closed batches, in the order in which they closed.
    private let batches: [Batch]
    private let devices: Int

    package struct Batch: Sendable, Hashable {
        package let closedAt: Instant
        package let devices: Int

        package init(closedAt: Instant, devices: Int) {
            self.closedAt = closedAt
            self.devices = devices
        }
    }

    package init(_ batches: [Batch]) {
        self.batches = batches.sorted { $0.closedAt < $1.closedAt }
        devices = batches.reduce(0) { $0 + $1.devices }
    }

    /// The time at which this share of the devices was answered; nil where no batch is closed.
    package func time(ofShare share: Double) -> Instant? {
        let wanted = Int((Double(devices) * share).rounded(.up))
        var answered = 0
        for batch in batches {
            answered += batch.devices
            if answered >= wanted { return batch.closedAt }
        }
        return nil
    }
}
