import Foundation

/// The system's figures about this process, under the names that Prometheus clients share.
/// Source: Prometheus, "Writing client libraries", standard and process metrics; proc(5).
enum ProcessMetrics {
    static func text() -> String {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime)
        let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return """
            # HELP process_cpu_seconds_total User and system CPU time, in seconds.
            # TYPE process_cpu_seconds_total counter
            process_cpu_seconds_total \(cpu)
            # HELP process_open_fds Open file descriptors.
            # TYPE process_open_fds gauge
            process_open_fds \(files)
            # HELP process_max_fds File descriptors that the process may open.
            # TYPE process_max_fds gauge
            process_max_fds \(limit.rlim_cur)
            # HELP process_resident_memory_bytes Resident memory, in bytes.
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
