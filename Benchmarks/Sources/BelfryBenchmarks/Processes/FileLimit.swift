import Foundation

/// The limit of open files of this process, and of those that it starts.
enum FileLimit {
    static func raise(to count: UInt) throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard limit.rlim_cur < count else { return }
        limit.rlim_cur = min(count, limit.rlim_max)
        guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur >= count else {
            throw BenchmarkFault("\(count) open files are needed, the limit is \(limit.rlim_max): see ulimit -n")
        }
    }
}
