import Foundation

/// A Belfry server, in a process of its own, with one application and one platform.
struct Server: Sendable {
    let child: Child
    let port: Int
    let identity: Identity
    private let belfry: String
    private let directory: String
    /// A PostgreSQL in place of a file in the directory.
    private let database: String?
    private let metrics: HTTPCaller

    /// The credentials of its callers, kept beside the database, so that a later run can go on with the same devices.
    struct Identity: Codable, Sendable {
        var app_uuid: String
        var api_key: String
        var platform_uuid: String
        var platform_secret: String

        /// For back ends, and for apps.
        var sender: String { Self.basic(app_uuid, api_key) }
        var app: String { Self.basic(platform_uuid, platform_secret) }

        static func basic(_ name: String, _ secret: String) -> String {
            Data("\(name):\(secret)".utf8).base64EncodedString()
        }
    }

    /// - Parameter settings: `BELFRY_` and so on, for its environment.
    static func start(
        belfry: String, directory: String, simulator: Simulator, database: String? = nil,
        settings: [String: String] = [:]
    ) async throws -> Server {
        let identity = try await identity(belfry, directory, simulator, database: database)
        return try await start(identity, belfry, directory, database, settings)
    }

    /// Another node on the same PostgreSQL.
    static func start(beside first: Server, directory: String) async throws -> Server {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        return try await start(
            first.identity, first.belfry, directory, first.database,
            ["BELFRY_KEY_RING_FILE": "\(first.directory)/data/key-ring"])
    }

    private static func start(
        _ identity: Identity, _ belfry: String, _ directory: String, _ database: String?, _ settings: [String: String]
    ) async throws -> Server {
        let (port, management) = (try freePort(), try freePort())
        let child = try Child(
            // One caller asks as often as it can, and schedules more than others may.
            [
                "env", "BELFRY_LIMIT_SENDERS_PER_SECOND=0", "BELFRY_LIMIT_ADMIN_PER_SECOND=0",
                "BELFRY_QUOTA_SCHEDULES=2000000",
            ]
                + settings.map { "\($0.key)=\($0.value)" } + [belfry, "serve"]
                + storage(directory, database) + [
                    "--port", "\(port)", "--management-port", "\(management)", "--log-level", "info",
                ], log: "\(directory)/log")
        _ = try await child.expect("the server") { $0.contains("serving") ? true : nil }
        return Server(
            child: child, port: port, identity: identity, belfry: belfry, directory: directory, database: database,
            metrics: HTTPCaller(port: management))
    }

    private static func storage(_ directory: String, _ database: String?) -> [String] {
        ["--data-directory", "\(directory)/data"] + (database.map { ["--database", $0] } ?? [])
    }

    /// The key of the operator that the server made when it first started.
    var adminKey: String {
        get throws {
            try String(contentsOfFile: "\(directory)/data/admin.key", encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    /// How many devices have their answer, over all pushes.
    func answered() async throws -> Int { try await total("belfry_devices_answered_total") }

    /// How many devices stand in a batch, over all pushes.
    func fanOut() async throws -> Int { try await total("belfry_devices_fanned_out_total") }

    /// How many batches of the urgent lane have all their answers: one for each push to one device.
    func urgentBatches() async throws -> Int {
        try await total("belfry_push_delivery_seconds_count", labelled: #"lane="urgent""#)
    }

    private func total(_ metric: String, labelled label: String = "") async throws -> Int {
        let lines = try await metrics.get("/metrics").text.split(separator: "\n")
        let counts = lines.filter { $0.hasPrefix(metric) && (label.isEmpty || $0.contains(label)) }
        return counts.reduce(0) { $0 + (Int($1.split(separator: " ").last ?? "") ?? 0) }
    }

    struct Receipt: Decodable, Sendable {
        let state: String
        let counts: [String: Int]
        let accepted_at: String
        let settled_at: String?

        /// The seconds from acceptance to the last answer.
        func seconds() throws -> Double { try seconds(to: settled_at) }

        private func seconds(to moment: String?) throws -> Double {
            let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            guard let moment else { throw BenchmarkFault("the push is not that far") }
            return try format.parse(moment).timeIntervalSince(try format.parse(accepted_at))
        }
    }

    func receipt(_ id: String) async throws -> Receipt {
        let ended = try await Child.run(
            [belfry, "receipt", "--json"] + Self.storage(directory, database) + [id], log: "\(directory)/receipt")
        return try JSONDecoder().decode(Receipt.self, from: Data(ended.output.utf8))
    }

    /// Registers users with two devices on the platform of everybody and one on another, and returns their ids.
    func registerUsers(_ count: Int, by simulator: Simulator) async throws -> [String] {
        let ended = try await Child.run(
            [
                belfry, "platform", "create", "--json", "--app", identity.app_uuid, "--type", "ios", "--mode",
                "production",
            ]
                + ["--name", "Second"] + Self.credentials(simulator) + Self.storage(directory, database),
            log: "\(directory)/platform")
        let second = try JSONDecoder().decode(CreatedPlatform.self, from: Data(ended.output.utf8))
        let caller = HTTPCaller(port: port)
        let platforms = [
            identity.app, identity.app, Identity.basic(second.platform_uuid, second.platform_secret),
        ]
        let run = Int(WallClock.now) / 1_000
        for user in 0..<count {
            for (place, credentials) in platforms.enumerated() {
                let token = Devices.hex(1_300_000_000 + run % 100_000 * 4_000 + user * 3 + place)
                _ = try await caller.post(
                    "/v1/registration", credentials: credentials,
                    #"{"registration_token":"\#(token)","os":"ios","custom_user_id":"bench-\#(run)-\#(user)"}"#)
            }
        }
        try await caller.close()
        return (0..<count).map { "bench-\(run)-\($0)" }
    }

    /// Makes an operator for the dashboard, unless an earlier run did.
    func createOperator(_ email: String, passwordFile: String) async throws {
        let data = Self.storage(directory, database)
        let known = try await Child.run([belfry, "admin", "user", "list"] + data, log: "\(directory)/people")
        guard !known.output.contains(email) else { return }
        _ = try await Child.run(
            [
                belfry, "admin", "user", "create", "--email", email, "--role", "operator", "--password-file",
                passwordFile,
            ]
                + data, log: "\(directory)/person")
    }

    /// Devices are indexed by the thousand, a moment after they came, and the whole search index is written anew at times:
    /// waits until nothing of that is left to do.
    func waitUntilIdle() async throws {
        for _ in 0..<300 {
            let before = child.meter.cpuMilliseconds
            try await Task.sleep(for: .seconds(1))
            if child.meter.cpuMilliseconds - before < 50 { return }
        }
        throw BenchmarkFault("the server is still at work after five minutes")
    }

    /// Imports a list beside the running server, by the command.
    func importDevices(of list: String) async throws {
        _ = try await Child.run(
            [
                belfry, "import", "devices", "--app", identity.app_uuid, "--platform", identity.platform_uuid,
                "--format",
                "jsonl", "--json", list,
            ] + Self.storage(directory, database), log: "\(directory)/import")
    }

    /// Imports the list that a command writes, beside the running server. Returns how many devices were new.
    func importDevices(from writer: [String], verdicts: String) async throws -> Int {
        struct Report: Decodable { let new: Int }
        let command = [
            belfry, "import", "devices", "--app", identity.app_uuid, "--platform", identity.platform_uuid,
            "--format", "jsonl", "--json", "--verdicts", verdicts, "-",
        ]
        let ended = try await Child.run(
            ["sh", "-c", "\(Self.quoted(writer)) | \(Self.quoted(command + Self.storage(directory, database)))"],
            log: "\(directory)/import")
        guard let start = ended.output.lastIndex(of: "{") else {
            throw BenchmarkFault("the import said:\n\(ended.output)")
        }
        return try JSONDecoder().decode(Report.self, from: Data(ended.output[start...].utf8)).new
    }

    /// The words of a command for a shell.
    private static func quoted(_ words: [String]) -> String {
        words.map { "'\($0.replacing("'", with: #"'\''"#))'" }.joined(separator: " ")
    }

    /// Copies the database beside the running server; the process may be stopped.
    func backUp(to folder: String) throws -> Child {
        try Child([belfry, "backup", "--to", folder] + Self.storage(directory, database), log: "\(directory)/backup")
    }

    var databaseFile: String { "\(directory)/data/belfry.sqlite" }

    /// With its log.
    var databaseBytes: Int {
        ["", "-wal"].reduce(0) { sum, end in
            let attributes = try? FileManager.default.attributesOfItem(atPath: databaseFile + end)
            return sum + (attributes?[.size] as? Int ?? 0)
        }
    }

    /// How many rows were deleted by age.
    func deletedRows() async throws -> Int { try await total("belfry_rows_deleted_total") }

    func stop() async throws {
        try await metrics.close()
        try await child.stop()
    }

    /// The output of `belfry app create` and `belfry platform create`, as far as a caller needs it.
    struct CreatedApplication: Decodable {
        let app_uuid: String
        let api_key: String
    }

    struct CreatedPlatform: Decodable {
        let platform_uuid: String
        let platform_secret: String
    }

    private static func credentials(_ simulator: Simulator) -> [String] {
        let keys = simulator.keys
        return [
            "--apns-key", keys.keyFile, "--key-id", keys.keyID, "--team-id", keys.teamID, "--topic", Workload.topic,
            "--endpoint", "https://localhost:\(simulator.port)", "--trust-root", keys.authorityFile,
        ]
    }

    /// The credentials for the server of this directory, made before its first start.
    static func identity(
        _ belfry: String, _ directory: String, _ simulator: Simulator, database: String? = nil
    ) async throws -> Identity {
        let file = "\(directory)/identity.json"
        let data = storage(directory, database)
        let credentials = credentials(simulator)
        func json<Created: Decodable>(_ command: [String]) async throws -> Created {
            let ended = try await Child.run([belfry] + command + data, log: "\(directory)/command")
            return try JSONDecoder().decode(Created.self, from: Data(ended.output.utf8))
        }
        if let known = FileManager.default.contents(atPath: file) {
            let identity = try JSONDecoder().decode(Identity.self, from: known)
            _ = try await Child.run(
                [belfry, "platform", "credentials", identity.platform_uuid] + credentials + data,
                log: "\(directory)/command")
            return identity
        }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        _ = try await Child.run([belfry, "migrate"] + data, log: "\(directory)/command")
        let app: CreatedApplication = try await json(["app", "create", "--json", "--name", "Benchmarks"])
        let platform: CreatedPlatform = try await json(
            ["platform", "create", "--json", "--app", app.app_uuid, "--type", "ios", "--mode", "development"]
                + ["--name", "iOS"] + credentials)
        let identity = Identity(
            app_uuid: app.app_uuid, api_key: app.api_key, platform_uuid: platform.platform_uuid,
            platform_secret: platform.platform_secret)
        try JSONEncoder().encode(identity).write(to: URL(fileURLWithPath: file))
        return identity
    }
}

/// A port that is free now.
func freePort() throws -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let port = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
        } ? Int(UInt16(bigEndian: pointer.pointee.sin_port)) : 0
    }
    guard port > 0 else { throw BenchmarkFault("there is no free port") }
    return port
}
