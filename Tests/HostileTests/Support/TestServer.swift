import Foundation
import PostgresRig

/// A server that was just set up, attacked from outside through its ports alone.
struct TestServer: Sendable {
    let process: BelfryProcess
    let port: UInt16
    let managementPort: UInt16
    let folder: String
    /// The name of its database in the PostgreSQL of the tests; nil on SQLite.
    let database: String?
    private let operatorKey: String

    var dataDirectory: String { folder + "/data" }
    var asOperator: String { "Bearer \(operatorKey)" }

    /// Runs `attack` on threads of its own, where it may block, and ends the server.
    ///
    /// - Parameters:
    ///   - settings: by their names in docs/Configuration.md.
    ///   - fault: a defence that is left out, see `PlantedFaults`.
    ///   - database: nil for the PostgreSQL that tests share.
    static func with(
        _ engine: Engine, _ settings: [String: String] = [:], fault: String? = nil, on database: PostgresServer? = nil,
        _ attack: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(BlockingThreads()) {
            let folder = NSTemporaryDirectory() + "/hostile-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            var environment = Dictionary(
                uniqueKeysWithValues: settings.map {
                    ("BELFRY_" + $0.key.uppercased().replacing(".", with: "_"), $0.value)
                })
            environment.merge(usual) { given, _ in given }
            environment["BELFRY_PLANTED_FAULT"] = fault
            let store = try engine.freshArguments(on: database)
            let process = try BelfryProcess(
                ["serve", "--data-directory", folder + "/data"] + store.flags, environment: environment,
                log: folder + "/log")
            defer { process.kill() }
            let ports = try process.ports()
            let key = try String(contentsOfFile: folder + "/data/admin.key", encoding: .utf8)
            try await attack(
                TestServer(
                    process: process, port: ports.http, managementPort: ports.management, folder: folder,
                    database: store.database, operatorKey: key.trimmingCharacters(in: .whitespacesAndNewlines)))
        }
    }

    private static let usual = [
        "BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_FORMAT": "json",
        "BELFRY_PCF_SEND_IMMEDIATELY_WITHIN_SECONDS": "0", "BELFRY_DELIVERY_NICE": "1",
    ]

    func connect() throws -> RawConnection { try RawConnection(port: port) }

    /// A request on a connection of its own; throws when there is no answer.
    func send(
        _ method: String, _ path: String, _ body: String? = nil, as authorization: String? = nil,
        _ headers: [String] = []
    ) throws -> HTTPAnswer {
        let connection = try connect()
        // A server may answer before it has read everything.
        try connection.sendWhatIsTaken(
            Array(HTTPText.request(method, path, body, as: authorization, headers).utf8), timeout: 60_000)
        guard let answer = connection.answer() else {
            throw BelfryProcess.Failure(description: "\(method) \(path) got no answer: \(process.logged.suffix(500))")
        }
        return answer
    }

    /// A page of the management port.
    func managementPage(_ path: String) throws -> String {
        let connection = try RawConnection(port: managementPort)
        try connection.send(HTTPText.request("GET", path))
        return connection.answer()?.text ?? ""
    }
}
