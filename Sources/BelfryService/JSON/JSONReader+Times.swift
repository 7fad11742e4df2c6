extension JSONReader {
    /// A time in milliseconds since 1970, up to the year 9999; 0 and below are left to the caller.
    ///
    /// A smaller number is almost certainly a time in seconds, which would be taken for a day of January 1970: every push would
    /// have expired.
    mutating func milliseconds(_ field: String) throws(InvalidInput) -> Int64? {
        let time = try integer(field)
        if let time, 1..<100_000_000_000 ~= time {
            throw InvalidInput(field: field, "is in seconds; milliseconds are expected, and it is \(time)")
        }
        return try time.map { time throws(InvalidInput) in try Instant(time, field: field).milliseconds }
    }
}
