import Allocations
import Glibc

/// Holds every target to a cost that is linear in what came: CPU, the most memory at a time, and memory that stays.
///
/// An input that takes more is looked at again, since other processes and first uses cost too: what is too much each time is
/// a crasher. Bounds are for the fuzzer's own build, which is not optimised and reports its coverage, on a machine that may be slow and
/// busy. They lie well above what the kept corpora take (7 µs, 423 bytes and 16 bytes for each byte, and 146 µs on a connection that
/// hears and answers byte by byte), and far below the attacks that they are for: 3,900 bytes of nested brackets took 7.3 s, 1.9 ms
/// for each byte.
struct CostJudge {
    /// An input is judged by this at least, however short: 30 ms of CPU, 1 MiB at a time, 64 KiB for good.
    private static let lengthMin = 1_024
    /// CPU of all threads together: a target may work on others than that of the fuzzer.
    static let nanosecondsPerByte = 30_000
    /// Bytes that are in use at a time, beside those in use before.
    private static let peakPerByte = 1_024
    /// Bytes that are still in use when the input is done. What is cached once, such as a table of Unicode, is not
    /// kept each time.
    private static let keptPerByte = 64
    /// How often an input that is too dear is looked at.
    private static let looks = 5

    private let target: @Sendable ([UInt8]) -> Void
    /// Called before each look, and not measured.
    private let prepare: @Sendable () -> Void
    private let nanosecondsPerByte: Int
    /// Bytes that may be kept beside those for the length. Each look at a write meets a fresh database, which prepares statements, opens
    /// connections and works on after the answer: 70 to 115 KB, and on busy cores 135 KB beyond the length in each of five looks.
    private let keptByDatabase: Int

    init(
        nanosecondsPerByte: Int = Self.nanosecondsPerByte, keptByDatabase: Int = 0,
        prepare: @escaping @Sendable () -> Void = {},
        _ target: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.target = target
        self.prepare = prepare
        self.nanosecondsPerByte = nanosecondsPerByte
        self.keptByDatabase = keptByDatabase
    }

    func judge(_ bytes: [UInt8]) {
        let length = max(bytes.count, Self.lengthMin)
        var least = measure(bytes)
        var look = 1
        while !isLinear(least, in: length), look < Self.looks {
            least = least.least(measure(bytes))
            look += 1
        }
        precondition(isLinear(least, in: length), "\(bytes.count) bytes cost \(least)")
    }

    private func measure(_ bytes: [UInt8]) -> Cost {
        prepare()
        let before = allocationsBegin()
        let start = Self.cpu()
        target(bytes)
        return Cost(
            nanoseconds: Self.cpu() - start, peak: allocationsPeak() - before, kept: allocationsNow() - before)
    }

    private static func cpu() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    private func isLinear(_ cost: Cost, in length: Int) -> Bool {
        cost.nanoseconds <= length * nanosecondsPerByte && cost.peak <= length * Self.peakPerByte
            && cost.kept <= length * Self.keptPerByte + keptByDatabase
    }

    private struct Cost: CustomStringConvertible {
        let nanoseconds: Int
        let peak: Int
        let kept: Int

        func least(_ other: Cost) -> Cost {
            Cost(
                nanoseconds: min(nanoseconds, other.nanoseconds), peak: min(peak, other.peak),
                kept: min(kept, other.kept))
        }

        var description: String { "\(nanoseconds / 1_000) µs of CPU, \(peak) bytes at a time, \(kept) bytes for good" }
    }
}
