import Foundation

/// The servers that the rows share: one simulator, and one server with its devices, started when first asked for.
final class BenchmarkEnvironment {
    struct Options: Sendable {
        let belfry: String
        let quick: Bool
        let scale: Bool
        let keeps: Bool
        let count: Int?

        var devices: Int { count ?? (scale ? 10_000_000 : quick ? 100_000 : 1_000_000) }
        var rounds: Int { quick ? 3 : 5 }
        var longRounds: Int { 3 }
    }

    let options: Options
    let directory: String
    let simulator: Simulator
    private var known: (Server, Crowd)?
    /// How the devices of `--scale` came.
    private(set) var arrival: World.Arrival?
    private var knownMix: ProviderMix?

    init(options: Options, directory: String) async throws {
        self.options = options
        self.directory = directory
        if !options.keeps { try? FileManager.default.removeItem(atPath: directory) }
        simulator = try await .start(belfry: options.belfry, directory: "\(directory)/simulator")
    }

    func serverWithCrowd() async throws -> (Server, Crowd) {
        if let known { return known }
        let server = try await startServer()
        do {
            let crowd = try await options.scale ? world(at: server) : registered(at: server)
            // The last of them come into the posting lists a little later.
            try await Task.sleep(for: .seconds(3))
            known = (server, crowd)
            return (server, crowd)
        } catch {
            try await server.stop()
            throw error
        }
    }

    private var serverDirectory: String { "\(directory)/\(options.scale ? "world" : "server")-\(options.devices)" }

    private func startServer(_ settings: [String: String] = [:]) async throws -> Server {
        try await .start(
            belfry: options.belfry, directory: serverDirectory, simulator: simulator,
            settings: settings.merging(["BELFRY_PCF_VERIFY_CUSTOM_USER_ID": "false"]) { $1 })
    }

    private func registered(at server: Server) async throws -> Crowd {
        note("registering \(options.devices.grouped) devices")
        let (crowd, rate) = try await Crowd.register(count: options.devices, at: server, in: serverDirectory)
        if let rate { note("registered at \(rate.perSecond)") }
        return crowd
    }

    private func world(at server: Server) async throws -> Crowd {
        arrival = try await World.arrive(count: options.devices, at: server, in: serverDirectory)
        let (crowd, _) = try await Crowd.register(
            count: options.devices, singleCount: World.singleCount, isThere: true, at: server, in: serverDirectory)
        return crowd
    }

    /// Starts the server with the devices anew, with settings of its own.
    ///
    /// - Parameter body: is called while the server is stopped, with its database.
    func restartServer(_ settings: [String: String], _ body: (String) async throws -> Void) async throws -> Server {
        let (server, crowd) = try await serverWithCrowd()
        try await server.stop()
        known = nil
        try await body(server.databaseFile)
        let another = try await startServer(settings)
        known = (another, crowd)
        return another
    }

    /// Milliseconds from a push's posting to its first batch and to its last. The provider dawdles meanwhile, so that the fan-out has the
    /// cores for itself.
    func fanOut(
        to count: Int, at server: Server, _ post: () async throws -> Sender.Posted
    ) async throws -> (first: Double, whole: Double) {
        let before = (fanOut: try await server.fanOut(), answered: try await server.answered())
        try await simulator.delay(by: 3_000)
        let sentAt = try await post().sentAt
        while try await server.fanOut() == before.fanOut { try await Task.sleep(for: .milliseconds(1)) }
        let first = WallClock.now - sentAt
        while try await server.fanOut() < before.fanOut + count { try await Task.sleep(for: .milliseconds(10)) }
        let whole = WallClock.now - sentAt
        try await simulator.delay(by: 0)
        while try await server.answered() < before.answered + count { try await Task.sleep(for: .milliseconds(20)) }
        return (first, whole)
    }

    func mix() async throws -> ProviderMix {
        if let knownMix { return knownMix }
        let mix = try await ProviderMix.build(on: self)
        knownMix = mix
        return mix
    }

    func strike() async throws {
        try await knownMix?.strike()
        try await known?.0.stop()
        try await simulator.stop()
        if !options.keeps { try? FileManager.default.removeItem(atPath: directory) }
    }
}

/// Says on standard error what is being done.
func note(_ words: String) { FileHandle.standardError.write(Data("\(words)\n".utf8)) }
