extension Result where Failure == any Error {
    /// The result of an asynchronous operation, kept until other necessary work is done.
    package init(_ work: () async throws -> Success) async {
        do {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
