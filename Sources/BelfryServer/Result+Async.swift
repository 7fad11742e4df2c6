extension Result where Failure == any Error {
    /// What an asynchronous piece of work came to, kept until what must happen after it has happened.
    package init(_ work: () async throws -> Success) async {
        do {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
