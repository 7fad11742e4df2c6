import BelfryKit
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Numbers drawn by a seed, so that a life can be played again.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &+ 0x9E37_79B9_7F4A_7C15 }

    /// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// The network of a phone: it may be away, and the app may end before or after the server has done what a request asks.
final class Network: Transport {
    enum Condition: Sendable { case fine, offline, lostBefore, lostAfter }

    private let condition = Mutex<Condition>(.fine)
    private let base = URLSessionTransport(session: URLSession(configuration: .ephemeral))

    func become(_ new: Condition) { condition.withLock { $0 = new } }

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        let now = condition.withLock { condition in
            defer { if condition != .offline { condition = .fine } }
            return condition
        }
        switch now {
        case .fine: return try await base.send(request)
        case .offline, .lostBefore: throw URLError(.notConnectedToInternet)
        case .lostAfter:
            _ = try await base.send(request)
            throw URLError(.networkConnectionLost)
        }
    }
}

struct FixedIdentity: DeviceIdentity {
    let own: UUID

    func identity() throws -> UUID { own }
}
