import Foundation
import PostgreSQL
import PostgresRig
import Testing

@testable import BelfryService

/// Killed migrations on PostgreSQL. A session that makes a table of the same name holds a migration inside a step.
extension CrashTests {
    @Suite struct PostgresMigrationKillTests {
        @Test(.timeLimit(.minutes(20)))
        func `a killed PostgreSQL migration step leaves nothing and repeats`()
            async throws
        {
            try await PostgresServer.with { database in
                try await Scratch.with { scratch in
                    let url = database.url(of: "postgres")
                    let migrate = ["migrate", "--data-directory", scratch.file("data"), "--database", url]
                    let hand = try Connection(ConnectionOptions(url))
                    // The last table but two: most of the step is done by then.
                    try hand.run(script: "BEGIN; CREATE TABLE node (in_the_way bigint)")
                    let program = try Program.start(migrate, [:], log: scratch.file("log"))
                    try await eventually("it waits for the table") { try hand.count(Self.waiting) == 1 }
                    try await program.end(SIGKILL)

                    async let next = Program.run(migrate, in: scratch)
                    try await eventually("the next one waits for the dead one") { try hand.count(Self.queueing) == 1 }
                    #expect(try await PostgresStore.schemaVersion(of: url).applied.isEmpty)
                    try hand.run(script: "ROLLBACK")
                    let ended = try await next
                    #expect(ended.status == 0, "\(ended.err)")
                    #expect(try await PostgresStore.schemaVersion(of: url).isCurrent)
                    #expect(try hand.count("SELECT count(*) FROM tenant") == 1)
                }
            }
        }

        private static let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
        private static let queueing = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
    }
}

extension Connection {
    fileprivate func count(_ sql: String) throws -> Int64 { try prepared(sql).first { $0.integer(0) } ?? 0 }
}
