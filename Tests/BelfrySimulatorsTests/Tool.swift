import BelfryTesting
import Foundation

/// Runs a command-line tool to its end.
enum Tool {
    static func run(_ path: String, _ arguments: [String]) async throws -> (status: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).out")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = try spawn([path] + arguments, output: file.path, keepsErrors: false)
        let status = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var status: Int32 = 0
                while waitpid(process, &status, 0) < 0, errno == EINTR {}
                continuation.resume(returning: status & 0x7F == 0 ? status >> 8 & 0xFF : -1)
            }
        }
        return (status, try String(contentsOf: file, encoding: .utf8))
    }

    /// Writes a file that lives as long as the body.
    static func withFile<T>(_ text: String, _ body: (String) async throws -> T) async throws -> T {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).pem")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await body(file.path)
    }
}
