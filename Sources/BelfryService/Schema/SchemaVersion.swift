/// Compares a database's schema with the one this program knows.
package struct SchemaVersion: Sendable, Hashable {
    /// Migrations done, by their names.
    package let applied: [String]
    /// Migrations this program has and the database has not.
    package let missing: [String]
    /// Migrations the database has and this program does not know: a newer program has migrated it. See `breaking`.
    package let unknown: [String]

    package var isCurrent: Bool { missing.isEmpty && unknown.isEmpty }

    init(applied: some Sequence<String>, known: [String]) {
        let applied = Set(applied)
        self.applied = applied.sorted()
        missing = known.filter { !applied.contains($0) }
        unknown = applied.subtracting(known).sorted()
    }

    /// The end of a migration's name that only adds: programs of the release before it work with the schema after it, so that an upgrade
    /// can be taken back. Columns added to their rows have defaults, and rows that they write are right for the newer program.
    static let additiveMark = "(additive)"

    /// Unknown migrations that this program cannot work with.
    package var breaking: [String] { unknown.filter { !$0.hasSuffix(Self.additiveMark) } }

    /// Throws unless the schema is the one this program knows, or that with additions.
    func check() throws {
        guard breaking.isEmpty else {
            throw StoreError.unavailable(
                "the database was migrated by a newer version: it has \(breaking.joined(separator: ", "))")
        }
        guard missing.isEmpty else {
            throw StoreError.unavailable(
                "the database has to be migrated first: it lacks \(missing.joined(separator: ", "))")
        }
    }
}
