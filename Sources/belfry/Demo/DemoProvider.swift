import BelfrySimulators
import Foundation
import NIOPosix

/// The simulated APNs of the demo, and the key that it knows.
struct DemoProvider: Sendable {
    let simulator: APNsSimulator
    let key: APNsSimulator.IssuedKey

    static let topic = "org.example.belfry-demo"

    static func start() async throws -> DemoProvider {
        let key = APNsSimulator.IssuedKey()
        var configuration = APNsSimulator.Configuration()
        configuration.authentication = .tokens([key.known])
        configuration.topics = [topic]
        let simulator = try await APNsSimulator.start(
            configuration, group: MultiThreadedEventLoopGroup.singleton)
        return DemoProvider(simulator: simulator, key: key)
    }

    func shutdown() async throws { try await simulator.shutdown() }
}
