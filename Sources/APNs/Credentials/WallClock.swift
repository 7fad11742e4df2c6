import FoundationEssentials

/// Seconds since 1970 by the system's clock.
public func wallClockSeconds() -> Int64 { Int64(Date().timeIntervalSince1970) }
