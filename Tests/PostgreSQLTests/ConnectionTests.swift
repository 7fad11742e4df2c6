import Foundation
import PostgreSQL
import PostgresRig
import Testing

@Suite struct ConnectionTests {
    @Test func `values come back as they went`() async throws {
        try await withPool { pool in
            let uuid = UUID()
            let row = try await pool.run { connection in
                try connection.prepared("SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9").first(
                    Int64.min, true, "Grüße", [UInt8]([0, 255]), uuid, -0.5, String?.none, [UInt8](), ""
                ) { row in
                    (
                        row.integer(0), row.bool(1), row.text(2), row.blob(3), row.uuid(4), row.double(5),
                        row.textIfAny(6), row.blobIfAny(7), row.textIfAny(8)
                    )
                }
            }
            let found = try #require(row)
            #expect(found.0 == .min)
            #expect(found.1)
            #expect(found.2 == "Grüße")
            #expect(found.3 == [0, 255])
            #expect(found.4 == uuid)
            #expect(found.5 == -0.5)
            #expect(found.6 == nil)
            #expect(found.7 == [])
            #expect(found.8 == "")
        }
    }

    @Test(arguments: [[], [1], [3, 1, 2], Array(1...5_000)] as [[Int64]])
    func `an array is one parameter`(numbers: [Int64]) async throws {
        try await withPool { pool in
            let found = try await pool.run { connection in
                try connection.prepared("SELECT n FROM unnest($1) WITH ORDINALITY AS t (n, i) ORDER BY i")
                    .all(PostgresArray(numbers)) { $0.integer(0) }
            }
            #expect(found == numbers)
        }
    }

    @Test func `an array holds nulls`() async throws {
        try await withPool { pool in
            let found = try await pool.run { connection in
                try connection.prepared("SELECT n FROM unnest($1) WITH ORDINALITY AS t (n, i) ORDER BY i")
                    .all(PostgresArray(["a", nil, ""] as [String?])) { $0.textIfAny(0) }
            }
            #expect(found == ["a", nil, ""])
        }
    }

    @Test func `rows of what was sent come with the next answer`() async throws {
        try await withPool { pool in
            let found = try await pool.run { connection in
                let first = try connection.prepared("SELECT n FROM unnest($1) AS t (n)")
                    .sendReading(PostgresArray([1, 2] as [Int64])) { $0.integer(0) }
                let none = try connection.prepared("SELECT 1 WHERE false").sendReading { $0.integer(0) }
                let third = try connection.prepared("SELECT 3::bigint").first { $0.integer(0) }
                return (try first.all(), try none.all(), third, try first.all())
            }
            #expect(found.0 == [1, 2] && found.1 == [] && found.2 == 3 && found.3 == [1, 2])
        }
    }

    @Test func `rows of a sent query, or its refusal, come later`() async throws {
        try await withPool { pool in
            try await pool.run { connection in
                let four = try connection.prepared("SELECT 4::bigint").sendReading { $0.integer(0) }
                #expect(try four.all() == [4])
                let refused = try connection.prepared("SELECT 1 / $1::bigint").sendReading(0) { $0.integer(0) }
                let passedOver = try connection.prepared("SELECT 5::bigint").sendReading { $0.integer(0) }
                #expect(throws: PostgresError.self) { try refused.all() }
                #expect(throws: PostgresError.self) { try refused.all() }
                #expect(throws: PostgresError.self) { try passedOver.all() }
                #expect(try connection.prepared("SELECT 6::bigint").first { $0.integer(0) } == 6)
            }
        }
    }

    @Test func `an abandoned connection closes, whatever it waits for`() async throws {
        try await withPool { pool in
            let options = ConnectionOptions(try await PostgresServer.sharedOnceUp().connection(to: "postgres"))
            try await pool.run { other in
                weak var connection: Connection?
                do {
                    let own = try Connection(options)
                    connection = own
                    let pending = try own.prepared("SELECT 1::bigint").sendReading { $0.integer(0) }
                    #expect(try own.prepared("SELECT 2::bigint").first { $0.integer(0) } == 2)
                    #expect(try pending.all() == [1])
                    _ = try own.prepared("SELECT 3::bigint").sendReading { $0.integer(0) }
                }
                #expect(connection == nil)
            }
        }
    }

    @Test func `a sent query is done with the next answer`() async throws {
        try await withPool { pool in
            let count = try await pool.run { connection in
                try connection.prepared("CREATE TEMP TABLE t (n bigint)").run()
                try connection.prepared("BEGIN").send()
                for number in 1...2_000 { try connection.prepared("INSERT INTO t VALUES ($1)").send(number) }
                try connection.prepared("COMMIT").send()
                return try connection.prepared("SELECT count(*) FROM t").first { $0.integer(0) }
            }
            #expect(count == 2_000)
        }
    }

    @Test func `a sent query's refusal is thrown by the next answer`() async throws {
        try await withPool { pool in
            try await pool.run { connection in
                try connection.prepared("CREATE TEMP TABLE t (n bigint PRIMARY KEY)").run()
                try connection.prepared("BEGIN").send()
                for number in [1, 1, 2] { try connection.prepared("INSERT INTO t VALUES ($1)").send(number) }
                let error = #expect(throws: PostgresError.self) { try connection.prepared("COMMIT").run() }
                #expect(error?.sqlState == .uniqueViolation)
                #expect(connection.rollBack())
                let count = try connection.prepared("SELECT count(*) FROM t").first { $0.integer(0) }
                #expect(count == 0)
            }
        }
    }

    @Test func `an error says the server's code and no value`() async throws {
        try await withPool { pool in
            let error = await #expect(throws: PostgresError.self) {
                try await pool.run { connection in
                    try connection.prepared("SELECT 'secret' FROM nowhere").run()
                }
            }
            #expect(error?.code == .refused)
            #expect(error?.sqlState == .undefinedTable)
            #expect(error?.description.contains("42P01") == true)
        }
    }

    @Test func `text with U+0000 is refused, and the connection lives on`() async throws {
        try await withPool { pool in
            let error = await #expect(throws: PostgresError.self) {
                try await pool.run { try $0.prepared("SELECT $1").run("a\0b") }
            }
            #expect(error?.sqlState == .characterNotInRepertoire)
            let one = try await pool.run { try $0.prepared("SELECT 1").first { $0.integer(0) } }
            #expect(one == 1)
        }
    }
}

/// Runs `body` with a pool on the process's server.
func withPool(
    size: Int = 1, options: (inout ConnectionOptions) -> Void = { _ in }, waitingMax: Int = 100,
    _ body: (ConnectionPool) async throws -> Void
) async throws {
    var connecting = ConnectionOptions(try await PostgresServer.sharedOnceUp().connection(to: "postgres"))
    options(&connecting)
    let pool = ConnectionPool(connecting, size: size, waitingMax: waitingMax)
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(pool)) } catch { outcome = .failure(error) }
    await pool.close()
    try outcome.get()
}
