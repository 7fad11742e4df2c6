import BelfryTesting
import Foundation
import Synchronization

/// The `belfry` executable as a process of its own, and what it takes of the machine.
final class BelfryProcess: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let id: pid_t
    private let log: String
    private let ending = Mutex<Int32?>(nil)

    /// - Parameters:
    ///   - words: what stands before `belfry` and becomes it, such as a shell that sets a umask.
    init(_ arguments: [String], environment: [String: String], behind words: [String] = [], log: String) throws {
        let settings = environment.merging(["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"]) { own, _ in own }
        self.log = log
        id = try spawn(
            ["/usr/bin/env", "-i"] + settings.map { "\($0.key)=\($0.value)" } + words
                + [try Self.executable()] + arguments, output: log)
    }

    /// Built beside the tests, so it lies beside their bundle.
    static func executable() throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        for path in [tests, CommandLine.arguments[0]] {
            let belfry = URL(filePath: path).deletingLastPathComponent().appending(path: "belfry").path
            if FileManager.default.isExecutableFile(atPath: belfry) { return belfry }
        }
        throw Failure(description: "there is no belfry beside the tests; build all products first")
    }

    var logged: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    /// nil while it runs; then its exit status, or the negative number of the signal that ended it.
    var endedWith: Int32? {
        ending.withLock { ending in
            if ending == nil {
                var status: Int32 = 0
                if waitpid(id, &status, WNOHANG) == id {
                    ending = status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
                }
            }
            return ending
        }
    }

    func kill() {
        while endedWith == nil {
            Foundation.kill(id, SIGKILL)
            usleep(1_000)
        }
    }

    /// Two ports, once it serves and says so, in JSON or as text.
    func ports() throws -> (http: UInt16, management: UInt16) {
        try waitUntil("the server serves") {
            if let endedWith { throw Failure(description: "the server ended with \(endedWith): \(logged)") }
            for line in logged.split(separator: "\n") where line.contains("serving") {
                if let http = port("address", in: line), let management = port("management", in: line) {
                    return (http, management)
                }
            }
            return nil
        }
    }

    private func port(_ name: String, in line: Substring) -> UInt16? {
        guard let value = line.range(of: #"\b\#(name)"?[=:]"?http://[^ ",]*:\d+"#, options: .regularExpression) else {
            return nil
        }
        return line[value].split(separator: ":").last.flatMap { UInt16($0) }
    }
}

/// The first value that there is; throws with what was waited for when there never is one.
@discardableResult
func waitUntil<Value>(_ hope: String, seconds: Int = 60, _ find: () throws -> Value?) throws -> Value {
    let end = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < end {
        if let value = try find() { return value }
        usleep(10_000)
    }
    throw BelfryProcess.Failure(description: "\(hope): not within \(seconds) s")
}
