extension Duration {
    /// Nanoseconds, at least 0 and at most about 146 years.
    package var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < Int64.max / 2_000_000_000 else { return UInt64(Int64.max / 2) }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
