/// CPU that hostile requests take beside flat ones of the same length.
struct CostRatio: CustomStringConvertible {
    /// Medians.
    let hostile: Duration
    let flat: Duration

    /// A request that takes less than this is not looked at: the clock and the rest of the server are in the way.
    private static let floor = Duration.milliseconds(4)

    var isBounded: Bool { hostile <= max(flat, Self.floor) * Bounds.costRatio }

    var description: String { "\(hostile) of CPU where a flat request of the same length takes \(flat)" }

    /// Sends each in turn, so that what else happens on the machine meets both.
    ///
    /// - Parameter times: how often each is sent; an attack that is far out of bounds is sent once.
    static func measured(
        _ server: TestServer, times: Int = 5, hostile: () throws -> Void, flat: () throws -> Void
    ) throws -> CostRatio {
        try flat()
        var costs: (hostile: [Duration], flat: [Duration]) = ([], [])
        for _ in 0..<times {
            costs.flat.append(try server.process.cpu(of: flat))
            costs.hostile.append(try server.process.cpu(of: hostile))
            if let cost = costs.hostile.first, cost > .seconds(1) { break }
        }
        return CostRatio(hostile: median(costs.hostile), flat: median(costs.flat))
    }

    private static func median(_ durations: [Duration]) -> Duration { durations.sorted()[durations.count / 2] }
}

extension Duration {
    fileprivate static func * (duration: Duration, factor: Double) -> Duration {
        .seconds((duration / .seconds(1)) * factor)
    }
}
