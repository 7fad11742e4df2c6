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
