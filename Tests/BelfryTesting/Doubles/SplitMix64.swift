/// A small random number generator whose sequence is determined by its seed.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014; `SplitMix64Tests`.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// A generator whose sequence is determined by all of these seeds, in their order.
    package init(seeds: UInt64...) {
        self.init(seed: 0)
        for seed in seeds { state = next() ^ seed }
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A fraction in 0..<1.
    package mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }

    package mutating func chance(_ share: Double) -> Bool { fraction() < share }

    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    package mutating func draw(_ range: ClosedRange<Int>) -> Int { range.lowerBound + below(range.count) }

    package mutating func pick<Item>(_ items: [Item]) -> Item { items[below(items.count)] }

    package mutating func duration(_ seconds: ClosedRange<Double>) -> Duration {
        .milliseconds(Int64((seconds.lowerBound + fraction() * (seconds.upperBound - seconds.lowerBound)) * 1_000))
    }
}
