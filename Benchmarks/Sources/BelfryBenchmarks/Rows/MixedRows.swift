/// One POST to devices of four platforms, to the last answer; and what a message of each platform costs.
struct MixedRows {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let mix = try await environment.mix()
        let agreed = try await WebPushRows(environment: environment).agreementAlone()
        let alone = try await eachAlone(mix)
        let everybody = mix.size(of: .all) * ProviderMix.Part.allCases.count
        let meter = mix.server.child.meter
        try meter.resetPeak()
        let cpu = meter.cpuMilliseconds
        let telling = try await mix.tell(.all, waitingFor: Set(ProviderMix.Part.allCases))
        let receipt = try await mix.settled(telling.receipt, accepted: everybody)
        let used = (meter.cpuMilliseconds - cpu) / Double(everybody) * 1_000
        let costs = ProviderMix.Part.allCases.map { alone[$0]?.cpuPerThousand ?? .nan }
        let sum = costs.reduce(0, +) / Double(costs.count)
        let whole = Row(
            what: "one POST to \(everybody.grouped) devices on four platforms",
            ours: (Double(everybody) / (try receipt.seconds())).perSecond,
            reference: "CPU of the four alone \(sum.fixed(1)) ms", ratio: (used / sum).fixed(2), target: "≤ 1.1",
            isReached: used <= 1.1 * sum, cpu: used.fixed(1), memory: meter.peakMiB.fixed(0))
        let web = alone[.web]?.cpuPerThousand ?? .nan
        let webPush = Row(
            what: "Web Push whole, CPU per 1,000", ours: "\(web.fixed(1)) ms",
            reference: "key agreement alone \(agreed.fixed(1)) ms", ratio: (web / agreed).fixed(2), target: "≤ 1.35",
            isReached: web <= 1.35 * agreed)
        return [whole, webPush] + ProviderMix.Part.allCases.map { row($0, mix, telling, alone[$0]) }
    }

    /// A push to one platform alone.
    private struct Alone {
        let rate: Double
        let cpuPerThousand: Double
        let providersCPUPerThousand: Double
    }

    private func eachAlone(_ mix: ProviderMix) async throws -> [ProviderMix.Part: Alone] {
        var alone: [ProviderMix.Part: Alone] = [:]
        let size = mix.size(of: .some)
        for part in ProviderMix.Part.allCases {
            // The first opens connections.
            _ = try await mix.settled(mix.tell(.some, on: part, waitingFor: [part]).receipt, accepted: size)
            let meters = [mix.server.child.meter, mix.provider(of: part).meter]
            let before = meters.map(\.cpuMilliseconds)
            let telling = try await mix.tell(.some, on: part, waitingFor: [part])
            _ = try await mix.settled(telling.receipt, accepted: size)
            let used = zip(meters, before).map { ($0.cpuMilliseconds - $1) / Double(size) * 1_000 }
            alone[part] = Alone(
                rate: Double(size) / (telling.seconds[part] ?? .nan), cpuPerThousand: used[0],
                providersCPUPerThousand: used[1])
        }
        return alone
    }

    private func row(_ part: ProviderMix.Part, _ mix: ProviderMix, _ telling: ProviderMix.Telling, _ alone: Alone?)
        -> Row
    {
        let seconds = telling.seconds[part] ?? .nan
        let size = mix.size(of: .all)
        return Row(
            what: "its \(size.grouped) of \(part.rawValue), told after \(seconds.fixed(1)) s",
            ours: (Double(size) / seconds).perSecond,
            reference: "alone \((alone?.rate ?? .nan).perSecond)", target: "told",
            cpu: "\((alone?.cpuPerThousand ?? .nan).fixed(1)), \((alone?.providersCPUPerThousand ?? .nan).fixed(1))")
    }
}

extension ProviderMix {
    /// The receipt of a push once it is settled; it must have been accepted for so many.
    func settled(_ id: String, accepted: Int) async throws -> Server.Receipt {
        for _ in 0..<600 {
            let receipt = try await server.receipt(id)
            if receipt.state == "settled" {
                guard receipt.counts == ["accepted": accepted] else {
                    throw BenchmarkFault("a push to \(accepted) devices ended as \(receipt)")
                }
                return receipt
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw BenchmarkFault("push \(id) did not settle")
    }
}
