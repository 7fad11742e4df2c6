import NIOCore
import Synchronization

/// The bytes of records and requests that connections hold and that are not answered yet: for each address, an IPv6 network of /64 as one,
/// and for all together.
final class HeldBytes: Sendable {
    private struct Held {
        var total = 0
        var byAddress: [[UInt8]: Int] = [:]
    }

    private let held = Mutex(Held())
    private let limit: Int

    /// - Parameter limit: for all; an address may have a quarter of it.
    init(limit: Int) { self.limit = limit }

    var total: Int { held.withLock(\.total) }

    /// The part of what one connection holds.
    func share(of address: SocketAddress?) -> Share { Share(self, address: address?.site ?? []) }

    final class Share: Sendable {
        private let all: HeldBytes
        private let address: [UInt8]

        fileprivate init(_ all: HeldBytes, address: [UInt8]) {
            self.all = all
            self.address = address
        }

        /// Then connections that hold any read no more until it is answered.
        var isFull: Bool {
            all.held.withLock { held in
                held.total >= all.limit || held.byAddress[address, default: 0] >= max(1, all.limit / 4)
            }
        }

        func hold(_ count: Int) { change(by: count) }

        func release(_ count: Int) { change(by: -count) }

        private func change(by count: Int) {
            guard count != 0 else { return }
            all.held.withLock { held in
                held.total += count
                let sum = held.byAddress[address, default: 0] + count
                held.byAddress[address] = sum == 0 ? nil : sum
            }
        }
    }
}

extension SocketAddress {
    /// The four bytes of an IPv4 address, the first eight of one of IPv6.
    ///
    /// Source: ip(7) and ipv6(7): `sin_addr` is at byte 4 of its structure, `sin6_addr` at byte 8 of its own.
    fileprivate var site: [UInt8] {
        switch self {
        case .v4(let address): withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        case .v6(let address):
            withUnsafeBytes(of: address.address) { bytes in
                // An IPv4 address at a listener for both. Source: RFC 4291 §2.5.5.2.
                let isMapped = bytes[8..<18].allSatisfy { $0 == 0 } && bytes[18] == 0xFF && bytes[19] == 0xFF
                return Array(isMapped ? bytes[20..<24] : bytes[8..<16])
            }
        case .unixDomainSocket: []
        }
    }
}
