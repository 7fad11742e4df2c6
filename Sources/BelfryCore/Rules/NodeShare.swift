package import FoundationEssentials

/// One node's part of what all nodes have together, such as a quota of a provider: the same for each that serves.
package struct NodeShare: Sendable, Hashable {
    /// How many divide it.
    package let nodes: Int

    /// Of a process that is alone.
    package static let whole = NodeShare(nodes: 1)

    package init(nodes: Int) {
        precondition(nodes >= 1, "this node has a share")
        self.nodes = nodes
    }

    /// - Parameters:
    ///   - nodes: as the store lists them. One that was told to stop still sends what it began; one that is gone sends
    ///     nothing.
    ///   - own: counts whether it is listed or not.
    package init(of own: UUID, among nodes: [Node]) {
        self.init(nodes: 1 + nodes.count { $0.uuid != own && $0.state != .gone })
    }

    /// Rounded down, so that all parts together are no more than the whole; but one at least, since without any nothing
    /// would ever go on.
    package func part(of whole: Int) -> Int { max(1, whole / nodes) }
}

extension RateLimit {
    package func part(_ share: NodeShare) -> RateLimit {
        RateLimit(perSecond: share.part(of: Int(perSecond)), burst: share.part(of: Int(burst)))
    }
}
