extension Array {
    /// What is made of the elements a few at a time, one step after the other: a long job that holds a store's writer for a
    /// moment only, and stands behind other callers again before each step.
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
