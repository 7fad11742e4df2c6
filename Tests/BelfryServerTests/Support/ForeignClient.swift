import BelfryService
import Foundation

/// A client in another language than the server's, of `Tests/Clients`, as a process of its own.
enum ForeignClient {
    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    /// The JSON that it prints.
    static func run(
        _ script: String, _ arguments: [String], input: String = "", in scratch: Scratch,
        within deadline: Duration = .seconds(600)
    ) async throws -> JSONValue {
        let folder = URL(filePath: #filePath).appending(path: "../../../Clients").standardized
        let names = ["in", "out", "err"].map { scratch.file("\($0)-\(UUID().uuidString)") }
        try Data(input.utf8).write(to: URL(filePath: names[0]))
        for name in names.dropFirst() { try Data().write(to: URL(filePath: name)) }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-B", folder.appending(path: script).path] + arguments
        process.standardInput = try FileHandle(forReadingFrom: URL(filePath: names[0]))
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: names[1]))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: names[2]))
        try process.run()
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        try await eventually("\(script) ends", within: deadline) { !process.isRunning }
        let out = try Data(contentsOf: URL(filePath: names[1]))
        guard process.terminationStatus == 0 else {
            throw Failed(description: "\(script): \(try String(contentsOfFile: names[2], encoding: .utf8))")
        }
        return try JSONValue(json: out)
    }
}
