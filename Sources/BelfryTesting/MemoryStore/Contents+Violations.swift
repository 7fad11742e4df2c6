import BelfryCore

extension Contents {
    /// What of docs/Architecture.md, "What must always hold", does not hold, each in a sentence.
    package var violations: [String] {
        misuses + pageViolations + pushViolations + deviceViolations
    }

    private var pageViolations: [String] {
        pages.values.sorted { $0.page.key < $1.page.key }.flatMap { row in
            var found: [String] = []
            let page = row.page
            if !zip(page.devices, page.devices.dropFirst()).allSatisfy({ $0 < $1 }) {
                found.append("page \(page.key): its devices do not ascend")
            }
            if page.answers.count != page.devices.count {
                found.append("page \(page.key): \(page.answers.count) answers for \(page.devices.count) devices")
            }
            if !row.rests.keys.allSatisfy({ page.answers[$0] == .pending }) {
                found.append("page \(page.key): somebody with an answer rests")
            }
            if (row.lease.dueAt == nil) == page.answers.contains(.pending) {
                found.append("page \(page.key): is due exactly while devices wait, but it is not so")
            }
            return found
        }
    }

    private var pushViolations: [String] {
        let pages = Dictionary(grouping: self.pages.values.map(\.page), by: \.pushKey)
        return pushes.values.sorted { $0.push.key < $1.push.key }.flatMap { row in
            violations(of: row, pages: pages[row.push.key] ?? [])
        }
    }

    private func violations(of row: PushRow, pages: [Page]) -> [String] {
        guard !row.hasLostAnswers else { return [] }
        var found: [String] = []
        let push = row.push.key
        let answers = pages.flatMap(\.answers).reduce(into: [Answer: Int]()) { $0[$1, default: 0] += 1 }
        if row.counts != answers {
            found.append("push \(push): counters \(row.counts.inWords), its answers are \(answers.inWords)")
        }
        let devices = pages.flatMap(\.devices)
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
