extension Array {
    /// Applies an async operation to a few elements at a time, so that a long job never holds the writer for long.
    package func inSteps<Result>(
        of count: Int, _ step: (_ elements: [Element], _ isFirst: Bool) async throws -> [Result]
    ) async throws -> [Result] {
        var results: [Result] = []
        for start in stride(from: 0, to: self.count, by: count) {
            results += try await step(Array(self[start..<Swift.min(start + count, self.count)]), start == 0)
        }
        return results
    }
}
