/// Deletes expired rows in short transactions, so that other writes run in between.
package protocol RetentionStore: Sendable {
    /// Deletes some rows that ended before an instant. Of nodes that share a store, one does it at a time; the others delete nothing.
    func deleteExpired(_ kind: Retention.Kind, before: Instant) async throws -> DeletedRows
}

/// The result of one step.
package struct DeletedRows: Sendable, Hashable {
    package var rows: Int
    /// Whether another step may find more.
    package var isMore: Bool

    package init(rows: Int = 0, isMore: Bool = false) {
        self.rows = rows
        self.isMore = isMore
    }

    /// The most rows of a step. A batch of answers is about a kilobyte.
    package static let rowsMax = 200
    /// The most pushes of a step.
    package static let pushesMax = 250
}
