import BelfryServer
import BelfrySimulators
import Foundation
import PostgresRig
import Testing

/// The real program on a PostgreSQL that is not reached directly, or moves.
extension OutageTests {
    @Suite(.timeLimit(.minutes(20))) struct PoolerTests {}
}

extension OutageTests.PoolerTests {
    @Test(arguments: PgBouncer.Mode.allCases)
    func `everything works through pgbouncer`(mode: PgBouncer.Mode) async throws {
        try await PostgresServer.with { database in
            try await PgBouncer.with(mode, before: database) { bouncer in
                try await TestInstallation.with(database: bouncer.url(of: "postgres")) { installation in
                    _ = try await installation.crowd(2_000)
                    let server = try await installation.serve(
                        mode == .session ? ["BELFRY_DATABASE_POOLING": "session"] : [:])
                    defer { server.endAtOnce() }
                    let base = try await server.addresses().http
                    #expect(server.logged.contains("a pooler stands before the database") == (mode == .transaction))
                    let sender = installation.sender(at: base)
                    // Many at once, so that transactions have many connections to the database.
                    try await withThrowingTaskGroup { group in
                        for number in 0..<40 {
                            let token = String(repeating: "0", count: 62) + String(10 + number)
                            group.addTask {
                                let registered = try await installation.app(at: base).send(
                                    "POST", "/v1/registration", #"{"registration_token":"\#(token)","tags":["few"]}"#)
                                #expect(registered.status == 200, "\(registered)")
                            }
                        }
                        try await group.waitForAll()
                    }
                    let broadcast = try await sender.push("Hello", toTopic: "town")
                    let few = try await sender.push("Hello", toTopic: "few")
                    #expect(try await installation.settled(broadcast).counts == ["accepted": 2_000])
                    #expect(try await installation.settled(few).counts == ["accepted": 40])
                    #expect(try await installation.run("check").status == 0)
                    #expect(try await installation.run("keys", "rotate").status == 0)
                    if mode == .transaction { try await pushWhilePaused(bouncer, sender, installation) }
                    try await server.end(SIGTERM)
                    #expect(server.ending == 0, "\(server.logged)")
                    for word in ["prepared statement", #""level":"error""#] {
                        #expect(!server.logged.contains(word), "\(server.logged)")
                    }
                }
            }
        }
    }

    /// A pooler that an operator pauses is a database that does not answer for a while. In session mode it would wait for sessions to end.
    private func pushWhilePaused(_ bouncer: PgBouncer, _ sender: Caller, _ installation: TestInstallation) async throws
    {
        try bouncer.command("PAUSE")
        async let held = sender.push("Paused", toTopic: "few")
        try bouncer.command("RESUME")
        let push = try await held
        #expect(try await installation.settled(push).counts == ["accepted": 40])
    }

    @Test func `a pooler that was taken for a database is named`() async throws {
        try await PostgresServer.with { database in
            try await PgBouncer.with(.transaction, before: database) { bouncer in
                try await TestInstallation.with(database: bouncer.url(of: "postgres")) { installation in
                    let server = try await installation.serve(["BELFRY_DATABASE_POOLING": "session"])
                    defer { server.endAtOnce() }
                    try await eventually("it is named", every: .milliseconds(200)) {
                        server.logged.contains("a pooler gives transactions to different connections")
                            || !server.isRunning
                    }
                    #expect(server.logged.contains("a pooler gives transactions to different"), "\(server.logged)")
                }
            }
        }
    }

    @Test func `a pool too small for a node is named`() async throws {
        try await PostgresServer.with { database in
            try await TestInstallation.with(database: database.url(of: "postgres")) { installation in
                for (mode, isEnough) in [(PgBouncer.Mode.session, false), (.transaction, true)] {
                    try await PgBouncer.with(mode, poolSize: 2, before: database) { bouncer in
                        let pooled = installation.on(bouncer.url(of: "postgres"))
                        let checked = try await pooled.run("check")
                        #expect((checked.status == 0) == isEnough, "\(checked)")
                        guard !isEnough else { return }
                        #expect(checked.err.contains("gives 2 of the 11 connections"), "\(checked)")
                        let served = try await pooled.run("serve")
                        #expect(
                            served.status == 1 && served.err.contains("default_pool_size has to be 11"), "\(served)")
                    }
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func `a promoted standby takes over without loss`(isKilled: Bool) async throws {
        try await PostgresServer.withStandby { primary, standby in
            let hosts = [primary, standby].map { $0.directory.replacing("/", with: "%2F") }.joined(separator: ",")
            let url = "postgres://postgres@\(hosts)/postgres?target_session_attrs=read-write"
            try await TestInstallation.with(database: url) { installation in
                _ = try await installation.crowd(50)
                let server = try await installation.serve()
                defer { server.endAtOnce() }
                let sender = installation.sender(at: try await server.addresses().http)
                let before = try await sender.push("Before", toTopic: "town")
                #expect(try await installation.settled(before).counts == ["accepted": 50])
                installation.simulator.script.add(
                    ServiceFault(times: 20, then: .answer(ScriptedAnswer("TooManyRequests", status: 429))))
                let during = try await sender.push("During", toTopic: "town")
                if isKilled {
                    primary.stop()
                } else {
                    // A provider that demotes a primary without ending its connections.
                    try primary.run("ALTER SYSTEM SET default_transaction_read_only = on")
                    try primary.run("SELECT pg_reload_conf()")
                }
                try standby.promote()
                let after = try await eventually("a push is taken", every: .milliseconds(200)) {
                    try? await sender.push("After", toTopic: "town")
                }
                do {
                    for push in [during, after] {
                        #expect(try await installation.settled(push).counts == ["accepted": 50])
                    }
                } catch {
                    Issue.record("\(error)\n\(server.logged.suffix(10_000))")
                }
                try await server.end(SIGTERM)
                #expect(server.ending == 0)
            }
        }
    }
}
