import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The real program on a free port, and what its operator asks it. All tests share one, since a PostgreSQL is of one server.
final class RealServer: Sendable {
    let url: URL
    let app: String
    let platform: UUID
    let secret: String
    let adminKey: String
    private let process: Process
    private let folder: URL
    private let simulators = Mutex<[Process]>([])

    /// The program to test, `KIT_BINARY`; nil where none is named.
    static var binary: String? { ProcessInfo.processInfo.environment["KIT_BINARY"] }

    struct Failure: Error { let description: String }

    /// It is ended with the process of the tests.
    static func shared() async throws -> RealServer { try await starting.value }

    private static let starting = Task {
        let server = try await RealServer(database: ProcessInfo.processInfo.environment["KIT_DATABASE"])
        ending.withLock { $0 = server }
        atexit { RealServer.ending.withLock { $0 }?.stop() }
        return server
    }

    private static let ending = Mutex<RealServer?>(nil)

    /// - Parameter database: `postgres://…`; nil for a file.
    private init(database: String?) async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("belfrykit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let log = folder.appendingPathComponent("log")
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.binary ?? "")
        process.arguments = ["serve"]
        var environment = ProcessInfo.processInfo.environment
        environment["KIT_BINARY"] = nil
        environment.merge([
            "BELFRY_DATA_DIRECTORY": folder.appendingPathComponent("data").path, "BELFRY_HTTP_PORT": "0",
            "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_PCF_VERIFY_CUSTOM_USER_ID": "false",
        ]) { $1 }
        environment["BELFRY_DATABASE_URL"] = database
        process.environment = environment
        process.standardOutput = try FileHandle(forWritingTo: log)
        process.standardError = process.standardOutput
        try process.run()
        self.process = process
        url = try await Self.address(in: log, of: process)
        let keyFile = folder.appendingPathComponent("data/admin.key")
        adminKey = try String(contentsOf: keyFile, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        let app = try await Self.ask(url, adminKey, "POST", "apps", ["name": "Walks"])
        self.app = try Self.text("app_uuid", in: app)
        let made = try await Self.ask(
            url, adminKey, "POST", "apps/\(self.app)/platforms",
            ["type": "android-baidu", "mode": "production", "name": "Phones", "credentials": [String: String]()])
        platform = UUID(uuidString: try Self.text("platform_uuid", in: made)) ?? UUID()
        secret = try Self.text("platform_secret", in: made)
    }

    private func stop() {
        for process in [process] + simulators.withLock({ $0 }) {
            process.terminate()
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(at: folder)
    }

    /// A platform of iPhones, and an APNs that takes all of its pushes.
    func iPhones() async throws -> (platform: UUID, secret: String) {
        let home = folder.appendingPathComponent("apns-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        func file(_ name: String) -> URL { home.appendingPathComponent(name) }
        _ = FileManager.default.createFile(atPath: file("log").path, contents: nil)
        let simulator = Process()
        simulator.executableURL = process.executableURL
        simulator.arguments = [
            "simulate", "apns", "--port", "0", "--ca-out", file("ca.pem").path, "--key-out", file("key.p8").path,
        ]
        simulator.standardOutput = try FileHandle(forWritingTo: file("log"))
        try simulator.run()
        simulators.withLock { $0.append(simulator) }
        let port = try await Self.find(/port ([0-9]+)(?s:.)*team-id/, in: file("log"), of: simulator)
        let credentials = [
            "apns_key": try String(contentsOf: file("key.p8"), encoding: .utf8), "key_id": "BELFRYKEY1",
            "team_id": "BELFRYTEAM", "topic": "org.example.news", "endpoint": "https://localhost:\(port)",
            "trust_root": try String(contentsOf: file("ca.pem"), encoding: .utf8),
        ]
        let new: [String: Any] = [
            "type": "ios", "mode": "production", "name": "iPhones", "credentials": credentials,
        ]
        let made = try await ask("POST", "apps/\(app)/platforms", new)
        return (
            UUID(uuidString: try Self.text("platform_uuid", in: made)) ?? UUID(),
            try Self.text("platform_secret", in: made)
        )
    }

    /// Asks the admin API.
    func ask(_ method: String, _ path: String, _ body: [String: Any]? = nil) async throws -> [String: Any] {
        try await Self.ask(url, adminKey, method, path, body)
    }

    private static func ask(
        _ url: URL, _ key: String, _ method: String, _ path: String, _ body: [String: Any]?
    ) async throws -> [String: Any] {
        guard let address = URL(string: "admin/v1/\(path)", relativeTo: url) else { throw Failure(description: path) }
        var request = URLRequest(url: address)
        request.httpMethod = method
        request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization")
        request.httpBody = try body.map { try JSONSerialization.data(withJSONObject: $0) }
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let status = (response as? HTTPURLResponse)?.statusCode, 200..<300 ~= status else {
            throw Failure(description: "\(method) \(path): \(String(decoding: data, as: UTF8.self))")
        }
        return (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] ?? [:]
    }

    private static func text(_ name: String, in answer: [String: Any]) throws -> String {
        guard let text = answer[name] as? String else { throw Failure(description: "no \(name) in \(answer)") }
        return text
    }

    private static func address(in log: URL, of process: Process) async throws -> URL {
        let text = try await find(/address=(http:\/\/\S+)/, in: log, of: process)
        guard let url = URL(string: "\(text)/") else { throw Failure(description: text) }
        return url
    }

    /// Waits until a program has written what it says when it serves.
    private static func find(
        _ words: Regex<(Substring, Substring)>, in log: URL, of process: Process
    ) async throws -> String {
        for _ in 0..<600 {
            let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
            if let found = text.firstMatch(of: words) { return String(found.1) }
            guard process.isRunning else { throw Failure(description: text) }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw Failure(description: "it does not serve")
    }
}
