import Synchronization

/// A limit for each window of time and key; a window begins with its first event.
///
/// Source: firebase.google.com, "Throttling and scaling": buckets are refilled each minute, not aligned with the clock.
final class Quota: Sendable {
    private struct Window {
        var began: Duration
        var used: Int
    }

    private let most: Int
    private let length: Duration
    private let windows = Mutex<[String: Window]>([:])
    /// Beyond this number all windows are dropped.
    private static let windowsMax = 100_000

    init(_ most: Int, per length: Duration) {
        self.most = most
        self.length = length
    }

    /// Takes one; or returns how long to wait for the next.
    func take(_ key: String, at now: Duration) -> Duration? {
        windows.withLock { windows in
            guard let window = windows[key], now < window.began + length else {
                if windows.count >= Self.windowsMax {
                    windows = windows.filter { now < $0.value.began + length }
                    if windows.count >= Self.windowsMax { windows.removeAll() }
                }
                windows[key] = Window(began: now, used: 1)
                return most > 0 ? nil : length
            }
            guard window.used < most else { return window.began + length - now }
            windows[key]?.used += 1
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
