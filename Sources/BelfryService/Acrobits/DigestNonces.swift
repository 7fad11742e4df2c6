import Synchronization

extension Acrobits {
    /// The counts with which nonces were used, so that an overheard request is taken once.
    ///
    /// Counts may come out of order, 64 apart at most. They are kept for 16,384 nonces; where more are in use, the oldest are over, which
    /// costs a softphone one more request. Source: RFC 7616 §5.5 and §3.4, `nc`.
    final class DigestNonces: Sendable {
        /// One use of a nonce.
        struct Use: Hashable {
            let madeAt: Instant
            let mark: UInt64
            let count: UInt32
        }

        private struct Seen {
            var highest: UInt32
            /// Bit n is set where `highest - n` was used.
            var before: UInt64
        }

        private struct Nonce: Hashable, Comparable {
            let madeAt: Instant
            let mark: UInt64

            static func < (one: Self, other: Self) -> Bool {
                (one.madeAt, one.mark) < (other.madeAt, other.mark)
            }
        }

        private struct Held {
            var seen: [Nonce: Seen] = [:]
            /// Nonces made at or before this time are over.
            var floor: Instant
        }

        private let held: Mutex<Held>
        private let most: Int

        /// - Parameter start: when this process started. How older nonces were used is not known.
        init(since start: Instant, most: Int = 16_384) {
            self.most = most
            held = Mutex(Held(floor: start + .milliseconds(-1)))
        }

        /// Whether it is the first use with this count; it is none the next time.
        func take(_ use: Use) -> Bool {
            held.withLock { held in
                let nonce = Nonce(madeAt: use.madeAt, mark: use.mark)
                guard use.madeAt > held.floor else { return false }
                if held.seen[nonce] == nil, held.seen.count >= most { Self.dropOldest(of: &held, to: most / 2) }
                guard use.madeAt > held.floor else { return false }
                return Self.take(use.count, in: &held.seen[nonce, default: Seen(highest: use.count, before: 0)])
            }
        }

        private static func take(_ count: UInt32, in seen: inout Seen) -> Bool {
            if count > seen.highest {
                let step = count - seen.highest
                seen.before = step >= 64 ? 0 : seen.before << step
                seen.highest = count
            }
            let age = seen.highest - count
            guard age < 64, seen.before & (1 << age) == 0 else { return false }
            seen.before |= 1 << age
            return true
        }

        private static func dropOldest(of held: inout Held, to most: Int) {
            let byAge = held.seen.keys.sorted()
            for nonce in byAge.prefix(byAge.count - most) {
                held.seen[nonce] = nil
                held.floor = max(held.floor, nonce.madeAt)
            }
            held.seen = held.seen.filter { $0.key.madeAt > held.floor }
        }
    }
}
