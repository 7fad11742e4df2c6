import Foundation

/// Our clients of APNs and FCM on one connection, beside those that are used from Python, against the same simulators.
struct PeerRows {
    let environment: BenchmarkEnvironment

    private static let script = "Scripts/bench-peers"

    func measure() async throws -> [Row] {
        _ = try await Child.run([Self.script, "setup"], log: "\(environment.directory)/peers-setup")
        return [try await apns(), try await fcm()]
    }

    private var requests: Int { environment.options.quick ? 50_000 : 150_000 }
    /// Those of the others, who are slower.
    private var theirRequests: Int { environment.options.quick ? 5_000 : 20_000 }

    private func apns() async throws -> Row {
        let (simulator, keys) = (environment.simulator, environment.simulator.keys)
        let ours = [
            CommandLine.arguments[0], "client", "--port", "\(simulator.port)", "--keys", keys.directory,
            "--requests", "\(requests)", "--connections", "1",
        ]
        let theirs: [String: Any] = [
            "port": simulator.port, "authority": keys.authorityFile, "key": keys.p8, "key_id": keys.keyID,
            "team_id": keys.teamID, "topic": Workload.topic, "payload": Workload.payload,
            "tokens": (0..<Workload.tokenCount).map { Devices.hex($0) }, "requests": theirRequests,
        ]
        let row = try await row("APNs client, one connection", ours, "aioapns", theirs)
        try await simulator.forget()
        return row
    }

    private func fcm() async throws -> Row {
        let provider = try await SimulatedProvider.start(
            "fcm", ["--believing"], upTo: "project-id", belfry: environment.options.belfry,
            directory: "\(environment.directory)/peers-fcm")
        let ours = [
            CommandLine.arguments[0], "fcm-client", "--port", "\(provider.port)", "--account",
            provider.credentialsFile, "--authority", provider.authorityFile, "--requests", "\(requests)",
            "--connections", "1",
        ]
        let theirs: [String: Any] = [
            "send": try provider.fact("send"), "authority": provider.authorityFile,
            "account": provider.credentialsFile,
            "tokens": (0..<Workload.tokenCount).map { FCMWorkload.token($0) }, "requests": theirRequests,
        ]
        do {
            let row = try await row("FCM client, one connection", ours, "firebase-admin", theirs)
            try await provider.stop()
            return row
        } catch {
            try await provider.stop()
            throw error
        }
    }

    /// Runs both in turn.
    private func row(_ what: String, _ ours: [String], _ name: String, _ theirs: [String: Any]) async throws -> Row {
        let file = "\(environment.directory)/\(name).json"
        try JSONSerialization.data(withJSONObject: theirs).write(to: URL(fileURLWithPath: file))
        var (our, their): ([Ended], [Ended]) = ([], [])
        for _ in 0..<environment.options.longRounds {
            our.append(try await run(ours, requests))
            their.append(try await run([Self.script, name, file], theirRequests))
        }
        let ratio = zip(our, their).map { $0.effort.rate / $1.effort.rate }.median
        let cost = zip(our, their).map { $1.effort.cpuPerThousand / $0.effort.cpuPerThousand }.median
        return Row(
            what: "\(what), beside \(name)", ours: our.map(\.effort.rate).median.perSecond,
            reference: "\(name) \(their.map(\.effort.rate).median.perSecond), "
                + "connections: \(their.compactMap(\.connections).max() ?? 0)",
            ratio: "\(ratio.fixed(1)); CPU 1 / \(cost.fixed(1))", target: "told",
            cpu: "\(our.map(\.effort.cpuPerThousand).median.fixed(1)), "
                + "\(their.map(\.effort.cpuPerThousand).median.fixed(1))",
            memory: "\(our.map(\.peakMiB).median.fixed(0)), \(their.map(\.peakMiB).median.fixed(0))")
    }

    private struct Ended {
        let effort: Effort
        let peakMiB: Double
        /// The most that were open at once, as the others tell it.
        let connections: Int?
    }

    /// What a process says of its sending; its start does not count.
    private func run(_ command: [String], _ requests: Int) async throws -> Ended {
        let ended = try await Child.run(command, log: "\(environment.directory)/peer")
        struct Told: Decodable { let connections: Int? }
        let line = ended.output.split(separator: "\n").last ?? ""
        let told = try JSONDecoder().decode(Told.self, from: Data(line.utf8))
        return Ended(
            effort: try Effort(told: ended.output), peakMiB: ended.peakMiB, connections: told.connections)
    }
}
