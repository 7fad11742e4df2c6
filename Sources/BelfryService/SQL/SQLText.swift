/// A statement of the store, with the text of each engine.
///
/// It is written once, with PostgreSQL's placeholders (`$1`, `$2`, …). Where the engines differ by a word, the word is
/// interpolated: a lock that only PostgreSQL takes, or one of the words below. Both texts are composed when the
/// statement is first used; afterwards it costs what a literal costs.
package struct SQLText: Sendable, ExpressibleByStringInterpolation {
    let sqlite: String
    let postgres: String

    private init(sqlite: String, postgres: String) {
        // A dollar sign appears only before a placeholder's number.
        self.sqlite = sqlite.contains("$") ? String(sqlite.map { $0 == "$" ? "?" : $0 }) : sqlite
        self.postgres = postgres
    }

    package init(stringLiteral text: String) { self.init(sqlite: text, postgres: text) }

    package init(stringInterpolation parts: StringInterpolation) {
        self.init(sqlite: parts.sqlite, postgres: parts.postgres)
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sqlite = ""
        fileprivate var postgres = ""

        package init(literalCapacity: Int, interpolationCount: Int) {
            sqlite.reserveCapacity(literalCapacity)
            postgres.reserveCapacity(literalCapacity)
        }

        package mutating func appendLiteral(_ text: String) { appendInterpolation(sqlite: text, postgres: text) }

        /// A text that is the same for both engines, such as a name.
        package mutating func appendInterpolation(_ text: String) { appendLiteral(text) }

        /// A word that the engines have different names for.
        mutating func appendInterpolation(_ word: SQLText) {
            appendInterpolation(sqlite: word.sqlite, postgres: word.postgres)
        }

        /// A text that only one engine needs, or that differs.
        mutating func appendInterpolation(sqlite: String = "", postgres: String = "") {
            self.sqlite += sqlite
            self.postgres += postgres
        }

        /// The length of a text in UTF-8. Source: SQLite has `octet_length` since 3.43 only.
        mutating func appendInterpolation(bytesOf column: String) {
            appendInterpolation(sqlite: "length(CAST(\(column) AS BLOB))", postgres: "octet_length(\(column))")
        }

        /// Follows a column that must be one of the `SQLKeys` in the parameter.
        mutating func appendInterpolation(among parameter: String) {
            appendInterpolation(
                sqlite: "IN (SELECT value FROM json_each(\(parameter)))", postgres: "= ANY (\(parameter))")
        }

        /// Follows a column that must be one of those a statement finds. PostgreSQL then looks each up, whatever its
        /// planner believes of a table that was empty when it was last analyzed.
        mutating func appendInterpolation(amongRows statement: String) {
            appendInterpolation(sqlite: "IN (\(statement))", postgres: "= ANY (ARRAY(\(statement)))")
        }
    }
}

extension SQLText {
    /// The greatest of its arguments, none of which is NULL.
    static let greatest: SQLText = "\(sqlite: "max", postgres: "greatest")"
    /// The least of its arguments, none of which is NULL.
    static let least: SQLText = "\(sqlite: "min", postgres: "least")"
    /// The position of a text within another; 0 if it is not in it.
    static let position: SQLText = "\(sqlite: "instr", postgres: "strpos")"

    /// Deletes some rows of a table, up to `$2`: every large deletion is done in such steps.
    ///
    /// - Parameters:
    ///   - name: the name of the statement.
    ///   - key: the columns of the primary key.
    ///   - source: the tables that the rows are selected from; nil for the table alone.
    ///   - condition: selects the rows, by `$1`.
    static func deleteSome(
        _ name: String, from table: String, key: String, foundIn source: String? = nil, where condition: SQLText
    ) -> SQLText {
        """
        DELETE FROM \(table) /* \(name) */
         WHERE (\(key)) IN (SELECT \(key) FROM \(source ?? table) WHERE \(condition) LIMIT $2)
        """
    }
}

/// The locks that a statement takes on the rows it reads, at its end. SQLite has one writer and needs none.
/// Source: manual of PostgreSQL, 13.3.2.
extension SQLText {
    /// The rows are not deleted before the transaction ends; columns that are not part of a key may change.
    static let forKeyShare: SQLText = "\(postgres: "FOR KEY SHARE")"
    /// The rows are neither changed, deleted nor locked like this by others; their keys may be referred to.
    static let forNoKeyUpdate: SQLText = "\(postgres: "FOR NO KEY UPDATE")"
    /// No other transaction locks, changes or deletes the rows.
    static let forUpdate: SQLText = "\(postgres: "FOR UPDATE")"
    /// Like `forUpdate`, without the rows that another transaction has locked.
    static let forUpdateSkipLocked: SQLText = "\(postgres: "FOR UPDATE SKIP LOCKED")"
}
