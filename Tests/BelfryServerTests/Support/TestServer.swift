import BelfryProviders
import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Logging
import Testing

/// A whole server in this process, with an application, an iOS platform, and a simulated APNs behind it.
struct TestServer: Sendable {
    let simulator: APNsSimulator
    let key: APNsSimulator.IssuedKey
    let operatorService: OperatorService
    let addresses: Server.Addresses
    let application: CreatedApplication
    let platform: CreatedPlatform
    let log: CapturedLog

    static let topic = "org.example.system"

    var store: any Store { operatorService.store }
    var sender: Caller {
        Caller(base: addresses.http, user: application.application.uuid.lowercased, secret: application.apiKey)
    }
    var app: Caller { Caller(base: addresses.http, user: platform.platform.uuid.lowercased, secret: platform.secret) }

    /// Runs `body` against a server that tries again within a second or so, and ends the server.
    ///
    /// - Parameter mayLogErrors: whether the faults of this test are for a person to mend; else an error in the log
    ///   fails it.
    static func open(
        mayLogErrors: Bool = false, configure: (inout ServerConfiguration) -> Void = { _ in },
        simulate: (inout APNsSimulator.Configuration) -> Void = { _ in },
        _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        let key = APNsSimulator.IssuedKey()
        var simulation = APNsSimulator.Configuration()
        simulation.authentication = .tokens([key.known])
        simulation.topics = [topic]
        simulate(&simulation)
        let simulator = try await APNsSimulator.start(simulation)
        let log = CapturedLog()
        let result = await Result {
            try await Scratch.with { scratch in
                var configuration = try await quick(in: scratch)
                configure(&configuration)
                try await serve(configuration, log) { addresses, resources in
                    let operatorService = resources.operatorService
                    let application = try await operatorService.createApplication(name: "Bakery")
                    let platform = try await operatorService.createPlatform(
                        of: application.application, kind: .ios, mode: .development, name: "iOS",
                        credentials: credentials(key, of: simulator))
                    try await body(
                        TestServer(
                            simulator: simulator, key: key, operatorService: operatorService, addresses: addresses,
                            application: application, platform: platform, log: log))
                }
            }
        }
        try await simulator.shutdown()
        try result.get()
        if !mayLogErrors { #expect(log.lines(atLeast: .error) == []) }
    }

    /// Free ports, and short waits between attempts. An answer is waited for as long as ever: where a machine stands
    /// still for seconds, devices whose answers are given up would be notified twice.
    static func quick(in scratch: Scratch) async throws -> ServerConfiguration {
        var configuration = try await ServerConfiguration.load(
            flags: ["data.directory": scratch.file("data"), "http.port": "0", "management.port": "0"], environment: [:])
        configuration.retry = RetryPolicy(firstDelay: .milliseconds(100), longestDelay: .milliseconds(500))
        configuration.delivery.poll = .milliseconds(200)
        // Other tests keep the cores busy.
        configuration.broadcastNiceness = 1
        configuration.providers.apns.serverErrorWait = .milliseconds(200)
        configuration.shutdownTimeout = .seconds(10)
        return configuration
    }

    static func credentials(
        _ key: APNsSimulator.IssuedKey, of simulator: APNsSimulator, topic: String = TestServer.topic
    ) -> APNsPlatformCredentials {
        APNsPlatformCredentials(
            identity: .key(p8: key.p8, keyID: key.keyID, teamID: key.teamID), topic: topic,
            endpoint: "https://localhost:\(simulator.port)", trustRootsPEM: simulator.trustRootPEM)
    }

    /// Serves while `body` works.
    static func serve(
        _ configuration: ServerConfiguration, _ log: CapturedLog,
        _ body: @escaping @Sendable (Server.Addresses, ServerResources) async throws -> Void
    ) async throws {
        var logger = log.logger
        logger.logLevel = .trace
        let server = Server(
            configuration: configuration, metrics: PrometheusRegistry(), logger: logger, obeysSignals: false)
        let (ready, opened) = AsyncStream.makeStream(of: (Server.Addresses, ServerResources).self)
        let (stop, end) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { opened.finish() }
                try await server.run(until: stop) { addresses, resources in opened.yield((addresses, resources)) }
            }
            group.addTask {
                defer { end.finish() }
                for await (addresses, resources) in ready { return try await body(addresses, resources) }
            }
            try await group.waitForAll()
        }
    }
}

// MARK: - What tests do in it

extension TestServer {
    func crowd(_ count: Int, topics: Set<String> = [], seed: UInt64 = 1) async throws -> Crowd {
        try await Crowd.register(count, topics: topics, on: platform.platform, in: store, seed: seed)
    }

    func receipt(_ id: UUID) async throws -> Receipt {
        try #require(try await store.receipt(id))
    }

    func hasLogged(_ words: String) -> Bool {
        log.lines(atLeast: .trace).contains { $0.hasPrefix(words) }
    }

    /// Waits until every device of the push has its answer.
    func settled(_ id: UUID, within deadline: Duration = .seconds(600)) async throws -> Receipt {
        try await eventually("push \(id) is settled", within: deadline) {
            let receipt = try await receipt(id)
            return receipt.state == .settled ? receipt : nil
        }
    }

    /// Waits until the platform is parked, and returns why.
    func parked(within deadline: Duration = .seconds(600)) async throws -> Parking {
        try await eventually("the platform is parked", within: deadline) {
            try await store.platform(platform.platform.uuid)?.parked
        }
    }

    func answer(_ device: Device, in receipt: Receipt) async throws -> Answer? {
        try await store.answer(of: device.key, in: receipt.push.key)
    }

    func isActive(_ device: Device) async throws -> Bool? {
        try await store.device(device.uuid, on: platform.platform.key)?.isActive
    }

    /// Whether receipt, answers and ledger all say that each of the crowd was notified.
    ///
    /// - Parameter twiceMax: how many more requests than devices the fault allows to be notified.
    func expectAllTold(
        _ crowd: Crowd, in receipt: Receipt, twiceMax: Int = 0, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(receipt.counts.filter { $0.value > 0 } == [.accepted: crowd.count], sourceLocation: sourceLocation)
        var untold: [Device] = []
        var told = 0
        for device in crowd.devices {
            let count = device.token.flatMap { simulator.ledger.token($0.bytes) }?.told ?? 0
            told += count
            if try await answer(device, in: receipt) != .accepted || count == 0 { untold.append(device) }
        }
        #expect(untold.isEmpty, "\(untold.count) devices were never told", sourceLocation: sourceLocation)
        #expect(told - crowd.count <= twiceMax, "told twice", sourceLocation: sourceLocation)
    }

    func expectAllActive(_ crowd: Crowd, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for device in crowd.devices {
            #expect(try await isActive(device) == true, sourceLocation: sourceLocation)
        }
    }
}
