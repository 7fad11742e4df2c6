import Foundation
import PostgreSQL
import PostgresRig
import Testing

@testable import BelfryStore

/// The same on PostgreSQL, where a migration can be held at a chosen step by a lock of somebody else.
extension ServerTests {
    @Suite struct PostgresMigrationKillTests {
        @Test(.timeLimit(.minutes(3)))
        func `a migration of PostgreSQL that is killed between two steps, and inside one, is finished by the next one`()
            async throws
        {
            try await PostgresServer.with { database in
                try await Scratch.with { scratch in
                    let scene = try await OldDatabase.make(on: database, in: scratch)
                    let before = try scene.contents()
                    // Held before the step that changes this table, when others are done.
                    try await scene.killWhileHeld(by: "push_progress")
                    let between = try await scene.version()
                    #expect(between.applied == Array(PostgresSchema.migrations.map(\.identifier).prefix(6)))
                    #expect(try scene.contents() == before)
                    try scene.release()
                    try await eventually("the server has seen the last of it") { try scene.otherConnections() == 0 }

                    // Held inside that step, when a part of it is done.
                    try await scene.killWhileHeld(by: "audit")
                    #expect(try await scene.version() == between)
                    let command = scene.migrate
                    async let next = Program.run(command, in: scratch)
                    try await eventually("the next one waits for the dead one") { try scene.isQueueing() }
                    try scene.release()
                    let ended = try await next
                    #expect(ended.status == 0, "\(ended.err)")
                    #expect(try await scene.version().isCurrent)
                    #expect(try scene.contents() == before)
                }
            }
        }
    }
}

/// A database as the first version made it.
private struct OldDatabase {
    /// What the command is told.
    let migrate: [String]
    private let url: String
    private let scratch: Scratch
    /// The hand that holds tables.
    private let hand: Connection

    static func make(on database: PostgresServer, in scratch: Scratch) async throws -> OldDatabase {
        let directory = scratch.file("data")
        // For the key ring.
        let ended = try await Program.run(["migrate", "--data-directory", directory], in: scratch)
        #expect(ended.status == 0, "\(ended.err)")
        let (url, first) = (database.url(of: "postgres"), PostgresSchema.migrations[0])
        let hand = try Connection(ConnectionOptions(url))
        try hand.run(script: SchemaStatements.table)
        try hand.run(script: first.sql)
        try Secrets.make(in: hand)
        try hand.prepared(SchemaStatements.note).run(first.identifier)
        try hand.run(script: rows)
        return OldDatabase(
            migrate: ["migrate", "--data-directory", directory, "--database", url], url: url, scratch: scratch,
            hand: hand)
    }

    func version() async throws -> SchemaVersion { try await PostgresStore.schemaVersion(of: url) }

    /// Starts a migration, and kills it when it waits for the table. The table stays held.
    func killWhileHeld(by table: String) async throws {
        try hand.run(script: "BEGIN; LOCK TABLE \(table) IN ACCESS SHARE MODE")
        let program = try Program.start(migrate, [:], log: scratch.file("log-\(UUID().uuidString)"))
        try await eventually("it waits for \(table)") {
            try hand.prepared("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = to_regclass($1)")
                .first(table) { $0.integer(0) } == 1
        }
        try await program.end(SIGKILL)
    }

    func release() throws { try hand.run(script: "COMMIT") }

    /// Whether a migration waits for its turn.
    func isQueueing() throws -> Bool {
        try hand.prepared("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'")
            .first { $0.integer(0) } == 1
    }

    func otherConnections() throws -> Int64 {
        try hand.prepared(
            """
            SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
            """
        ).first { $0.integer(0) } ?? 0
    }

    /// All that the first version wrote, as text.
    func contents() throws -> String {
        try hand.prepared(Self.everything).first { $0.text(0) } ?? ""
    }

    private static let rows = """
        INSERT INTO application (uuid, name, api_key_hash, shared_secret, created_at_ms, tenant_id)
        SELECT gen_random_uuid(), 'bakery', '\\x01', '\\x02', 1, id FROM tenant;
        INSERT INTO platform (
            uuid, application_id, kind, mode, name, secret_hash, credentials, credentials_version, created_at_ms)
        SELECT gen_random_uuid(), application.id, 'ios', 'production', 'platform ' || i, '\\x01', '\\x0203', 1, i
          FROM application, generate_series(1, 100) AS i;
        INSERT INTO device (platform_id, reach, registered_at_ms, token_hash, token, topics)
        SELECT 1, 1, i, gen_random_uuid(), '\\x0405', '\\x' FROM generate_series(1, 5000) AS i;
        INSERT INTO push (receipt_id, application_id, lane, guarantee, accepted_at_ms, content, audience)
        SELECT gen_random_uuid(), application.id, 1, 0, i, '{}', '{}'
          FROM application, generate_series(1, 5000) AS i;
        INSERT INTO push_progress (push_id, open_walk_count, device_count, first_answer_at_ms, settled_at_ms)
        SELECT id, 0, 3, id, id + 1 FROM push;
        """

    private static let everything = """
        SELECT (SELECT string_agg(concat_ws(' ', id, uuid, name, credentials), ',' ORDER BY id) FROM platform)
            || (SELECT string_agg(concat_ws(' ', id, platform_id, token_hash), ',' ORDER BY id) FROM device)
            || (SELECT string_agg(concat_ws(' ', id, receipt_id, settled_at_ms), ',' ORDER BY id)
                  FROM push JOIN push_progress ON push_id = push.id)
        """
}
