/// How long to wait after a failed connect: doubling from the first to the longest wait, each shortened by chance.
struct BackOff {
    let first: Duration
    let longest: Duration
    private(set) var failures = 0
    private(set) var nextAt = Duration.zero

    init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    /// - Parameter chance: in 0..<1; the wait is between half and all of its nominal length, so that many clients that
    ///   failed together do not return together.
    mutating func failed(at now: Duration, chance: Double) {
        let nominal = min(longest, first * (1 << min(failures, 30)))
        failures += 1
        nextAt = now + nominal * (0.5 + chance / 2)
    }

    mutating func succeeded() {
        failures = 0
        nextAt = .zero
    }

    func allows(at now: Duration) -> Bool { now >= nextAt }
}
