/// Divides the batches that may be claimed among applications that have due ones: one for each application in turn.
package enum FairShare {
    /// A platform of an application with batches due.
    package struct Bidder: Sendable, Hashable {
        package let application: Key<Application>
        package let platform: Key<Platform>
        /// The most batches that it may get.
        package let room: Int

        package init(application: Key<Application>, platform: Key<Platform>, room: Int) {
            self.application = application
            self.platform = platform
            self.room = room
        }
    }

    /// The number of batches that each platform gets, `batchesMax` together at most.
    ///
    /// - Parameter turn: which application goes first, modulo their number; raised by the caller each time, so that a
    ///   remainder does not always go to the same.
    package static func divide(_ batchesMax: Int, among bidders: [Bidder], turn: Int) -> [Key<Platform>: Int] {
        var queues = Dictionary(grouping: bidders.filter { $0.room > 0 }, by: \.application)
        var order = queues.keys.sorted()
        guard !order.isEmpty else { return [:] }
        order = Array(order[(turn % order.count)...] + order[..<(turn % order.count)])
        var shares: [Key<Platform>: Int] = [:]
        var left = batchesMax
        while left > 0, !queues.isEmpty {
            for application in order where left > 0 {
                guard var queue = queues[application], let bidder = queue.first else { continue }
                shares[bidder.platform, default: 0] += 1
                left -= 1
                queue.removeFirst()
                if shares[bidder.platform, default: 0] < bidder.room { queue.append(bidder) }
                queues[application] = queue.isEmpty ? nil : queue
            }
        }
        return shares
    }
}
