import Foundation
import Synchronization

@testable import BelfrySimulators

/// A simulated provider, a clock that stands still until it is moved, and curl to talk to it.
struct TestService<S: SimulatedService>: Sendable {
    let simulator: ServiceSimulator<S>
    let clock: TestSimulator.ManualClock
    let curl: Curl

    /// Runs a test against a simulator and shuts it down.
    static func with(
        _ change: (inout S.Configuration) -> Void = { _ in },
        _ body: (TestService<S>) async throws -> Void
    ) async throws {
        let clock = TestSimulator.ManualClock()
        var configuration = S.Configuration()
        configuration.listening.ledgerDetail = .payloads
        configuration.listening.now = { clock.now }
        change(&configuration)
        let simulator = try await ServiceSimulator<S>.start(configuration)
        let result = await Tool.result {
            try await Tool.withFile(simulator.trustRootPEM) { trust in
                try await body(TestService(simulator: simulator, clock: clock, curl: Curl(trustFile: trust)))
            }
        }
        try await simulator.shutdown()
        try result.get()
    }

    func connect() async throws -> WireClient {
        try await .connect(to: WireTarget(port: simulator.port, trustRootPEM: simulator.trustRootPEM))
    }

    /// The client credentials grant, as most providers have it; the access token.
    func token(at path: String, _ form: String) async throws -> String {
        let answer = try await curl.post(
            simulator.url + path, [("content-type", "application/x-www-form-urlencoded")], form)
        return JSON(Array(answer.body.utf8))?["access_token"]?.string ?? ""
    }
}

/// curl as a sender: another TLS, another HTTP.
struct Curl: Sendable {
    struct Answer: Sendable {
        /// The exit code of curl; 0 is success.
        var exit: Int32
        var status: Int
        var fields: [String: String]
        var body: String

        var json: JSON? { JSON(Array(body.utf8)) }
    }

    let trustFile: String

    func post(
        _ url: String, _ fields: [(String, String)] = [], _ body: String = "", _ options: String...
    ) async throws -> Answer {
        try await send("POST", url, fields, Array(body.utf8), options)
    }

    func send(
        _ method: String, _ url: String, _ fields: [(String, String)] = [], _ body: [UInt8] = [],
        _ options: [String] = []
    ) async throws -> Answer {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
        try Data(body).write(to: URL(fileURLWithPath: path("request")))
        var arguments = ["--silent", "--max-time", "20", "--cacert", trustFile, "--request", method]
        arguments += ["--dump-header", path("head"), "--output", path("answer"), "--header", "Expect:"]
        for (name, value) in fields { arguments += ["--header", value.isEmpty ? "\(name);" : "\(name): \(value)"] }
        if !body.isEmpty { arguments += ["--data-binary", "@\(path("request"))"] }
        if !fields.contains(where: { $0.0 == "content-type" }) { arguments += ["--header", "Content-Type:"] }
        let exit = try await Tool.run("/usr/bin/curl", arguments + options + [url]).status
        let head = (try? String(contentsOfFile: path("head"), encoding: .utf8)) ?? ""
        let body = (try? String(contentsOfFile: path("answer"), encoding: .utf8)) ?? ""
        return Self.answer(exit, head: head, body: body)
    }

    private static func answer(_ exit: Int32, head: String, body: String) -> Answer {
        var fields: [String: String] = [:]
        let lines = head.split(whereSeparator: \.isNewline)
        for line in lines.dropFirst() {
            let sides = line.split(separator: ":", maxSplits: 1)
            if sides.count == 2 { fields[sides[0].lowercased()] = String(sides[1].drop { $0 == " " }) }
        }
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return Answer(exit: exit, status: status, fields: fields, body: body)
    }
}

extension Tool {
    static func result<T>(_ body: () async throws -> T) async -> Result<T, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}
