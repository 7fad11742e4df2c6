package import FoundationEssentials

/// The running nodes. Times are by the store's clock.
package protocol NodeStore: Sendable {
    /// Records a heartbeat, and deletes nodes that were silent for `Node.deletedAfter`.
    func recordHeartbeat(_ report: NodeReport) async throws
    /// Deregisters a node that stops normally.
    func remove(_ node: UUID) async throws
    /// The longest known first.
    func nodes() async throws -> [Node]
}
