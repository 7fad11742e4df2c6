import Foundation

/// The system's figures about this process, under the names that Prometheus clients share.
/// Source: Prometheus, "Writing client libraries", standard and process metrics; proc(5).
enum ProcessMetrics {
    static func text() -> String {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime)
        let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        return """
            # TYPE process_cpu_seconds_total counter
            process_cpu_seconds_total \(cpu)
            # TYPE process_open_fds gauge
            process_open_fds \(files)
            # TYPE process_resident_memory_bytes gauge
            process_resident_memory_bytes \(residentBytes)

            """
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

    /// The second number of /proc/self/statm, in pages.
    private static var residentBytes: Int {
        let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = statm.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
