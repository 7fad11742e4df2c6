import Synchronization

/// So many in each stretch of time, for each of many keys; a stretch begins with its first event.
///
/// Source: firebase.google.com, "Throttling and scaling": buckets are refilled each minute, and minutes are not those of
/// the clock.
final class Quota: Sendable {
    private struct Stretch {
        var began: Duration
        var used: Int
    }

    private let most: Int
    private let length: Duration
    private let stretches = Mutex<[String: Stretch]>([:])
    /// More than this many are forgotten rather than kept.
    private static let stretchesMax = 100_000

    init(_ most: Int, per length: Duration) {
        self.most = most
        self.length = length
    }

    /// Takes one; or tells how long to wait for the next.
    func take(_ key: String, at now: Duration) -> Duration? {
        stretches.withLock { stretches in
            guard let stretch = stretches[key], now < stretch.began + length else {
                if stretches.count >= Self.stretchesMax {
                    stretches = stretches.filter { now < $0.value.began + length }
                    if stretches.count >= Self.stretchesMax { stretches.removeAll() }
                }
                stretches[key] = Stretch(began: now, used: 1)
                return most > 0 ? nil : length
            }
            guard stretch.used < most else { return stretch.began + length - now }
            stretches[key]?.used += 1
            return nil
        }
    }
}

extension Duration {
    /// Whole seconds, the next above.
    var secondsUp: Int64 {
        let (seconds, attoseconds) = components
        return attoseconds > 0 ? seconds + 1 : seconds
    }
}
