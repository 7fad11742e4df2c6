import ArgumentParser
import BelfryServer
import BelfryService
import Foundation
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

/// Runs the demo against a running server: registers devices, sends the example pushes, and compares.
struct DemoRun: Sendable {
    let providers: DemoProviders
    let operatorService: OperatorService
    let addresses: Server.Addresses
    let dataDirectory: String

    private static let name = "Belfry demo"

    /// Returns whether every count was the expected one.
    func play(devices count: Int, staysUp: Bool) async throws -> Bool {
        let names = providers.all.map(\.provider.name).joined(separator: ", ")
        print("Belfry serves on \(addresses.http), with simulated providers: \(names).\n")
        let application = try await operatorService.createApplication(name: Self.name)
        var platforms: [PlatformKind: CreatedPlatform] = [:]
        for (provider, _) in providers.all {
            platforms[provider.kind] = try await operatorService.createPlatform(
                of: application.application, kind: provider.kind, mode: .development,
                name: "\(provider.name) (simulated)", credentials: provider.credentials)
        }
        let crowd = DemoCrowd(count: count, providers: providers, now: SystemClock().now)
        let client = DemoClient(base: addresses.http, application: application, platforms: platforms)
        let result = await Result { try await play(with: client, crowd: crowd, staysUp: staysUp) }
        await client.shutdown()
        return try result.get()
    }

    private func play(with client: DemoClient, crowd: DemoCrowd, staysUp: Bool) async throws -> Bool {
        let addressee = try await client.register(crowd)
        var rows: [DemoRow] = []
        for push in DemoPush.all(crowd: crowd, addressee: addressee, now: SystemClock().now) {
            print("→ \(push.name)")
            let receiptID = try await client.push(push.body)
            rows.append(DemoRow(push: push, receipt: try await follow(receiptID)))
        }
        let platforms = try await platformRows(of: rows, client, crowd)
        print("")
        DemoRow.show(rows)
        print("")
        DemoPlatformRow.show(platforms)
        print("")
        let othersAreTold = try await DemoOtherClients(
            client: client, operatorService: operatorService, apple: providers.all[0].provider
        ).play()
        let isRight =
            othersAreTold && rows.allSatisfy(\.isRight) && platforms.allSatisfy(\.isRight)
        print(isRight ? "\n✓ Every device has the answer it must have." : "\n✗ Some counts are not what they must be.")
        if staysUp {
            client.explain(addressee: addressee, management: addresses.management, dataDirectory: dataDirectory)
        }
        return isRight
    }

    private func platformRows(
        of rows: [DemoRow], _ client: DemoClient, _ crowd: DemoCrowd
    ) async throws -> [DemoPlatformRow] {
        var found: [Key<Platform>: DemoTally] = [:]
        for row in rows {
            for (platform, counts) in try await operatorService.store.answerCounts(of: row.receipt.push.key) {
                found[platform, default: DemoTally()] += DemoTally(counts)
            }
        }
        return providers.all.map { provider, _ in
            var expected = DemoTally()
            for row in rows { expected += row.push.expected(on: provider.kind) }
            let key = client.platforms[provider.kind]?.platform.key
            return DemoPlatformRow(
                provider: provider, registered: crowd.members.count { $0.kind == provider.kind }, expected: expected,
                found: key.flatMap { found[$0] } ?? DemoTally())
        }
    }

    private func follow(_ receiptID: UUID) async throws -> Receipt {
        try await Follower(backend: .local(operatorService), isQuiet: false).follow(receiptID)
        return try await operatorService.receipt(receiptID)
    }
}

/// The place of the demo's database: a temporary directory that is removed at the end, or a named one that is kept.
struct DemoDirectory {
    let path: String
    private let isKept: Bool

    init(kept: String?) throws {
        isKept = kept != nil
        if let kept {
            guard !FileManager.default.fileExists(atPath: kept + "/belfry.sqlite") else {
                throw ValidationError(
                    "--data-directory \(kept) holds a database already, which the demo does not touch; name another one"
                )
            }
            path = kept
        } else {
            path =
                FileManager.default.temporaryDirectory.appendingPathComponent("belfry-demo-\(UUID().uuidString)").path
        }
    }

    /// Removes the directory if it is a temporary one.
    func remove() {
        if !isKept { try? FileManager.default.removeItem(atPath: path) }
    }
}
