import Foundation

/// Providers that are posted to device by device: Web Push over one HTTP/2 connection beside h2load, WNS over HTTP/1.1 beside wrk,
/// each with the same bytes to the same simulator.
struct PostingRows {
    let environment: BenchmarkEnvironment

    private struct Ended {
        let rate: Double
        /// The CPU time of the whole process.
        let cpuPerThousand: Double
        let peakMiB: Double
    }

    func measure() async throws -> [Row] { try await webPush() + wns() }

    private var requests: Int { environment.options.quick ? 50_000 : 150_000 }

    private func webPush() async throws -> [Row] {
        let provider = try await SimulatedProvider.start(
            "webpush", ["--believing", "--subscriptions", "20000"], upTo: "endpoints",
            belfry: environment.options.belfry, directory: "\(environment.directory)/posting-web-push")
        let endpoints = try provider.fact("endpoints")
        let addresses = try write((0..<Workload.tokenCount).map { "\(endpoints)s\($0)" }, of: provider)
        let h2load = try H2Load(webPush: provider, addresses: addresses)
        var ours: [Ended] = []
        var theirs: [H2Load.Result] = []
        _ = try await h2load.run(requests: 20_000, connections: 1)
        for _ in 0..<environment.options.rounds {
            theirs.append(try await h2load.run(requests: requests, connections: 1))
            ours.append(try await client("web-push", provider, addresses, requests))
        }
        try await provider.stop()
        let ratio = zip(ours, theirs).map { $0.rate / $1.rate }.median
        let cpu = zip(ours, theirs).map { $0.cpuPerThousand / $1.cpuPerThousand }.median
        return [
            Row(
                what: "Web Push over HTTP/2, one connection, ready-made ciphertext",
                ours: ours.map(\.rate).median.perSecond, reference: "h2load \(theirs.map(\.rate).median.perSecond)",
                ratio: ratio.fixed(2), target: "≥ 0.7", isReached: ratio >= 0.7,
                cpu: "\(ours.map(\.cpuPerThousand).median.fixed(1)), \(theirs.map(\.cpuPerThousand).median.fixed(1))",
                memory: "\(ours.map(\.peakMiB).median.fixed(0)), \(theirs.map(\.peakMiB).median.fixed(0))"),
            Row(
                what: "its CPU per 1,000", ours: "\(ours.map(\.cpuPerThousand).median.fixed(2)) ms",
                reference: "h2load \(theirs.map(\.cpuPerThousand).median.fixed(2)) ms", ratio: cpu.fixed(2),
                target: "told"),
        ]
    }

    private func wns() async throws -> [Row] {
        let provider = try await SimulatedProvider.start(
            "wns", ["--believing"], upTo: "entra-client-secret", belfry: environment.options.belfry,
            directory: "\(environment.directory)/posting-wns")
        let channels = try provider.fact("channels")
        let addresses = try write((0..<Workload.tokenCount).map { "\(channels)\(Devices.hex($0))" }, of: provider)
        let wrk = try Wrk(provider, addresses: addresses)
        let options = [
            "--token-url", try provider.fact("token"), "--client-id", try provider.fact("package-sid"),
            "--client-secret", try provider.fact("client-secret"),
        ]
        var ours: [Ended] = []
        var theirs: [Ended] = []
        for _ in 0..<environment.options.rounds {
            let result = try await wrk.run(seconds: environment.options.quick ? 3 : 6)
            theirs.append(Ended(rate: result.rate, cpuPerThousand: result.cpuPerThousand, peakMiB: result.peakMiB))
            ours.append(try await client("wns", provider, addresses, requests, options))
        }
        try await provider.stop()
        let ratio = zip(ours, theirs).map { $0.rate / $1.rate }.median
        let cpu = zip(ours, theirs).map { $0.cpuPerThousand / $1.cpuPerThousand }.median
        return [
            Row(
                what: "WNS over HTTP/1.1, 64 connections", ours: ours.map(\.rate).median.perSecond,
                reference: "wrk \(theirs.map(\.rate).median.perSecond)", ratio: ratio.fixed(2), target: "≥ 0.5",
                isReached: ratio >= 0.5,
                cpu: "\(ours.map(\.cpuPerThousand).median.fixed(1)), \(theirs.map(\.cpuPerThousand).median.fixed(1))",
                memory: "\(ours.map(\.peakMiB).median.fixed(0)), \(theirs.map(\.peakMiB).median.fixed(0))"),
            Row(
                what: "its CPU per 1,000", ours: "\(ours.map(\.cpuPerThousand).median.fixed(1)) ms",
                reference: "wrk \(theirs.map(\.cpuPerThousand).median.fixed(1)) ms", ratio: cpu.fixed(2),
                target: "≤ 3", isReached: cpu <= 3),
        ]
    }

    private func write(_ addresses: [String], of provider: SimulatedProvider) throws -> String {
        let file = "\(provider.directory)/addresses"
        try addresses.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    private func client(
        _ service: String, _ provider: SimulatedProvider, _ addresses: String, _ requests: Int, _ options: [String] = []
    ) async throws -> Ended {
        let ended = try await Child.run(
            [
                CommandLine.arguments[0], "posting", "--service", service, "--addresses", addresses,
                "--authority", provider.authorityFile, "--requests", "\(requests)",
            ] + options, log: "\(environment.directory)/posting-client")
        return Ended(
            rate: try Effort(told: ended.output).rate,
            cpuPerThousand: ended.cpuMilliseconds / Double(requests) * 1_000, peakMiB: ended.peakMiB)
    }
}
