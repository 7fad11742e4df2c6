import Foundation

/// A process of our own, its output in a file.
final class Child: Sendable {
    let pid: pid_t
    private let log: String

    /// The output of a finished process, and its use of the machine.
    struct Ended: Sendable {
        let output: String
        let status: Int32
        let cpuMilliseconds: Double
        let peakMiB: Double
    }

    init(_ command: [String], log: String) throws {
        self.log = log
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // Connections of ours must not stay open in it.
        for descriptor in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap({ Int32($0) })
        where descriptor > 2 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        // Threads of a pool block most signals, and a child would go on so: pgbench ends by an alarm.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, command[0], &actions, &attributes, &arguments, environ)
        guard code == 0 else {
            throw BenchmarkFault("\(command[0]) cannot be started: \(String(cString: strerror(code)))")
        }
        self.pid = pid
    }

    /// Runs a command to its end. Throws unless it exits with 0.
    static func run(_ command: [String], log: String) async throws -> Ended {
        let child = try Child(command, log: log)
        let ended = try await child.end()
        guard ended.status == 0 else {
            throw BenchmarkFault("\(command.joined(separator: " ")) failed:\n\(ended.output)")
        }
        return ended
    }

    var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
    /// Whether it has not ended, or nobody has waited for its end.
    var isRunning: Bool { kill(pid, 0) == 0 }
    var meter: ProcessMeter { ProcessMeter(pid: pid) }

    /// Waits until the output satisfies `condition`.
    func expect<Found>(_ what: String, _ condition: (String) -> Found?) async throws -> Found {
        for _ in 0..<3_000 {
            if let found = condition(output) { return found }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw BenchmarkFault("\(what) did not come:\n\(output)")
    }

    /// Waits for the end, and notes the peak of memory on the way.
    func end() async throws -> Ended {
        var usage = rusage()
        var status: Int32 = 0
        var peak = 0.0
        while true {
            peak = max(peak, meter.peakMiB)
            let waited = wait4(pid, &status, WNOHANG, &usage)
            guard waited >= 0 else { throw BenchmarkFault("process \(pid) cannot be waited for") }
            if waited == pid { break }
            try await Task.sleep(for: .milliseconds(10))
        }
        return Ended(
            output: output, status: status, cpuMilliseconds: usage.ru_utime.milliseconds + usage.ru_stime.milliseconds,
            peakMiB: peak)
    }

    func stop() async throws {
        kill(pid, SIGTERM)
        _ = try await end()
    }
}

extension timeval {
    var milliseconds: Double { Double(tv_sec) * 1_000 + Double(tv_usec) / 1_000 }
}

struct BenchmarkFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
