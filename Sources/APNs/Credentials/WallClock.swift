#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Seconds since 1970 by the system's clock.
public func wallClockSeconds() -> Int64 { Int64(time(nil)) }
