/// What a simulator does besides answering properly. The same type in process and on the control port.
package struct APNsScript: Sendable, Codable, Equatable {
    /// Tried in order for each request; see ``APNsFault``.
    package var faults: [APNsFault]
    /// The answer for single tokens, by hex.
    package var verdicts: [String: APNsVerdict]
    /// How long each answer takes.
    package var latencyMilliseconds: Int

    package init(
        faults: [APNsFault] = [], verdicts: [String: APNsVerdict] = [:], latencyMilliseconds: Int = 0
    ) {
        self.faults = faults
        self.verdicts = verdicts
        self.latencyMilliseconds = latencyMilliseconds
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        faults = try container.decodeIfPresent([APNsFault].self, forKey: .faults) ?? []
        verdicts = try container.decodeIfPresent([String: APNsVerdict].self, forKey: .verdicts) ?? [:]
        latencyMilliseconds = try container.decodeIfPresent(Int.self, forKey: .latencyMilliseconds) ?? 0
    }

    /// What makes a script unfit, as the path of the field and what was found.
    func complaint() -> (field: String, message: String)? {
        for token in verdicts.keys where Hex.decode(token) == nil {
            return ("verdicts.\(token)", "is not a token in hex")
        }
        if latencyMilliseconds < 0 { return ("latencyMilliseconds", "is negative") }
        for (index, fault) in faults.enumerated() {
            if let (field, message) = fault.complaint() { return ("faults.\(index).\(field)", message) }
        }
        return nil
    }
}

extension APNsFault {
    func complaint() -> (field: String, message: String)? {
        if let token = when.token, Hex.decode(token) == nil { return ("when.token", "is not hex") }
        if let prefix = when.tokenPrefix, Hex.decode(prefix) == nil {
            return ("when.tokenPrefix", "is not an even number of hex digits")
        }
        if let share = when.share, !(0...1).contains(share) { return ("when.share", "is not between 0 and 1") }
        if let every = when.every, every < 1 { return ("when.every", "is less than 1") }
        switch then {
        case .answer(let status, _, _, _) where !(200...599).contains(status):
            return ("then.answer.status", "is not between 200 and 599")
        case .delay(let milliseconds) where milliseconds < 0: return ("then.delay.milliseconds", "is negative")
        case .loseAnswers(let count) where count < 1: return ("then.loseAnswers.count", "is less than 1")
        default: return nil
        }
    }
}
