import BelfryService

extension Contents {
    /// The violated invariants of docs/Architecture.md, "What must always hold", a sentence each.
    package var violations: [String] {
        misuses + batchViolations + pushViolations + deviceViolations
    }

    private var batchViolations: [String] {
        batches.values.sorted { $0.batch.key < $1.batch.key }.flatMap { row in
            var found: [String] = []
            let batch = row.batch
            if !zip(batch.devices, batch.devices.dropFirst()).allSatisfy({ $0 < $1 }) {
                found.append("batch \(batch.key): its devices do not ascend")
            }
            if batch.answers.count != batch.devices.count {
                found.append("batch \(batch.key): \(batch.answers.count) answers for \(batch.devices.count) devices")
            }
            if !row.retryTimes.keys.allSatisfy({ batch.answers[$0] == .pending }) {
                found.append("batch \(batch.key): a device with an answer waits")
            }
            if (row.lease.dueAt == nil) == batch.answers.contains(.pending) {
                found.append("batch \(batch.key): is due exactly while devices wait, but it is not so")
            }
            return found
        }
    }

    private var pushViolations: [String] {
        let batches = Dictionary(grouping: self.batches.values.map(\.batch), by: \.pushKey)
        return pushes.values.sorted { $0.push.key < $1.push.key }.flatMap { row in
            violations(of: row, batches: batches[row.push.key] ?? [])
        }
    }

    private func violations(of row: PushRow, batches: [Batch]) -> [String] {
        guard !row.hasLostAnswers else { return [] }
        var found: [String] = []
        let push = row.push.key
        let answers = batches.flatMap(\.answers).reduce(into: [Answer: Int]()) { $0[$1, default: 0] += 1 }
        if row.counts != answers {
            found.append("push \(push): counters \(row.counts.inWords), its answers are \(answers.inWords)")
        }
        let devices = batches.flatMap(\.devices)
        if Set(devices).count != devices.count {
            let twice = Dictionary(grouping: devices) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
            found.append("push \(push): devices \(twice.prefix(5)) stand in two places")
        }
        let isOpen = isSpreading(push) || answers[.pending] != nil
        if row.settledAt != nil, isOpen { found.append("push \(push): is settled, and devices wait") }
        if row.settledAt == nil, !isOpen { found.append("push \(push): no device waits, and it is not settled") }
        if (row.firstAnswerAt == nil) != answers.keys.allSatisfy({ $0 == .pending }) {
            found.append("push \(push): the time of its first answer is \(String(describing: row.firstAnswerAt))")
        }
        return found
    }

    private var deviceViolations: [String] {
        devices.keys.sorted().compactMap { devices[$0] }.flatMap { device in
            var found: [String] = []
            if device.isActive, device.token == nil { found.append("device \(device.key): is active without a token") }
            if let token = device.token,
                holders[Address(platform: device.platformKey, token: token)] != device.key
            {
                found.append("device \(device.key): another device has its token")
            }
            return found
        }
    }
}

extension [Answer: Int] {
    fileprivate var inWords: String {
        sorted { $0.key.code < $1.key.code }.map { "\($0.key.name) \($0.value)" }.joined(separator: ", ")
    }
}
