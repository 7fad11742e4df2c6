import BelfryCore

/// Whether the parts the server stands on work.
struct Health: Sendable {
    let store: any Store

    var isReady: Bool {
        get async { await databaseFault() == nil }
    }

    /// nil when the database answers.
    func databaseFault() async -> String? {
        do {
            _ = try await store.nextDue()
            return nil
        } catch {
            return "\(error)"
        }
    }
}
