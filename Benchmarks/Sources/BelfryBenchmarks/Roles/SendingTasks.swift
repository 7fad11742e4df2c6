import Foundation

/// Tasks that each send one batch after the other, through a client in this process.
struct SendingTasks: Sendable {
    let size: Int
    /// Sends the batch of a number, of ``Workload/batchSize`` messages.
    let deliver: @Sendable (Int) async throws -> Void

    func send(_ count: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for member in 0..<size {
                group.addTask {
                    for number in stride(from: member, to: count, by: size) { try await deliver(number) }
                }
            }
            try await group.waitForAll()
        }
    }

    func measured(batches count: Int) async throws -> Effort {
        let watch = Effort.Housekeeping()
        try await send(count)
        return watch.effort(for: count * Workload.batchSize)
    }
}

/// The resources that some work took of its process, in a form that one process can report to another.
struct Effort: Codable, Sendable {
    let rate: Double
    let cpuPerThousand: Double

    struct Housekeeping {
        private let cpu = cpuMilliseconds
        private let started = ContinuousClock.now

        func effort(for count: Int) -> Effort {
            let seconds = (ContinuousClock.now - started) / .seconds(1)
            return Effort(
                rate: Double(count) / seconds, cpuPerThousand: (Effort.cpuMilliseconds - cpu) / Double(count) * 1_000)
        }
    }

    func tell() throws { print(String(decoding: try JSONEncoder().encode(self), as: UTF8.self)) }

    /// Reads the last line of a process's output.
    init(told output: String) throws {
        let line = output.split(separator: "\n").last ?? ""
        self = try JSONDecoder().decode(Effort.self, from: Data(line.utf8))
    }

    init(rate: Double, cpuPerThousand: Double) {
        self.rate = rate
        self.cpuPerThousand = cpuPerThousand
    }

    private static var cpuMilliseconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_utime.milliseconds + usage.ru_stime.milliseconds
    }
}
