/// Selects from the batches of a push, in order, the devices with an answer of one kind.
package struct AnswerSearch {
    package struct Candidate {
        let platform: Key<Platform>
        let devices: [Key<Device>]
        let answers: [Answer]

        /// Reads the row of a batch; nil when it cannot be read, since no device's answer is known then.
        package init?(platform: Key<Platform>, devices: UnsafeRawBufferPointer, answers: UnsafeRawBufferPointer) {
            guard
                let devices = DeviceList.decode(devices),
                let answers = try? [Answer](codes: answers, count: devices.count)
            else { return nil }
            self.platform = platform
            self.devices = devices
            self.answers = answers
        }
    }

    private let kind: Answer.Kind
    private let limit: Int
    private let naming: DeviceNaming
    private var cursor: AnswerCursor?
    private var found: [DeviceAnswer] = []

    package init(kind: Answer.Kind, after: AnswerCursor?, limit: Int, naming: DeviceNaming) {
        self.kind = kind
        self.limit = limit
        self.naming = naming
        cursor = after
    }

    package var isFull: Bool { found.count == limit }

    package mutating func look(at batch: Candidate) {
        for (device, answer) in zip(batch.devices, batch.answers) {
            if let cursor, cursor.platform == batch.platform, device <= cursor.device { continue }
            guard !isFull else { return }
            cursor = AnswerCursor(platform: batch.platform, device: device)
            guard kind.includes(answer) else { continue }
            found.append(DeviceAnswer(uuid: naming.uuid(of: device), platform: batch.platform, answer: answer))
        }
    }

    /// - Parameter isEnd: whether no batches follow those that were searched.
    package func result(isEnd: Bool) -> AnswerPage { AnswerPage(answers: found, next: isEnd && !isFull ? nil : cursor) }
}

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
