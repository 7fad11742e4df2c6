import Foundation

/// Figures of a running process from the system. Source: proc(5).
struct ProcessMeter: Sendable {
    let pid: pid_t

    /// User and system time of all threads since the start.
    var cpuMilliseconds: Double {
        let stat = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
        // The name of the program is in brackets and may hold spaces; utime and stime are the 12th and 13th behind it.
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) * 1_000 / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The most memory that was resident since the last reset.
    var peakMiB: Double { mebibytes("VmHWM:") }

    /// The memory that is resident now.
    var residentMiB: Double { mebibytes("VmRSS:") }

    /// The bytes that were given to the disk since the start.
    var writtenBytes: Double { number("write_bytes:", in: "io") }

    /// The memory that is resident now, of shared pages its share alone.
    var proportionalKiB: Double { number("Pss:", in: "smaps_rollup") }

    var openFiles: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count) ?? 0 }

    private func mebibytes(_ name: String) -> Double { number(name, in: "status") / 1_024 }

    private func number(_ name: String, in file: String) -> Double {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/\(file)", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split { $0 == " " || $0 == "\t" }.dropFirst().first.flatMap { Double($0) } ?? 0
    }

    func resetPeak() throws {
        try "5".write(toFile: "/proc/\(pid)/clear_refs", atomically: false, encoding: .utf8)
    }
}
