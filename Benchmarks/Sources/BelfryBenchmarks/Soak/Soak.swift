import ArgumentParser
import Foundation

/// All that a server does at once, with faults, and a line a minute of what it holds. Fails when something grows.
struct Soak: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Mixed load with faults for a while: does anything grow?")

    @Option(help: "How long.") var minutes = 30
    @Option(help: "How many devices are registered.") var devices = 100_000
    @Option(help: "The program to judge.") var belfry = ".build-release/release/belfry"
    @Option(help: "Where the database and the logs go; it has to be on a real disk.") var directory =
        ".build-bench/soak"

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        try? FileManager.default.removeItem(atPath: directory)
        let simulator = try await Simulator.start(belfry: belfry, directory: "\(directory)/simulator")
        let server = try await Server.start(belfry: belfry, directory: "\(directory)/server", simulator: simulator)
        var record = SoakRecord()
        do {
            let (crowd, _) = try await Crowd.register(count: devices, at: server, in: directory)
            let load = SoakLoad(
                server: server, sender: try await Sender(server), simulator: simulator, crowd: crowd)
            print(SoakRecord.head)
            for minute in 0..<minutes {
                let fault = SoakFault.allCases[minute % SoakFault.allCases.count]
                let waits = try await load.run(for: 60_000, with: fault)
                record.add(
                    SoakMinute(
                        number: minute + 1, fault: fault, waits: waits, server: server.child.meter,
                        data: "\(directory)/server/data"))
            }
        } catch {
            try await server.stop()
            try await simulator.stop()
            throw error
        }
        try await server.stop()
        try await simulator.stop()
        let growth = record.growth
        print(growth.isEmpty ? "\nNothing grew." : "\n\(growth.joined(separator: "\n"))")
        if !growth.isEmpty { throw ExitCode.failure }
    }
}

/// The provider's fault in a minute.
enum SoakFault: String, Sendable, CaseIterable {
    case none, throttled, goAway = "go-away", closed, resets

    /// As the simulator's script has it; docs/Simulators.md.
    var script: String? {
        switch self {
        case .none: nil
        case .throttled: #"{"when":{},"times":2000,"then":{"answer":{"status":429,"reason":"TooManyRequests"}}}"#
        case .goAway:
            #"{"when":{"request":500},"times":10,"then":{"goAway":{"lastStream":"before","reason":"Shutdown"}}}"#
        case .closed: #"{"when":{"request":700},"times":10,"then":{"close":{"told":true}}}"#
        case .resets: #"{"when":{"share":0.001},"times":500,"then":{"reset":{"code":7,"told":false}}}"#
        }
    }
}
