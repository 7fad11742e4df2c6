import BelfryAPI
import BelfryCore

/// How the parts are that the PCF service had.
struct Health: Sendable {
    let store: any Store
    let clock: any WallClock

    /// A scheduler that works is never so late.
    private static let lateMax = Duration.seconds(60)

    /// The three parts that the PCF service had. The queue and the scheduler live in the database here.
    func forPCF() async -> PCFv1.Health {
        do {
            return PCFv1.Health(
                database: try await database(), queue: try await queue(), scheduler: try await scheduler())
        } catch {
            let part = PCFv1.Health.Part(isHealthy: false, message: "\(error)")
            return PCFv1.Health(database: part, queue: part, scheduler: part)
        }
    }

    private func database() async throws -> PCFv1.Health.Part {
        _ = try await store.nextDue()
        return .init(isHealthy: true, message: "Database is up")
    }

    /// A parked platform waits for a person, and the others go on: the queue is none the less healthy.
    private func queue() async throws -> PCFv1.Health.Part {
        var parked = 0
        for application in try await store.applications() {
            parked += try await store.platforms(of: application.key).count { $0.parked != nil }
        }
        return .init(
            isHealthy: true,
            message: parked == 0 ? "Pages are in the database" : "Pages flow, but those of \(parked) parked platforms")
    }

    private func scheduler() async throws -> PCFv1.Health.Part {
        let next = try await store.nextScheduleDue()
        let isLate = next.map { clock.now - $0 > Self.lateMax } ?? false
        return .init(isHealthy: !isLate, message: isLate ? "Schedules are late" : "Scheduler is up")
    }
}
