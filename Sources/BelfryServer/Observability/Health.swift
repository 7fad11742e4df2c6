import BelfryAPI
import BelfryCore

/// Whether the parts the server stands on work.
struct Health: Sendable {
    let store: any Store

    var isReady: Bool {
        get async { await databaseFault() == nil }
    }

    /// The three parts that the PCF service had. The queue and the scheduler live in the database here.
    func forPCF() async -> PCFv1.Health {
        let fault = await databaseFault()
        func part(_ name: String) -> PCFv1.Health.Part { .init(isHealthy: fault == nil, message: fault ?? name) }
        return PCFv1.Health(
            database: part("SQLite"), queue: part("Pages are in the database"), scheduler: part("Scheduler is up"))
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
