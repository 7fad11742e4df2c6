package import FoundationEssentials

/// One node's part of a resource that all nodes share, such as a quota of a provider; equal for all nodes.
package struct NodeShare: Sendable, Hashable {
    /// The number of nodes that share.
    package let nodes: Int

    /// The share of a process that is alone.
    package static let whole = NodeShare(nodes: 1)

    package init(nodes: Int) {
        precondition(nodes >= 1, "this node has a share")
        self.nodes = nodes
    }

    /// - Parameters:
    ///   - nodes: as the store lists them. A node that was told to stop still sends what it began; one that is gone sends
    ///     nothing.
    ///   - own: counts whether it is listed or not.
    package init(of own: UUID, among nodes: [Node]) {
        self.init(nodes: 1 + nodes.count { $0.uuid != own && $0.state != .gone })
    }

    /// Rounded down, so that all parts together do not exceed the whole; but at least one, since otherwise no node
    /// could do anything.
    package func part(of whole: Int) -> Int { max(1, whole / nodes) }
}

extension RateLimit {
    /// The limit for this many callers together.
    package func times(_ count: Int) -> RateLimit {
        guard count > 1 else { return self }
        return RateLimit(perSecond: min(Int(perSecond) * count, 1_000_000), burst: min(Int(burst) * count, 1_000_000))
    }

    package func part(_ share: NodeShare) -> RateLimit {
        RateLimit(perSecond: share.part(of: Int(perSecond)), burst: share.part(of: Int(burst)))
    }
}
