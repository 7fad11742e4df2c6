import PostgreSQL
import PostgresRig
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20))) struct PoolTests {
    @Test func `work that is left in a transaction is taken back`() async throws {
        try await withPool { pool in
            try await pool.run { connection in
                try connection.prepared("CREATE TEMP TABLE t (n bigint)").run()
                try connection.prepared("BEGIN").run()
                try connection.prepared("INSERT INTO t VALUES (1)").send()
            }
            let count = try await pool.run { try $0.prepared("SELECT count(*) FROM t").first { $0.integer(0) } }
            #expect(count == 0)
        }
    }

    @Test func `a connection that the server ended is replaced`() async throws {
        try await withPool(size: 2) { pool in
            let first = try await pool.run { $0.serverProcess }
            try await pool.run { connection in
                // The other one may be the same; then it ends itself. It waits for the end, which the pool could miss.
                _ = try? connection.prepared("SELECT pg_terminate_backend($1::int, 20000)").run(Int64(first))
            }
            for _ in 0..<4 {
                let one = try? await pool.run { try $0.prepared("SELECT 1").first { $0.integer(0) } }
                if let one { #expect(one == 1) }
            }
            let last = try await pool.run { $0.serverProcess }
            #expect(last != first)
        }
    }

    @Test func `a connection breaking under work throws that it was lost`() async throws {
        try await withPool { pool in
            let error = await #expect(throws: PostgresError.self) {
                try await pool.run { try $0.prepared("SELECT pg_terminate_backend(pg_backend_pid())").run() }
            }
            #expect(error?.code == .connectionLost)
            let one = try await pool.run { try $0.prepared("SELECT 1").first { $0.integer(0) } }
            #expect(one == 1)
        }
    }

    @Test func `a cancelled task cancels what the server does`() async throws {
        try await withPool { pool in
            let task = Task { try await pool.run { try $0.prepared("SELECT pg_sleep(100)").run() } }
            try await withPool { other in
                while try await other.run({
                    try $0.prepared(
                        "SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(100)' AND state = 'active'"
                    )
                    .first { $0.integer(0) }
                }) == nil {}
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            let one = try await pool.run { try $0.prepared("SELECT 1").first { $0.integer(0) } }
            #expect(one == 1)
        }
    }

    @Test func `a late answer ends the connection`() async throws {
        try await withPool(options: { $0.answerTimeout = .milliseconds(50) }) { pool in
            let error = await #expect(throws: PostgresError.self) {
                try await pool.run { try $0.prepared("SELECT pg_sleep(5)").run() }
            }
            #expect(error?.code == .timedOut)
        }
    }

    @Test func `an absent server is reported as such`() async throws {
        try await withPool(options: { $0.string = "host=/nowhere dbname=x" }) { pool in
            let error = await #expect(throws: PostgresError.self) { try await pool.run { $0.serverProcess } }
            #expect(error?.code == .connectionFailed)
        }
    }

    @Test func `all waiters hear at once while connections fail`() async throws {
        let server = try SilentServer()
        defer { server.close() }
        let silence: (inout ConnectionOptions) -> Void = {
            $0.string = "host=127.0.0.1 port=\(server.port) user=x dbname=x"
            $0.connectTimeout = .milliseconds(300)
        }
        try await withPool(options: silence) { pool in
            let told = await withTaskGroup(of: PostgresError.Code?.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        do { return try await pool.run { _ in nil } } catch { return (error as? PostgresError)?.code }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(told == Array(repeating: .connectionFailed, count: 20))
        }
        #expect(server.callerCount < 5, "each waited for an attempt of its own")
    }

    @Test func `open connections serve where no more are given`() async throws {
        try await withPool { try await $0.run { try $0.run(script: "CREATE ROLE few LOGIN CONNECTION LIMIT 2") } }
        let limited: (inout ConnectionOptions) -> Void = { $0.string.replace("user=postgres", with: "user=few") }
        try await withPool(size: 4, options: limited) { pool in
            _ = try await pool.run { $0.serverProcess }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<40 {
                    group.addTask { _ = try await pool.run { try $0.prepared("SELECT pg_sleep(0.02)").run() } }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `a silent host leaves time for the next`() async throws {
        let silent = try SilentServer()
        defer { silent.close() }
        let both: (inout ConnectionOptions) -> Void = {
            $0.string = $0.string.replacing("host=", with: "host=127.0.0.1,")
                .replacing("port=5432", with: "port=\(silent.port),5432")
            $0.connectTimeout = .seconds(4)
        }
        try await withPool(options: both) { pool in
            let answer = try await pool.run { try $0.prepared("SELECT $1").first(Int64(7)) { $0.integer(0) } }
            #expect(answer == 7)
        }
        #expect(silent.callerCount > 0)
    }

    @Test func `more work than may wait is turned away`() async throws {
        try await withPool(waitingMax: 1) { pool in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        do {
                            _ = try await pool.run { try $0.prepared("SELECT pg_sleep(0.05)").run() }
                            return true
                        } catch let error as PostgresError where error.code == .overloaded {
                            return false
                        }
                    }
                }
                let served = try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                #expect(served >= 1)
                #expect(served < 20)
            }
        }
    }

    @Test func `a closed pool takes nothing`() async throws {
        try await withPool { pool in
            await pool.close()
            let error = await #expect(throws: PostgresError.self) { try await pool.run { $0.serverProcess } }
            #expect(error?.code == .closed)
        }
    }

    @Test func `a listener hears notifications and reconnects`() async throws {
        let (events, continuation) = AsyncStream.makeStream(of: Listener.Event.self)
        let options = ConnectionOptions(try await PostgresServer.sharedOnceUp().connection(to: "postgres"))
        let listener = try Listener(options, channels: ["Some \"news\""], pause: .milliseconds(10)) {
            continuation.yield($0)
        }
        defer { listener.close() }
        var heard = events.makeAsyncIterator()
        try await withPool { pool in
            for round in 1...2 {
                while let event = await heard.next(isolation: nil), event != .listening {}
                _ = try await pool.run { try $0.prepared("SELECT pg_notify($1, $2)").run("Some \"news\"", "\(round)") }
                let next = await heard.next(isolation: nil)
                #expect(next == .heard(channel: "Some \"news\"", payload: "\(round)"))
                _ = try await pool.run {
                    try $0.prepared(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN \"Some%'"
                    ).run()
                }
            }
        }
    }
}
