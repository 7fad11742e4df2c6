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

        /// nil when the batch does not hold the device.
        func answer(of device: Key<Device>) -> Answer? { devices.firstIndex(of: device).map { answers[$0] } }
    }

    private let kind: Answer.Kind
    private let only: Answer?
    private let limit: Int
    private let naming: DeviceNaming
    private var cursor: AnswerCursor?
    private var found: [DeviceAnswer] = []

    /// - Parameter only: the only answer that counts; nil for all of the kind.
    package init(
        kind: Answer.Kind, only: Answer? = nil, after: AnswerCursor?, limit: Int, naming: DeviceNaming
    ) {
        self.kind = kind
        self.only = only
        self.limit = limit
        self.naming = naming
        cursor = after
    }

    package var isFull: Bool { found.count == limit }

    /// - Parameters:
    ///   - batch: nil where it cannot be read, and is passed over.
    ///   - end: its last device.
    package mutating func look(at batch: Candidate?, until end: AnswerCursor) {
        guard let batch else {
            cursor = end
            return
        }
        for (device, answer) in zip(batch.devices, batch.answers) {
            if let cursor, cursor.platform == batch.platform, device <= cursor.device { continue }
            guard !isFull else { return }
            cursor = AnswerCursor(platform: batch.platform, device: device)
            guard kind.includes(answer), only == nil || answer == only else { continue }
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
    }

    package init(_ batches: [Batch]) {
        self.batches = batches.sorted { $0.closedAt < $1.closedAt }
        devices = batches.reduce(0) { $0 + $1.devices }
    }

    /// The number of devices that were answered since a time.
    func answered(since start: Instant) -> Int { batches.reduce(0) { $0 + ($1.closedAt >= start ? $1.devices : 0) } }

    /// The numbers of devices that were answered in equal parts of the time since a start, at most so many of them; empty where no batch is
    /// closed.
    func parts(since start: Instant, atMost countMax: Int) -> (width: Duration, devices: [Int]) {
        guard let end = batches.last?.closedAt else { return (.zero, []) }
        let milliseconds = max(1_000, (end - start).milliseconds + 1)
        let seconds = [1, 5, 15, 60, 300, 900, 3_600, 21_600, 86_400] as [Int64]
        let width =
            1_000
            * (seconds.first { $0 * 1_000 * Int64(countMax) >= milliseconds } ?? milliseconds / 1_000 / Int64(countMax)
                + 1)
        var devices = [Int](repeating: 0, count: min(countMax, Int((milliseconds + width - 1) / width)))
        for batch in batches {
            let place = Int(max(0, (batch.closedAt - start).milliseconds) / width)
            devices[min(place, devices.count - 1)] += batch.devices
        }
        return (.milliseconds(width), devices)
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
