import Foundation

/// A folder of a test's own, removed when the test is over.
struct Scratch: Sendable {
    let path: String

    static func with<Value>(_ body: (Scratch) async throws -> Value) async throws -> Value {
        // Standardized, since the program prints paths so.
        let path = URL(filePath: NSTemporaryDirectory() + "/belfry-tests-\(UUID().uuidString)").standardizedFileURL.path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(Scratch(path: path))
    }

    func file(_ name: String) -> String { path + "/" + name }

    func write(_ text: String, to name: String) throws -> String {
        try text.write(toFile: file(name), atomically: true, encoding: .utf8)
        return file(name)
    }
}
