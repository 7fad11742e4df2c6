import Foundation
import Glibc

/// A process's use of the machine.
extension BelfryProcess {
    /// CPU that it has used, all threads together, those that ended included.
    var cpu: Duration {
        get throws {
            var clock = clockid_t()
            var time = timespec()
            guard clock_getcpuclockid(id, &clock) == 0, clock_gettime(clock, &time) == 0 else {
                throw Failure(description: "the server has ended: \(logged.suffix(2_000))")
            }
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
    }

    /// Bytes in memory now.
    var residentBytes: Int { get throws { try status("VmRSS:") } }

    /// The most bytes that were in memory while `body` worked, less those that were there before.
    func bytesGained(by body: () throws -> Void) throws -> Int {
        let before = try residentBytes
        // Source: proc(5), "clear_refs": 5 sets the peak to what is resident now.
        try "5".write(toFile: "/proc/\(id)/clear_refs", atomically: false, encoding: .utf8)
        try body()
        return max(0, try status("VmHWM:") - before)
    }

    /// CPU that `body` has it use.
    func cpu(of body: () throws -> Void) throws -> Duration {
        let before = try cpu
        try body()
        return try cpu - before
    }

    /// Waits until it does no more work: within a second it uses less than a twentieth of a core. In a shorter time a busy
    /// machine may not have let it run at all.
    func waitUntilIdle() throws {
        let clock = ContinuousClock()
        var last = (cpu: try cpu, at: clock.now)
        _ = try waitUntil("the server is idle", seconds: 180) {
            usleep(1_000_000)
            let now = (cpu: try cpu, at: clock.now)
            defer { last = now }
            return now.cpu - last.cpu < (now.at - last.at) / 20 ? true : nil
        }
    }

    private func status(_ name: String) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
        let kibibytes = line.flatMap { $0.split(whereSeparator: \.isWhitespace).dropFirst().first }.flatMap { Int($0) }
        guard let kibibytes else { throw Failure(description: "/proc/\(id)/status has no \(name)") }
        return kibibytes * 1_024
    }
}
