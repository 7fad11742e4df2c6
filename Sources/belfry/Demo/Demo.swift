import ArgumentParser
import BelfryServer
import BelfryService
import FoundationEssentials
import Logging
import Metrics
import Synchronization

/// The main job, end to end, on one machine: server, providers, devices, pushes, and their results.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the main job end to end: a server, simulated providers, 10,000 devices and three pushes.",
        discussion: """
            It lives in a temporary directory of its own, and reads no configuration file and no BELFRY_* variable: it never \
            touches a database that it did not make.
            """)

    @Option(help: "The port to serve on. [default: 8080]") var port: Int?
    @Option(help: "The port for metrics and health. [default: 9090]") var managementPort: Int?
    @Option(help: "How many devices to register.") var devices = 10_000
    @Option(
        help: ArgumentHelp(
            "A directory for its database, to be kept; it must not hold one yet. [default: a temporary one]",
            valueName: "directory"))
    var dataDirectory: String?
    @Option(help: "trace, debug, info, notice, warning, error or critical.") var logLevel = "warning"
    @Flag(help: "End after the summary: exit 0, or 1 where a count is not what it must be.") var once = false

    func validate() throws {
        guard (100...1_000_000).contains(devices) else {
            throw ValidationError("--devices is \(devices), it has to be in 100...1000000")
        }
    }

    func run() async throws {
        let directory = try DemoDirectory(kept: dataDirectory)
        let result = await Result { try await run(in: directory.path) }
        directory.remove()
        try result.get()
    }

    private func run(in directory: String) async throws {
        let flags = [
            "http.port": String(port ?? 8080), "management.port": String(managementPort ?? 9090),
            "data.directory": directory, "log.level": logLevel,
            // Subscriptions and channels lead to this machine.
            "providers.addresses.allow": "127.0.0.0/8, ::1",
        ]
        let configuration = try await ServerConfiguration.load(flags: flags, environment: [:])
        let providers = try await DemoProviders()
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        let server = Server(
            configuration: configuration, metrics: registry,
            logger: configuration.logging.makeLogger(keepingIn: .shared))
        let wantsMore = !once
        let (stop, stopper) = AsyncStream.makeStream(of: Void.self)
        let played = Mutex<Result<Bool, any Error>?>(nil)
        do { try configuration.demandListeners() } catch {
            // It reads no settings, so that its flags are all there is to change.
            throw ConfigurationFaults(
                lines: error.lines.map {
                    $0.replacing("http.host, http.port", with: "--port")
                        .replacing("management.host, management.port", with: "--management-port")
                })
        }
        try await server.run(until: stop) { addresses, resources in
            let demoRun = DemoRun(
                providers: providers, operatorService: resources.operatorService, addresses: addresses,
                dataDirectory: configuration.storage.directory)
            let result = await Result { try await demoRun.play(devices: devices, staysUp: wantsMore) }
            played.withLock { $0 = result }
            if !wantsMore { stopper.yield() }
        }
        try await providers.shutdown()
        guard try played.withLock({ try $0?.get() }) == true else { throw ExitCode(1) }
    }
}
