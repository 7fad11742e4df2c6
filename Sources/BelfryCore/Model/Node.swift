package import FoundationEssentials

/// A process that serves, as others see it by what it last said of itself.
package struct Node: Sendable, Hashable {
    package let uuid: UUID
    package let host: String
    package let version: String
    /// When it was first heard of.
    package let since: Instant
    package let lastSeenAt: Instant
    package let batchesInFlight: Int
    package let state: State

    package enum State: String, Sendable {
        /// It serves and delivers.
        case up
        /// It was told to stop, and finishes what it began.
        case draining
        /// It has not been heard of for a while, and did not take its leave.
        case gone
    }

    /// How often a node says that it lives.
    package static let beat = Duration.seconds(5)
    /// Who is silent for longer is gone.
    package static let silenceMax = Duration.seconds(20)
    /// A node that has been silent for longer is forgotten.
    package static let forgottenAfter = Duration.seconds(86_400)

    package init(_ report: NodeReport, since: Instant, lastSeenAt: Instant, now: Instant) {
        uuid = report.uuid
        host = report.host
        version = report.version
        batchesInFlight = report.batchesInFlight
        self.since = since
        self.lastSeenAt = lastSeenAt
        state = now - lastSeenAt > Self.silenceMax ? .gone : report.isDraining ? .draining : .up
    }
}

/// What a node says of itself.
package struct NodeReport: Sendable, Hashable {
    /// Drawn at its start.
    package let uuid: UUID
    package let host: String
    package let version: String
    package var batchesInFlight: Int
    package var isDraining: Bool

    package init(uuid: UUID, host: String, version: String, batchesInFlight: Int = 0, isDraining: Bool = false) {
        self.uuid = uuid
        self.host = host
        self.version = version
        self.batchesInFlight = batchesInFlight
        self.isDraining = isDraining
    }
}
