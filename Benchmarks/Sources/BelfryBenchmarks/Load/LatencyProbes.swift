/// Sends pushes to one device each, one after the other, and measures when each is notified.
struct LatencyProbes: Sendable {
    let simulator: Simulator
    let sender: Sender
    let crowd: Crowd

    struct Probe: Sendable {
        let posted: Sender.Posted
        /// Milliseconds since 1970.
        let toldAt: Double

        /// Milliseconds from the request to the provider.
        var wait: Double { toldAt - posted.sentAt }
    }

    /// - Parameters:
    /// - places: devices among those that get single pushes; none that was notified since the ledger was cleared.
    ///   - isOn: looked at before each; no more are sent once it is false.
    func tell(
        _ places: some Sequence<Int>, pace: Duration, while isOn: () async throws -> Bool = { true }
    ) async throws -> [Probe] {
        var probes: [Probe] = []
        for place in places {
            guard try await isOn() else { break }
            let posted = try await sender.push(toDevice: crowd.singles[place])
            try await Task.sleep(for: pace)
            probes.append(Probe(posted: posted, toldAt: try await toldAt(place)))
        }
        return probes
    }

    private func toldAt(_ place: Int) async throws -> Double {
        for _ in 0..<1_000 {
            // The ledger cuts off fractions of a millisecond, which are counted against us.
            if let at = try await simulator.firstTold(Crowd.single(place)) { return at + 1 }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw BenchmarkFault("a device was not told within five seconds")
    }
}
