package import FoundationEssentials

/// A server process, as its last heartbeat describes it.
package struct Node: Sendable, Hashable {
    package let uuid: UUID
    package let host: String
    /// The URL at which it serves, such as `https://10.0.0.7:8080`.
    package let address: String
    package let version: String
    /// The time of its first heartbeat.
    package let since: Instant
    package let lastSeenAt: Instant
    package let batchesInFlight: Int
    package let state: State
    /// The time since its last heartbeat.
    package let silence: Duration

    package enum State: String, Sendable {
        /// It serves and delivers.
        case up
        /// It was told to stop, and finishes its work.
        case draining
        /// It stopped sending heartbeats without deregistering.
        case gone
    }

    /// The time between the heartbeats of a node.
    package static let heartbeatInterval = Duration.seconds(5)
    /// A node silent for longer has missed a heartbeat, and may have died.
    package static let silentAfter = Duration.seconds(10)
    /// A node silent for longer is `gone`.
    package static let goneAfter = Duration.seconds(20)
    /// A node silent for longer is deleted from the list.
    package static let deletedAfter = Duration.seconds(86_400)

    /// Whether it has missed heartbeats. Its batches in flight are sent by others once its leases end.
    package var isSilent: Bool { silence > Self.silentAfter }

    package init(_ report: NodeReport, since: Instant, lastSeenAt: Instant, now: Instant) {
        uuid = report.uuid
        host = report.host
        address = report.address
        version = report.version
        batchesInFlight = report.batchesInFlight
        self.since = since
        self.lastSeenAt = lastSeenAt
        silence = max(.zero, now - lastSeenAt)
        state = now - lastSeenAt > Self.goneAfter ? .gone : report.isDraining ? .draining : .up
    }
}

extension [Node] {
    /// The nodes without those that are gone and replaced: a restarted server is a new node.
    package var withoutReplaced: [Node] {
        let taken = Set(lazy.filter { $0.state != .gone }.map { [$0.host, $0.address] })
        return filter { $0.state != .gone || !taken.contains([$0.host, $0.address]) }
    }
}

/// The content of a node's heartbeat.
package struct NodeReport: Sendable, Hashable {
    /// Drawn when the process starts.
    package let uuid: UUID
    package let host: String
    /// The URL at which it serves.
    package let address: String
    package let version: String
    package var batchesInFlight: Int
    package var isDraining: Bool

    package init(
        uuid: UUID, host: String, address: String = "", version: String, batchesInFlight: Int = 0,
        isDraining: Bool = false
    ) {
        self.uuid = uuid
        self.host = host
        self.address = address
        self.version = version
        self.batchesInFlight = batchesInFlight
        self.isDraining = isDraining
    }
}
