import BelfryServer
import BelfrySimulators
import BelfryTesting
import Foundation

@testable import BelfryService

/// A database with an application and a platform, for the `belfry` program to work on.
struct TestInstallation: Sendable {
    let scratch: Scratch
    /// A PostgreSQL in place of a file in the data directory.
    let database: String?
    let simulator: APNsSimulator
    let application: String
    private let apiKey: String
    let platform: String
    private let secret: String

    struct Created: Decodable {
        let app_uuid: String
        let api_key: String

        init(_ ended: Program.Ended) throws { self = try ended.decoded() }
    }

    struct ReceiptDetails: Decodable, Equatable {
        let receipt_id: String
        let state: String
        let devices: Int
        let counts: [String: Int]

        init(_ ended: Program.Ended) throws { self = try ended.decoded() }
    }

    struct CreatedPlatform: Decodable {
        let platform_uuid: String
        let platform_secret: String

        init(_ ended: Program.Ended) throws { self = try ended.decoded() }
    }

    /// Made by the commands, as an operator would.
    ///
    /// - Parameter way: makes a way to the provider's port, and returns the port where it begins.
    static func with(
        database: String? = nil, reachingProviderBy way: (Int) async throws -> Int = { $0 },
        simulate: (inout APNsSimulator.Configuration) -> Void = { _ in },
        _ body: (TestInstallation) async throws -> Void
    ) async throws {
        let key = APNsSimulator.IssuedKey()
        var simulation = APNsSimulator.Configuration()
        simulation.authentication = .tokens([key.known])
        simulate(&simulation)
        let simulator = try await APNsSimulator.start(simulation)
        let result = await Result {
            let port = try await way(simulator.port)
            try await Scratch.with { scratch in
                try await body(try await make(in: scratch, database, simulator, at: port, key))
            }
        }
        try await simulator.shutdown()
        try result.get()
    }

    private static func make(
        in scratch: Scratch, _ database: String?, _ simulator: APNsSimulator, at port: Int,
        _ key: APNsSimulator.IssuedKey
    ) async throws -> TestInstallation {
        let data = storage(in: scratch, database)
        let p8 = try scratch.write(key.p8, to: "key.p8")
        let ca = try scratch.write(simulator.trustRootPEM, to: "ca.pem")
        _ = try await Program.run(["migrate"] + data, in: scratch)
        let app = try Created(
            try await Program.run(["app", "create", "--name", "Bakery", "--json"] + data, in: scratch))
        let platform = try CreatedPlatform(
            try await Program.run(
                [
                    "platform", "create", "--json", "--app", app.app_uuid, "--type", "ios", "--mode", "development",
                    "--name", "iOS", "--apns-key", p8, "--key-id", key.keyID, "--team-id", key.teamID, "--topic",
                    TestServer.topic, "--endpoint", "https://localhost:\(port)", "--trust-root", ca,
                ] + data, in: scratch))
        return TestInstallation(
            scratch: scratch, database: database, simulator: simulator, application: app.app_uuid, apiKey: app.api_key,
            platform: platform.platform_uuid, secret: platform.platform_secret)
    }

    var data: String { scratch.file("data") }

    /// Returns this installation on a PostgreSQL that everything was copied to.
    func on(_ database: String) -> TestInstallation {
        TestInstallation(
            scratch: scratch, database: database, simulator: simulator, application: application, apiKey: apiKey,
            platform: platform, secret: secret)
    }

    private static func storage(in scratch: Scratch, _ database: String?) -> [String] {
        ["--data-directory", scratch.file("data")] + (database.map { ["--database", $0] } ?? [])
    }

    /// The flags that name its database.
    var storageFlags: [String] { Self.storage(in: scratch, database) }

    func serve(_ settings: [String: String] = [:]) async throws -> Program {
        try Program.start(
            ["serve"] + Self.storage(in: scratch, database),
            Program.freePorts.merging(["BELFRY_LOG_FORMAT": "json"]) { $1 }.merging(settings) { $1 },
            log: scratch.file("log-\(UUID().uuidString)"))
    }

    func run(_ arguments: [String]) async throws -> Program.Ended {
        try await Program.run(
            arguments + Self.storage(in: scratch, database), arguments.first == "serve" ? Program.freePorts : [:],
            in: scratch)
    }

    func run(_ arguments: String...) async throws -> Program.Ended { try await run(arguments) }

    func sender(at base: String) -> Caller { Caller(base: base, user: application, secret: apiKey) }
    func app(at base: String) -> Caller { Caller(base: base, user: platform, secret: secret) }

    /// The command's report of a push, once it is settled.
    func settled(_ push: UUID, within deadline: Duration = .seconds(600)) async throws -> ReceiptDetails {
        try await eventually("push \(push) is settled", within: deadline, every: .milliseconds(100)) {
            let receipt = try ReceiptDetails(try await run("receipt", push.lowercased, "--json"))
            return receipt.state == "settled" ? receipt : nil
        }
    }

    /// Registers devices, for the topic `town` unless told otherwise, past any server.
    func crowd(_ count: Int, topics: Set<String> = ["town"], seed: UInt64 = 1) async throws -> Crowd {
        try await withResources { resources in
            let platform = try await resources.operatorService.platform(UUID(uuidString: platform) ?? UUID())
            return try await Crowd.register(count, topics: topics, on: platform, in: resources.store, seed: seed)
        }
    }

    /// Opens what the commands work on.
    func withResources<Value>(_ body: (ServerResources) async throws -> Value) async throws -> Value {
        var flags = ["data.directory": data]
        flags["database.url"] = database
        return try await ServerResources.with(flags, body)
    }
}

extension Program.Ended {
    struct Failed: Error {
        let ended: Program.Ended
    }

    func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        guard status == 0 else { throw Failed(ended: self) }
        return try JSONDecoder().decode(type, from: Data(out.utf8))
    }
}
