import Foundation

/// The machine on which the figures were taken.
enum Machine {
    static var description: String {
        let model = value(of: "model name", in: "/proc/cpuinfo") ?? "unknown CPU"
        let kernel = contents("/proc/sys/kernel/osrelease")
        let memory = value(of: "MemTotal", in: "/proc/meminfo")?.split(separator: " ").first.flatMap { Int($0) }
        let load = contents("/proc/loadavg").split(separator: " ").prefix(2).joined(separator: " ")
        return """
            \(model), \(ProcessInfo.processInfo.activeProcessorCount) cores, \((memory ?? 0) / 1_048_576) GiB, \
            Linux \(kernel), load before the run \(load)
            """
    }

    private static func contents(_ path: String) -> String {
        ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func value(of key: String, in path: String) -> String? {
        let line = contents(path).split(separator: "\n").first { $0.hasPrefix(key) }
        return line?.split(separator: ":", maxSplits: 1).last?.trimmingCharacters(in: .whitespaces)
    }
}
