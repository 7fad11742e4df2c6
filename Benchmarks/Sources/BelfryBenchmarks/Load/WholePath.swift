/// Pushes from their POST to the last answer, one after the other.
struct WholePath: Sendable {
    let simulator: Simulator
    let sender: Sender

    struct Sample: Sendable {
        let rate: Double
        let cpuPerThousand: Double
        let peakMiB: Double
    }

    /// - Parameter post: posts a push to `size` devices.
    func push(times: Int, to size: Int, _ post: () async throws -> Sender.Posted) async throws -> Sample {
        let server = sender.server
        try await simulator.forget()
        try server.child.meter.resetPeak()
        let before = try await server.answered()
        let cpu = server.child.meter.cpuMilliseconds
        var receipts: [String] = []
        for number in 1...times {
            receipts.append(try await post().receipt)
            while try await server.answered() < before + number * size { try await Task.sleep(for: .milliseconds(20)) }
        }
        let used = server.child.meter.cpuMilliseconds - cpu
        let peak = server.child.meter.peakMiB
        var seconds = 0.0
        for id in receipts {
            let receipt = try await server.receipt(id)
            guard receipt.state == "settled", receipt.counts == ["accepted": size] else {
                throw BenchmarkFault("a push to \(size) devices ended as \(receipt)")
            }
            seconds += try receipt.seconds()
        }
        return Sample(
            rate: Double(size * times) / seconds, cpuPerThousand: used / Double(size * times) * 1_000, peakMiB: peak)
    }
}
