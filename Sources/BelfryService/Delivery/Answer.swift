/// The result for one device of a push, stored as one byte. Bytes above 127 mean pending with a retry time; see
/// `RetryTimes`.
package enum Answer: Sendable, Hashable {
    /// None yet.
    case pending
    case accepted
    /// The token was dead.
    case gone
    /// The push, or the time in which it is tried, ended before a provider accepted it.
    case expired
    /// Sent at most once, and no answer came.
    case unknown
    case skipped(Skip)
    case refused(Refusal)

    package init?(code: UInt8) {
        switch code {
        case 0: self = .pending
        case 1: self = .accepted
        case 2: self = .gone
        case 3: self = .expired
        case 4: self = .unknown
        default:
            if let skip = Skip(rawValue: code) {
                self = .skipped(skip)
            } else if let refusal = Refusal(rawValue: code) {
                self = .refused(refusal)
            } else {
                return nil
            }
        }
    }

    package var code: UInt8 {
        switch self {
        case .pending: 0
        case .accepted: 1
        case .gone: 2
        case .expired: 3
        case .unknown: 4
        case .skipped(let skip): skip.rawValue
        case .refused(let refusal): refusal.rawValue
        }
    }

    /// The word that receipts use, with the reason after a colon.
    package var name: String {
        switch self {
        case .pending: "pending"
        case .accepted: "accepted"
        case .gone: "gone"
        case .expired: "expired"
        case .unknown: "unknown"
        case .skipped(let skip): "skipped: \(skip)"
        case .refused(let refusal): "refused: \(refusal)"
        }
    }
}

extension Answer {
    /// The answers without their reasons, to search for devices with one sort of answer.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case pending, accepted, gone, expired, unknown, skipped, refused
        /// Every final answer but `accepted`.
        case failed
        /// Every answer.
        case all

        package func includes(_ answer: Answer) -> Bool {
            switch (self, answer) {
            case (.pending, .pending), (.accepted, .accepted), (.gone, .gone), (.expired, .expired): true
            case (.unknown, .unknown), (.skipped, .skipped), (.refused, .refused): true
            case (.all, _): true
            case (.failed, _): answer != .pending && answer != .accepted
            default: false
            }
        }
    }
}

/// The number of devices with each answer, counted from the bytes of batch rows.
package struct AnswerTally: Sendable {
    private var devicesByCode = [Int](repeating: 0, count: 256)

    package init() {}

    package mutating func add(_ codes: UnsafeRawBufferPointer) {
        for code in codes { devicesByCode[Int(code)] += 1 }
    }

    package var devices: Int { devicesByCode.reduce(0, +) }

    /// Throws when a byte has no meaning.
    package func counts() throws -> [Answer: Int] {
        for (code, count) in devicesByCode.enumerated() where count > 0 && Answer(byte: UInt8(code)) == nil {
            throw StoreError.unavailable("answer \(code) has no meaning")
        }
        return readable
    }

    /// Without pending devices, and without bytes that have no meaning.
    package var final: [Answer: Int] { readable.filter { $0.key != .pending } }

    private var readable: [Answer: Int] {
        var counts: [Answer: Int] = [:]
        for (code, count) in devicesByCode.enumerated() where count > 0 {
            if let answer = Answer(byte: UInt8(code)) { counts[answer, default: 0] += count }
        }
        return counts
    }
}
