import FoundationEssentials

/// The default time of day for simulators.
enum WallClock {
    /// Time since 1970.
    @Sendable static func now() -> Duration {
        .seconds(Date().timeIntervalSince1970)
    }
}

extension Duration {
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
