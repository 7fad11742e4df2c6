import Foundation

/// The `belfry` executable as a process of its own.
final class Program: Sendable {
    private let process: Process
    private let log: String

    struct Ended: Sendable {
        let status: Int32
        let out: String
        let err: String
    }

    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    private init(process: Process, log: String) {
        self.process = process
        self.log = log
    }

    /// Built beside the tests, so it lies beside their bundle.
    private static func executable() throws -> URL {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var folder = URL(filePath: tests).deletingLastPathComponent()
        if !FileManager.default.isExecutableFile(atPath: folder.appending(path: "belfry").path) {
            folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        }
        let belfry = folder.appending(path: "belfry")
        guard FileManager.default.isExecutableFile(atPath: belfry.path) else {
            throw Missing(
                description: "there is no belfry beside the tests at \(folder.path); build all products first")
        }
        return belfry
    }

    static func make(
        _ arguments: [String], _ environment: [String: String], behind words: [String] = []
    ) throws -> Process {
        let process = Process()
        let belfry = try executable()
        process.executableURL = words.isEmpty ? belfry : URL(filePath: "/usr/bin/env")
        process.arguments = words.isEmpty ? arguments : words + [belfry.path] + arguments
        let usual = ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no", "BELFRY_DELIVERY_NICE": "1"]
        process.environment = usual.merging(environment) { _, new in new }
        process.standardInput = FileHandle.nullDevice
        return process
    }

    static let freePorts = ["BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0"]

    /// Starts `belfry` and lets it run; what it logs goes to a file.
    ///
    /// - Parameters:
    ///   - words: a command that becomes the program, such as `nsenter`.
    ///   - out: a file for what it prints; nil for nowhere.
    static func start(
        _ arguments: [String], _ environment: [String: String], behind words: [String] = [],
        printingTo out: String? = nil, log: String
    ) throws -> Program {
        try Data().write(to: URL(filePath: log))
        let process = try make(arguments, environment, behind: words)
        process.standardOutput = FileHandle.nullDevice
        if let out {
            try Data().write(to: URL(filePath: out))
            process.standardOutput = try FileHandle(forWritingTo: URL(filePath: out))
        }
        let file = try FileHandle(forWritingTo: URL(filePath: log))
        process.standardError = file
        try process.run()
        try file.close()
        return Program(process: process, log: log)
    }

    /// Runs `belfry` to its end.
    static func run(
        _ arguments: [String], _ environment: [String: String] = [:], in scratch: Scratch, behind words: [String] = [],
        within deadline: Duration = .seconds(600)
    ) async throws -> Ended {
        let (out, err) = (scratch.file("out-\(UUID().uuidString)"), scratch.file("err-\(UUID().uuidString)"))
        for file in [out, err] { try Data().write(to: URL(filePath: file)) }
        let process = try make(arguments, environment, behind: words)
        let files = try [out, err].map { try FileHandle(forWritingTo: URL(filePath: $0)) }
        process.standardOutput = files[0]
        process.standardError = files[1]
        try process.run()
        for file in files { try file.close() }
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        try await eventually("belfry \(arguments.joined(separator: " ")) ends", within: deadline) { !process.isRunning }
        return Ended(
            status: process.terminationStatus, out: try String(contentsOfFile: out, encoding: .utf8),
            err: try String(contentsOfFile: err, encoding: .utf8))
    }

    var processID: pid_t { process.processIdentifier }

    var isRunning: Bool { process.isRunning }

    /// How it ended: its exit status, or the signal that ended it.
    var ending: Int32 { process.terminationStatus }

    var logged: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    /// The addresses of a server that logs JSON, once it serves.
    func addresses(within deadline: Duration = .seconds(600)) async throws -> (http: String, management: String) {
        struct Line: Decodable {
            let message: String
            let address: String?
            let management: String?
        }
        return try await eventually("the server serves", within: deadline, every: .milliseconds(10)) {
            guard isRunning else { throw Missing(description: "the server ended: \(logged)") }
            for line in logged.split(separator: "\n") {
                guard let line = try? JSONDecoder().decode(Line.self, from: Data(line.utf8)), line.message == "serving",
                    let address = line.address, let management = line.management
                else { continue }
                return (address, management)
            }
            return nil
        }
    }

    func send(_ signal: Int32) {
        if isRunning { kill(process.processIdentifier, signal) }
    }

    /// Sends a signal and waits until the process is no more.
    func end(_ signal: Int32, within deadline: Duration = .seconds(600)) async throws {
        send(signal)
        try await eventually("the process ends on signal \(signal)", within: deadline, every: .milliseconds(2)) {
            !isRunning
        }
    }

    /// For the way out of a test that failed: no process outlives it.
    func endAtOnce() {
        if isRunning { kill(process.processIdentifier, SIGKILL) }
    }
}

extension Program {
    /// Settings by which work that a crash left in flight is sent again after seconds. A machine may stand still for some of them.
    static let shortLeases = [
        "BELFRY_DELIVERY_LEASE_SECONDS": "8", "BELFRY_APNS_DEADLINE_SECONDS": "7", "BELFRY_FCM_DEADLINE_SECONDS": "3",
        "BELFRY_GCM_DEADLINE_SECONDS": "3", "BELFRY_HMS_DEADLINE_SECONDS": "3",
        "BELFRY_PROVIDERS_DEADLINE_SECONDS": "3",
    ]
}
