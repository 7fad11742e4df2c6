import BelfryTesting
import Foundation
import Synchronization

/// A program that runs beside this one.
///
/// It is started and waited for on a thread of its own, since a death signal goes with the thread that started a program.
final class Process: Sendable {
    let id: pid_t
    private let ended: DispatchSemaphore

    init(_ words: [String], output: String) throws {
        let started = DispatchSemaphore(value: 0)
        let ended = DispatchSemaphore(value: 0)
        let outcome = Outcome()
        let thread = Thread {
            do {
                let id = try spawn(words, output: output)
                outcome.start.withLock { $0 = .success(id) }
                started.signal()
                var status: Int32 = 0
                while waitpid(id, &status, 0) < 0, errno == EINTR {}
                outcome.status.store(status & 0x7F == 0 ? status >> 8 & 0xFF : -1, ordering: .releasing)
            } catch {
                outcome.start.withLock { $0 = .failure(error) }
                started.signal()
            }
            ended.signal()
        }
        thread.start()
        started.wait()
        self.ended = ended
        self.outcome = outcome
        id = try outcome.start.withLock { try $0?.get() ?? 0 }
    }

    private final class Outcome: Sendable {
        let start = Mutex<Result<pid_t, any Error>?>(nil)
        let status = Atomic<Int32>(-1)
    }

    private let outcome: Outcome

    /// Runs a program to its end; its status, -1 when a signal ended it.
    static func run(_ words: [String], output: String) throws -> Int32 {
        let process = try Process(words, output: output)
        process.waitUntilEnd()
        return process.outcome.status.load(ordering: .acquiring)
    }

    /// Once it has ended, another program may have its number.
    func signal(_ signal: Int32) {
        if !hasEnded { kill(id, signal) }
    }

    func waitUntilEnd() {
        ended.wait()
        ended.signal()
    }

    var hasEnded: Bool {
        guard ended.wait(timeout: .now()) == .success else { return false }
        ended.signal()
        return true
    }
}
