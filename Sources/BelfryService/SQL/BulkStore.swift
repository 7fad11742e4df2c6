/// Marks a database into which another is being imported, so that no server serves from half of it.
package enum DatabaseImport {
    /// The name of the setting that marks it.
    package static let settingName = "takeover"
    /// The secrets that are copied with the rows.
    package static let secrets = ["naming", "token_hash"]

    /// The name of the setting that says which database was copied into this one, and when.
    package static let originSettingName = "copied_from"

    /// - Parameter origin: the value of `originSettingName`.
    package static func refused(_ origin: String?) -> StoreError {
        .conflict("the database is not empty" + (origin.map { ": all of \($0) was copied into it" } ?? ""))
    }

    package static let unfinished = StoreError.unavailable(
        "a copy into it was not finished; run `belfry database copy` again")

    /// The name of the setting that says where the database was copied to, and when.
    package static let moveSettingName = "moved_to"

    /// - Parameter database: the one that was copied away, as `belfry database reopen` is given it.
    package static func moved(_ database: String, _ move: DatabaseMove) -> StoreError {
        .unavailable(
            "\(database) was copied to \(move.text), and is not used any more: give the command the new one with \(move.option), "
                + "or name it in the settings; or go back to the old one with `belfry database reopen \(database)`")
    }
}

/// The note in a database that was copied to another.
package struct DatabaseMove: Sendable, Hashable {
    /// The other, as it was given: `sqlite:` and a path, or `postgres://…`.
    package let name: String
    package let at: String

    /// - Parameter text: the value of `moveSettingName`.
    package init(_ text: String) {
        let end = text.ranges(of: " at ").last
        name = String(text[..<(end?.lowerBound ?? text.endIndex)])
        at = end.map { String(text[$0.upperBound...]) } ?? ""
    }

    package init(to name: String, at now: Instant) { (self.name, at) = (name, now.text) }

    package var text: String { "\(name) at \(at)" }

    /// The option with which a command works on the other.
    var option: String {
        guard name.hasPrefix("sqlite:") else { return "--database \(name)" }
        let path = name.dropFirst(7)
        guard let slash = path.lastIndex(of: "/") else { return "--data-directory" }
        return "--data-directory \(path[..<slash])"
    }
}

package enum BulkValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
}

/// A table to copy, with its columns as a database has them: those of the key first.
package struct BulkTable: Sendable {
    package enum Kind: Sendable {
        case integer, real, text, bytes
        /// 16 bytes; an engine may have a type of its own for it.
        case uuid
        /// 0 or 1; an engine may have a type of its own for it.
        case flag
    }

    package struct Column: Sendable {
        package let name: String
        package let kind: Kind
    }

    package let name: String
    package let columns: [Column]
    /// The number of leading key columns.
    package let keyCount: Int
    /// A column that each engine derives for itself.
    let derivedColumn: String?

    /// Whether rows have generated ids.
    package var isNumbered: Bool { columns[0].name == "id" }

    package func key(of row: [BulkValue]) -> [BulkValue] { Array(row.prefix(keyCount)) }

    /// The index of a column that the table has.
    package func place(of column: String) -> Int {
        guard let place = columns.firstIndex(where: { $0.name == column }) else {
            preconditionFailure("\(name) has no column \(column)")
        }
        return place
    }

    /// The column list for statements.
    package var columnNames: String { columns.map(\.name).joined(separator: ", ") }
    package var keyNames: String { columns.prefix(keyCount).map(\.name).joined(separator: ", ") }
}

/// The purpose for which a store is opened.
package enum StoreUse: Sendable {
    case serving
    /// The store is not changed meanwhile; not even due work is done.
    case copyingFrom, copyingTo
}
