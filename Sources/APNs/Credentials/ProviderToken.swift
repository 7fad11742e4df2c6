import HTTP2Client
import Synchronization

/// The signed token of one team and key, shared by all connections that use it.
final class ProviderToken: Sendable {
    private let held = Mutex(Held())
    private let sign: @Sendable (Int64) throws -> [UInt8]

    private struct Held {
        var schedule = TokenSchedule()
        var header: HTTP2Header?
    }

    init(sign: @escaping @Sendable (Int64) throws -> [UInt8]) { self.sign = sign }

    /// Distinguishes the present token from one that was replaced after APNs reported it expired.
    var generation: Int { held.withLock { $0.schedule.generation } }

    func header(at now: Int64) throws -> HTTP2Header {
        try held.withLock { held in
            if !held.schedule.advance(at: now), let header = held.header { return header }
            let header = HTTP2Header(
                name: Array("authorization".utf8),
                value: Array("bearer ".utf8) + (try sign(held.schedule.issuedAt ?? now)))
            held.header = header
            return header
        }
    }

    /// Replaces a token of `generation` that APNs reported expired; false if that has already been done.
    func expire(_ generation: Int, at now: Int64) -> Bool {
        held.withLock { held in
            guard held.schedule.expire(generation, at: now) else { return false }
            held.header = nil
            return true
        }
    }
}
