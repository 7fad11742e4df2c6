extension String {
    /// The number of insertions, removals and replacements that make the other text: the Levenshtein distance.
    package func edits(to other: String) -> Int {
        var row = Array(0...other.utf8.count)
        for (index, letter) in utf8.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, another) in other.utf8.enumerated() {
                let replaced = diagonal + (letter == another ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = Swift.min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[other.utf8.count]
    }
}
