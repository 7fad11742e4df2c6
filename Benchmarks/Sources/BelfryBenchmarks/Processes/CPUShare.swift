import Foundation

/// A control group whose processes together get a share of one core, and no more. Source: the kernel's
/// `cgroup-v1/cpusets` and `scheduler/sched-bwc`, and `cgroup-v2`, "CPU".
struct CPUShare: Sendable {
    private let group: String
    let cores: Double

    /// The length of the periods in which the share is given, in microseconds; short, so that a wait for the next is.
    private static let period = 20_000
    private static let root = "/sys/fs/cgroup"

    /// - Returns: nil where no group with a share can be made.
    static func make(_ name: String, cores: Double) -> CPUShare? {
        let quota = Int(Double(period) * cores)
        for parent in ["\(root)/cpu", "\(root)/cpu,cpuacct"] where exists("\(parent)/cpu.shares") {
            let share = CPUShare(group: "\(parent)/belfry-bench-\(getpid())-\(name)", cores: cores)
            if share.make([("cpu.cfs_period_us", "\(period)"), ("cpu.cfs_quota_us", "\(quota)")]) { return share }
        }
        guard exists("\(root)/cgroup.controllers") else { return nil }
        try? write("+cpu", to: "\(root)/cgroup.subtree_control")
        let share = CPUShare(group: "\(root)/belfry-bench-\(getpid())-\(name)", cores: cores)
        return share.make([("cpu.max", "\(quota) \(period)")]) ? share : nil
    }

    private func make(_ settings: [(String, String)]) -> Bool {
        guard mkdir(group, 0o755) == 0 else { return false }
        do {
            for (file, value) in settings { try Self.write(value, to: "\(group)/\(file)") }
            return true
        } catch {
            rmdir(group)
            return false
        }
    }

    /// Takes a process with its threads in, and all processes that it has started.
    func take(_ pid: pid_t) throws {
        try Self.write("\(pid)", to: "\(group)/cgroup.procs")
        for child in Self.children(of: pid) { try take(child) }
    }

    /// User and system time of the processes that are in it.
    var cpuMilliseconds: Double { pids.reduce(0) { $0 + ProcessMeter(pid: $1).cpuMilliseconds } }

    /// Lets its processes go, and deletes it.
    func remove() {
        let parent = (group as NSString).deletingLastPathComponent
        for pid in pids { try? Self.write("\(pid)", to: "\(parent)/cgroup.procs") }
        rmdir(group)
    }

    private var pids: [pid_t] {
        ((try? String(contentsOfFile: "\(group)/cgroup.procs", encoding: .utf8)) ?? "").split(separator: "\n")
            .compactMap { pid_t($0) }
    }

    private static func children(of pid: pid_t) -> [pid_t] {
        let file = "/proc/\(pid)/task/\(pid)/children"
        return ((try? String(contentsOfFile: file, encoding: .utf8)) ?? "").split(separator: " ").compactMap {
            pid_t($0)
        }
    }

    private static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// Files of a control group are written at once and in place.
    private static func write(_ text: String, to path: String) throws {
        guard let file = FileHandle(forWritingAtPath: path) else { throw BenchmarkFault("\(path) cannot be written") }
        defer { try? file.close() }
        try file.write(contentsOf: Data(text.utf8))
    }
}
