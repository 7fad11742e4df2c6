import ArgumentParser
import BelfryServer
import BelfryService
import Foundation
import Logging

// The parser reads the options of a group anew for each of its checks, and once more for each group within that group.
// So a group holds options, not groups, and those of several groups share their help.

/// Options that name the configuration and the database of a command.
protocol DatabaseOptions: ParsableArguments {
    var config: String? { get }
    var dataDirectory: String? { get }
    var database: String? { get }
    var logLevel: String? { get }
}

/// The configuration and database of a command.
struct CommonOptions: DatabaseOptions {
    @Option(help: .config) var config: String?
    @Option(help: .dataDirectory) var dataDirectory: String?
    @Option(help: .database) var database: String?
    @Option(help: .logLevel) var logLevel: String?

    func validate() throws { try refusePassword() }
}

extension ArgumentHelp {
    fileprivate static let config = ArgumentHelp("A JSON file with settings.", valueName: "file")
    fileprivate static let dataDirectory = ArgumentHelp(
        "Where the database and the key ring are. [default: belfry-data]", valueName: "directory")
    fileprivate static let database = ArgumentHelp(
        "A PostgreSQL that several nodes share, in place of the file in the data directory. A URL with a password belongs "
            + "in BELFRY_DATABASE_URL.",
        valueName: "postgres://…")
    fileprivate static let logLevel = ArgumentHelp(
        "trace, debug, info, notice, warning, error or critical. [default: info]")
    fileprivate static let server = ArgumentHelp(
        "A server elsewhere, by its admin API. Also BELFRY_SERVER. [default: the data on this machine]",
        valueName: "url")
    fileprivate static let keyFile = ArgumentHelp(
        "A file that holds the admin key for --server; - is standard input. [default: BELFRY_ADMIN_KEY]",
        valueName: "file")
    fileprivate static let caFile = ArgumentHelp(
        "Certificates in PEM to trust for --server instead of the system's. Also SSL_CERT_FILE.", valueName: "file")
    fileprivate static let json = ArgumentHelp("Print JSON, for scripts.")
    fileprivate static let app = ArgumentHelp("The application's UUID; may be left out where there is one.")
}

extension DatabaseOptions {
    fileprivate func refusePassword() throws {
        if let database, DatabasePassword.stands(in: database) {
            throw ValidationError("--database \(DatabasePassword.advice)")
        }
    }

    var flags: [String: String] {
        var flags: [String: String] = [:]
        flags["data.directory"] = dataDirectory
        flags["database.url"] = database
        flags["log.level"] = logLevel
        return flags
    }

    /// - Parameter unknownVariables: a command that works beside a server only warns about them on standard error.
    func configuration(
        adding more: [String: String] = [:], unknownVariables: ServerConfiguration.UnknownVariables = .warned
    ) async throws -> ServerConfiguration {
        try await .load(
            flags: flags.merging(more) { _, new in new }, file: config, unknownVariables: unknownVariables)
    }

    /// The configuration, and everything that keeps a server from starting with it; nil where it cannot be read at all.
    func inspected() async -> (configuration: ServerConfiguration?, faults: [String]) {
        do {
            let (configuration, faults) = try ServerConfiguration.inspect(flags: flags, file: config)
            return (configuration, faults + (await ServerResources.faults(configuration)))
        } catch let found as ConfigurationFaults {
            return (nil, found.lines)
        } catch {
            return (nil, ["\(error)"])
        }
    }

    /// Opens the database for one command beside a running server.
    func withOperatorService<Value>(
        migrates: Bool = false, _ body: (OperatorService) async throws -> Value
    ) async throws -> Value {
        try await withResources(migrates: migrates) {
            try await body($0.operatorService)
        }
    }

    /// Opens the resources of the configuration, for one command beside a running server.
    ///
    /// No command makes a database but `serve`, `migrate` and `demo`: a new one would only hide that the command was pointed at
    /// the wrong place. None brings the schema up to date beside a server of an earlier release.
    ///
    /// - Parameter migrates: whether the schema is brought up to date.
    func withResources<Value>(
        migrates: Bool = false, _ body: (ServerResources) async throws -> Value
    ) async throws -> Value {
        var configuration = try await configuration()
        configuration.storage.migrates = migrates
        var logger = Logger(label: "belfry") { StreamLogHandler.lines(label: $0) }
        logger.logLevel = max(configuration.logging.level, .warning)
        let metrics = CommandMetrics.ofProcess
        let resources = try await ServerResources(configuration, logger: logger, makesDatabase: false)
        let result = await Swift.Result { try await body(resources) }
        do { try await resources.store.add(metrics.taken()) } catch {
            Notice.show("what this command did is missing from the server's metrics: \(error)")
        }
        try await resources.close()
        return try result.get()
    }
}

extension ServerConfiguration.UnknownVariables {
    fileprivate static let warned = Self.told { words in
        Notice.show(words)
    }
}

/// Options that name the server that a command works on: the one whose data is on this machine, unless `--server` names another.
protocol ServerOptions: DatabaseOptions {
    var server: String? { get }
    var keyFile: String? { get }
    var caFile: String? { get }
}

/// The server that a command works on.
struct BackendOptions: ServerOptions {
    @Option(help: .config) var config: String?
    @Option(help: .dataDirectory) var dataDirectory: String?
    @Option(help: .database) var database: String?
    @Option(help: .logLevel) var logLevel: String?
    @Option(help: .server) var server: String?
    @Option(help: .keyFile) var keyFile: String?
    @Option(help: .caFile) var caFile: String?

    func validate() throws { try refuseTwoPlaces() }
}

extension ServerOptions {
    fileprivate func refuseTwoPlaces() throws {
        try refusePassword()
        guard server == nil || !isHere else {
            throw ValidationError("give --server, or --\(database == nil ? "data-directory" : "database"), not both")
        }
    }

    /// Whether a flag names a database.
    private var isHere: Bool { dataDirectory != nil || database != nil }

    @discardableResult
    func withBackend<Value>(
        _ body: (AdminBackend) async throws -> Value
    ) async throws -> Value {
        let environment = ProcessInfo.processInfo.environment
        let variable = environment["BELFRY_SERVER"].flatMap { $0.isEmpty ? nil : $0 }
        let named = isHere ? nil : variable
        guard let server = server ?? named else {
            return try await withResources { resources in
                try await body(.local(resources.operatorService, absence: { try await resources.serverAbsence() }))
            }
        }
        let client = try AdminClient(
            server: server, key: try adminKey(environment), caFile: caFile ?? environment["SSL_CERT_FILE"])
        let result = await Swift.Result { try await body(.remote(client)) }
        await client.shutdown()
        return try result.get()
    }

    private func adminKey(_ environment: [String: String]) throws -> String {
        if let keyFile {
            return try keyFile == "-" ? keyInStandardInput.get() : SecretFile.contents(of: keyFile, for: "--key-file")
        }
        guard let key = environment["BELFRY_ADMIN_KEY"], !key.isEmpty else {
            throw ValidationError("--server needs an admin key: --key-file or BELFRY_ADMIN_KEY")
        }
        return key.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

/// The admin key of `--key-file -`, which a command that asks more than once reads once.
private let keyInStandardInput = Swift.Result { try SecretFile.contents(of: "-", for: "--key-file") }

/// The option that chooses the output format.
protocol JSONOption: ParsableArguments {
    var json: Bool { get }
}

struct OutputOptions: JSONOption {
    @Flag(help: .json) var json = false
}

/// The option that names the application that a command works on.
protocol ApplicationOption: ParsableArguments {
    var app: UUID? { get }
}

struct AppOption: ApplicationOption {
    @Option(help: .app, transform: UUID.parse) var app: UUID?
}

extension ApplicationOption {
    /// The application that is named, or the only one there is.
    func uuid(from backend: AdminBackend) async throws -> UUID {
        if let app { return app }
        let shownMax = 5
        let known = try await backend.applications()
        guard !known.isEmpty else {
            throw ValidationError("there is no application yet; `belfry app create` makes one")
        }
        if known.count == 1, let only = UUID(uuidString: known[0].app_uuid) { return only }
        let names = known.prefix(shownMax).map { "\($0.app_uuid) (\($0.name))" }.joined(separator: ", ")
        let rest = known.count > shownMax ? " and \(known.count - shownMax) more" : ""
        throw ValidationError("which application is meant? Give --app, since there are \(known.count): \(names)\(rest)")
    }
}

/// The time for which a replaced secret is accepted beside the new one.
struct GraceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("For how long the old secret is taken too.", valueName: "seconds"))
    var grace: Int = 0

    func validate() throws {
        let most = Int(AdminKey.graceMax.components.seconds)
        guard (0...most).contains(grace) else { throw ValidationError("--grace has to be 0 to \(most)") }
    }

    /// Two secrets are taken at most: says so where a rotation ended the grace of the one before.
    static func warn(endedEarly end: String?) {
        guard let end else { return }
        Notice.show(
            "the secret before the one that is replaced now was to be taken until \(end): it is refused from now on, since no more than "
                + "two are taken at a time")
    }

    var duration: Duration { .seconds(grace) }

    /// The members of a request of the admin API.
    var members: JSONObject { ["grace_seconds": .integer(Int64(grace))] }
}

/// How many things a list prints.
struct ListOptions: ParsableArguments {
    @Option(help: "Print so many at most.") var limit = 200

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit has to be 1 or more") }
    }
}

/// The server and the application that a command works on, and its output format.
struct ResourceOptions: ServerOptions, ApplicationOption, JSONOption {
    @Option(help: .config) var config: String?
    @Option(help: .dataDirectory) var dataDirectory: String?
    @Option(help: .database) var database: String?
    @Option(help: .logLevel) var logLevel: String?
    @Option(help: .server) var server: String?
    @Option(help: .keyFile) var keyFile: String?
    @Option(help: .caFile) var caFile: String?
    @Flag(help: .json) var json = false
    @Option(help: .app, transform: UUID.parse) var app: UUID?

    func validate() throws { try refuseTwoPlaces() }

    /// Asks the admin API about something of the application.
    ///
    /// - Parameter path: the parts below the application's own, as they are; they are encoded here.
    func ask(
        _ method: String, _ path: [String], query: [(String, String?)] = [], _ body: JSONObject? = nil
    ) async throws -> JSONValue? {
        let items = query.compactMap { name, value in value.map { "\(name)=\($0.percentEncoded)" } }
        return try await withBackend { backend in
            let path = try await Self.path(path, of: uuid(from: backend))
            return try await backend.ask(method, items.isEmpty ? path : "\(path)?\(items.joined(separator: "&"))", body)
        }
    }

    /// Changes something of the application by what it is: see `AdminBackend.edit`.
    func edit(_ path: [String], _ change: (JSONValue?) throws -> JSONObject) async throws -> JSONValue? {
        try await withBackend { backend in
            try await backend.edit(Self.path(path, of: uuid(from: backend)), change)
        }
    }

    /// The path of something of an application.
    private static func path(_ parts: [String], of app: UUID) throws -> String {
        try (["apps", app.lowercased] + parts).path()
    }

    /// Prints the first things of a list.
    ///
    /// - Parameters:
    ///   - member: of the answer, that holds the things.
    ///   - columns: members of each thing.
    func list(
        _ path: [String], _ member: String, columns: [String], atMost limit: Int, query: [(String, String?)] = []
    ) async throws {
        var rows: [JSONValue] = []
        var cursor: String?
        repeat {
            // The lists of the map have 50 at a time; one more than is printed tells whether there are more.
            let page = [("limit", String(min(limit - rows.count, 49) + 1)), ("cursor", cursor)]
            let reply = try await ask("GET", path, query: query + page)
            rows += try reply.list(member)
            cursor = reply?["next_cursor"]?.stringValue
        } while cursor != nil && rows.count <= limit
        try show(Array(rows.prefix(limit)), columns: columns)
        if rows.count > limit { Notice.cut(at: limit) }
    }

    func delete(_ path: [String], done: String = "deleted") async throws {
        _ = try await ask("DELETE", path)
        print("\(done) \(path.last ?? "")")
    }
}

extension [String] {
    /// The path of these parts. Throws where one is empty, which would leave the path of a list.
    func path() throws -> String {
        guard !contains("") else { throw ValidationError("an argument is empty that has to name something") }
        return map(\.percentEncoded).joined(separator: "/")
    }
}
