import BelfryCore

/// Compares a database's schema with the one this program knows.
package struct SchemaVersion: Sendable, Hashable {
    /// Migrations done, by their names.
    package let applied: [String]
    /// Migrations this program has and the database has not.
    package let missing: [String]
    /// Migrations the database has and this program does not know: a newer program has migrated it.
    package let unknown: [String]

    package var isCurrent: Bool { missing.isEmpty && unknown.isEmpty }

    init(applied: some Sequence<String>, known: [String]) {
        let applied = Set(applied)
        self.applied = applied.sorted()
        missing = known.filter { !applied.contains($0) }
        unknown = applied.subtracting(known).sorted()
    }

    /// Throws unless the schema is the one this program knows.
    func check() throws {
        guard unknown.isEmpty else {
            throw StoreError.unavailable(
                "the database was migrated by a newer version: it has \(unknown.joined(separator: ", "))")
        }
        guard missing.isEmpty else {
            throw StoreError.unavailable(
                "the database has to be migrated first: it lacks \(missing.joined(separator: ", "))")
        }
    }
}
