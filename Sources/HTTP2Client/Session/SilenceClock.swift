/// Tells when requests have waited long enough without any answer. Times in nanoseconds.
package struct SilenceClock {
    private let most: UInt64
    private var heardAt: UInt64
    private var heard = 0

    /// Never loses patience.
    package init() { self.init(most: .max, now: 0) }

    /// - Parameter most: the longest silence.
    package init(most: UInt64, now: UInt64) {
        self.most = most
        heardAt = now
    }

    /// Notes how many answers have come by now, and returns whether the last of them is too long ago.
    ///
    /// - Parameter waits: false while nothing is waited for, which is no silence.
    package mutating func isTooLong(answers: Int, waits: Bool = true, at now: UInt64) -> Bool {
        if answers != heard || !waits {
            heard = answers
            heardAt = max(heardAt, now)
        }
        return now - min(now, heardAt) >= most
    }
}
