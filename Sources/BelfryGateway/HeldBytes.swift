import NIOCore
import Synchronization

/// The bytes of records and requests that connections hold and that are not answered yet: for each address, and for all together.
final class HeldBytes: Sendable {
    private struct Held {
        var total = 0
        var byAddress: [String: Int] = [:]
    }

    private let held = Mutex(Held())
    private let limit: Int

    /// - Parameter limit: for all; an address may have a quarter of it.
    init(limit: Int) { self.limit = limit }

    var total: Int { held.withLock(\.total) }

    /// The part of what one connection holds.
    func share(of address: SocketAddress?) -> Share { Share(self, address: address?.ipAddress ?? "") }

    final class Share: Sendable {
        private let all: HeldBytes
        private let address: String

        fileprivate init(_ all: HeldBytes, address: String) {
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
