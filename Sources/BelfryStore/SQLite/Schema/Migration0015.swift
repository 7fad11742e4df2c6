/// Small numbers are checked by their bounds: for a list of three, SQLite builds a table in memory at each insert, which cost a
/// sixth of what a device's row does.
///
/// Whoever changes it writes the next migration; this one has landed.
enum Migration0015 {
    static let identifier = "0015 bounds instead of lists"

    /// What the tables hold is not touched. Source: sqlite.org/lang_altertable.html, "Making Other Kinds Of Table Schema
    /// Changes", and sqlite.org/pragma.html#pragma_writable_schema.
    static let sql = """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(sql, ' IN (0, 1, 2)', ' BETWEEN 0 AND 2') WHERE type = 'table';
        PRAGMA writable_schema = RESET;
        """
}
