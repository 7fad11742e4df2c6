/// The rate at which iOS devices are notified while FCM stalls, Web Push times out and WNS throttles, beside a push to them alone.
struct IsolationRow {
    let environment: BenchmarkEnvironment

    private static let troubles: [(part: ProviderMix.Part, fault: String)] = [
        (.fcm, #"{"when":{"path":"/v1"},"then":{"hang":{"told":false}}}"#),
        (.web, #"{"when":{},"then":{"hang":{"told":false}}}"#),
        (.windows, #"{"when":{"path":"/w"},"then":{"answer":{"reason":"Throttled"}}}"#),
    ]

    func measure() async throws -> [Row] {
        let mix = try await environment.mix()
        let rounds = environment.options.longRounds
        _ = try await tell(mix, alone: true, times: 1)
        let undisturbed = try await tell(mix, alone: true, times: rounds)
        for (part, fault) in Self.troubles { try await mix.fail(part, fault) }
        // What the others could not take stays, and is tried again beside the next.
        let disturbed = try await tell(mix, alone: false, times: rounds)
        let told = try await troubledTold(mix)
        guard told == 0 else { throw BenchmarkFault("\(told) devices were told by providers in trouble") }
        let ratio = disturbed.median / undisturbed.median
        return [
            Row(
                what: "iOS, \(mix.size(of: .all).grouped) devices, while FCM stalls, Web Push hangs, WNS answers 406",
                ours: disturbed.median.perSecond, reference: "alone \(undisturbed.median.perSecond)",
                ratio: ratio.fixed(2), target: "≥ 0.8", isReached: ratio >= 0.8,
                memory: mix.server.child.meter.peakMiB.fixed(0))
        ]
    }

    private func tell(_ mix: ProviderMix, alone: Bool, times: Int) async throws -> [Double] {
        var rates: [Double] = []
        for _ in 0..<times {
            let telling = try await mix.tell(.all, on: alone ? .ios : nil, waitingFor: [.ios])
            rates.append(Double(mix.size(of: .all)) / (telling.seconds[.ios] ?? .nan))
            note("  \(alone ? "alone" : "disturbed"): \(rates[rates.count - 1].perSecond)")
        }
        return rates
    }

    private func troubledTold(_ mix: ProviderMix) async throws -> Int {
        var told = 0
        for (part, _) in Self.troubles { told += try await mix.toldCount(of: part) }
        return told
    }
}
