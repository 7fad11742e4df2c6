/// How fast iOS devices are told while FCM stalls, Web Push times out and WNS throttles, beside a push to them alone.
struct IsolationRow {
    let stage: Stage

    private static let troubles: [(part: Town.Part, fault: String)] = [
        (.fcm, #"{"when":{"path":"/v1"},"then":{"hang":{"told":false}}}"#),
        (.web, #"{"when":{},"then":{"hang":{"told":false}}}"#),
        (.windows, #"{"when":{"path":"/w"},"then":{"answer":{"reason":"Throttled"}}}"#),
    ]

    func measure() async throws -> [Row] {
        let town = try await stage.town()
        let rounds = stage.options.longRounds
        _ = try await tell(town, alone: true, times: 1)
        let undisturbed = try await tell(town, alone: true, times: rounds)
        for (part, fault) in Self.troubles { try await town.fail(part, fault) }
        // What the others could not take stays, and is tried again beside the next.
        let disturbed = try await tell(town, alone: false, times: rounds)
        let told = try await troubledTold(town)
        guard told == 0 else { throw BenchmarkFault("\(told) devices were told by providers in trouble") }
        let ratio = disturbed.median / undisturbed.median
        return [
            Row(
                what: "iOS, \(town.size(of: .all).grouped) devices, while FCM stalls, Web Push hangs, WNS answers 406",
                ours: disturbed.median.perSecond, reference: "alone \(undisturbed.median.perSecond)",
                ratio: ratio.fixed(2), target: "≥ 0.8", isReached: ratio >= 0.8,
                memory: town.server.child.meter.peakMiB.fixed(0))
        ]
    }

    private func tell(_ town: Town, alone: Bool, times: Int) async throws -> [Double] {
        var rates: [Double] = []
        for _ in 0..<times {
            let telling = try await town.tell(.all, on: alone ? .ios : nil, waitingFor: [.ios])
            rates.append(Double(town.size(of: .all)) / (telling.seconds[.ios] ?? .nan))
            note("  \(alone ? "alone" : "disturbed"): \(rates[rates.count - 1].perSecond)")
        }
        return rates
    }

    private func troubledTold(_ town: Town) async throws -> Int {
        var told = 0
        for (part, _) in Self.troubles { told += try await town.toldCount(of: part) }
        return told
    }
}
