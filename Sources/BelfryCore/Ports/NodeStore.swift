package import FoundationEssentials

/// Who serves, each known by what it says of itself; the times are the store's.
package protocol NodeStore: Sendable {
    /// Writes down that the node lives, and clears away those that are forgotten (`Node.forgottenAfter`).
    func beat(_ report: NodeReport) async throws
    /// Takes a node off the list that ends in good order.
    func leave(_ node: UUID) async throws
    /// The longest known first.
    func nodes() async throws -> [Node]
}
