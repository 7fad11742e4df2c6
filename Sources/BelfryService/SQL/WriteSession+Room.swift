extension WriteSession {
    /// Throws `StoreError.conflict` if one more row would exceed the limit.
    ///
    /// - Parameter count: counts the rows that there are, up to the limit.
    func checkRoom<each Value: SQLValue>(
        _ limit: RowLimit, _ count: SQLText, _ values: repeat each Value
    ) throws {
        try limit.check(prepared(count).count(repeat each values))
    }
}
