extension SQLiteStore {
    /// The writer shares its transactions among all that waits.
    package func accept(_ push: NewPush) async throws -> Push {
        let draft = try await draft(push)
        return try await write { try PushInserter(session: $0).accept([draft])[0].get() }
    }
}
