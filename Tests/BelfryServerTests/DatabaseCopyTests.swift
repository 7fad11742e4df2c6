import BelfryServer
import BelfryService
import BelfryTesting
import Foundation
import GRDB
import PostgresRig
import Testing

/// `belfry database copy`, from a file to PostgreSQL and back.
extension CrashTests {
    @Suite(.timeLimit(.minutes(20))) struct DatabaseCopyTests {}
}

extension CrashTests.DatabaseCopyTests {
    @Test func `a repeatedly killed copy completes and can be served`() async throws {
        try await PostgresServer.with { database in
            try await TestInstallation.with { installation in
                let crowd = try await installation.crowd(3_000)
                let first = try await installation.serve()
                defer { first.endAtOnce() }
                let push = try await installation.sender(at: first.addresses().http).push("Hello", toTopic: "town")
                #expect(try await installation.settled(push).counts == ["accepted": 3_000])
                try await first.end(SIGTERM)

                let (file, url) = ("sqlite:\(installation.data)/belfry.sqlite", database.url(of: "postgres"))
                // A copy that was over before it was killed shows nothing, and is tried again.
                while try await killAgainAndAgain(file, url, installation) == 0 {
                    try database.run("DROP SCHEMA public CASCADE")
                    try database.run("CREATE SCHEMA public")
                }
                let back = "sqlite:\(installation.scratch.file("back.sqlite"))"
                let there = try await copy(url, back, installation, "--keep-source")
                #expect(there.first { $0.table == "device" }?.rows == 3_000)
                #expect(there.first { $0.table == "invitation" }?.rows == 1, "the link for the first operator")
                try await expectSame(installation, crowd, push, on: database)
            }
        }
    }

    @Test func `full databases take no copy; half copies serve nothing`()
        async throws
    {
        try await PostgresServer.with { database in
            try await TestInstallation.with { installation in
                let (file, url) = ("sqlite:\(installation.data)/belfry.sqlite", database.url(of: "postgres"))
                func refuse(_ source: String, _ words: String) async throws {
                    let refused = try await Program.run(
                        ["database", "copy", "--from", source, "--to", url], in: installation.scratch)
                    #expect(refused.status != 0 && refused.err.contains(words), "\(refused.err)")
                    #expect(try await PostgresStore.schemaVersion(of: url).applied.isEmpty)
                }
                try await refuse("sqlite:\(installation.data)", "is a folder: name the file in it, such as")
                let last = try installation.inDatabase { db in
                    let last = try String.fetchOne(db, sql: "SELECT max(identifier) FROM grdb_migrations")
                    try db.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = ?", arguments: [last])
                    return last
                }
                try await refuse(file, "by `belfry migrate`")
                try installation.inDatabase {
                    try $0.execute(sql: "INSERT INTO grdb_migrations VALUES (?)", arguments: [last])
                }
                let backup = installation.scratch.file("backup")
                #expect(try await installation.run("backup", "--to", backup).status == 0)
                _ = try await copy(file, url, installation)
                let restored = try await installation.run("restore", "--from", backup)
                #expect(restored.status != 0 && restored.err.contains("exists already, and was copied to \(url) at "))
                let again = try await Program.run(
                    ["database", "copy", "--from", file, "--to", url], in: installation.scratch)
                #expect(again.status != 0)
                #expect(again.err.contains("is not empty: all of \(file) at "), "\(again.err)")
                try database.run("INSERT INTO setting (name, value) VALUES ('takeover', '1')")
                let served = try await Program.run(
                    ["serve", "--data-directory", installation.data, "--database", url], Program.freePorts,
                    in: installation.scratch)
                #expect(served.status != 0)
                #expect(served.err.contains("a copy into it was not finished"), "\(served.err)")
            }
        }
    }

    @Test func `PostgreSQL also refuses a copied-away database until reopened`() async throws {
        try await PostgresServer.with { database in
            let url = database.url(of: "postgres")
            try await TestInstallation.with(database: url) { installation in
                let push = ["push", "--app", installation.application, "--topic", "town", "--body", "x"]
                let waiting = try await installation.run(push)
                #expect(
                    waiting.status == 0 && waiting.err.contains("no server is running on the database"), "\(waiting)")
                let target = "sqlite:\(installation.scratch.file("moved.sqlite"))"
                _ = try await copy(url, target, installation)
                for command in [push, ["check"], ["nodes"]] {
                    let refused = try await installation.run(command)
                    #expect(
                        refused.status != 0 && refused.err.contains("\(url) was copied to \(target) at "),
                        "\(command): \(refused)")
                }
                let reopened = try await Program.run(["database", "reopen", url], in: installation.scratch)
                #expect(reopened.status == 0 && reopened.out.contains("can be used again"), "\(reopened)")
                #expect(try await installation.run(push).status == 0)
            }
        }
    }

    /// Kills copies that are under way, each a little later than the one before, until one is done. Returns how many.
    private func killAgainAndAgain(_ source: String, _ target: String, _ installation: TestInstallation) async throws
        -> Int
    {
        var kills = 0
        while true {
            let copying = try Program.start(
                ["database", "copy", "--from", source, "--to", target, "--keep-source"], [:],
                log: installation.scratch.file("copying"))
            try await Task.sleep(for: .milliseconds(300 * (kills + 1)))
            if copying.isRunning { try await copying.end(SIGKILL) }
            // One that was killed after its last write is known to be whole by the next.
            if copying.ending == 0 || copying.logged.contains("not empty: all of \(source) at ") { return kills }
            try #require(copying.ending == SIGKILL, "\(copying.logged)")
            kills += 1
        }
    }

    private struct Copied: Decodable, Equatable {
        let table: String
        let rows: Int
        let digest: UInt64
    }

    private func copy(
        _ source: String, _ target: String, _ installation: TestInstallation, _ more: String...
    ) async throws -> [Copied] {
        try await Program.run(
            ["database", "copy", "--json", "--from", source, "--to", target] + more, in: installation.scratch
        )
        .decoded()
    }

    /// Serves from the copy: the receipt is there, devices go by their names, and a push reaches all of them.
    private func expectSame(_ installation: TestInstallation, _ crowd: Crowd, _ push: UUID, on database: PostgresServer)
        async throws
    {
        let moved = installation.on(database.url(of: "postgres"))
        let server = try await moved.serve()
        defer { server.endAtOnce() }
        let base = try await server.addresses().http
        #expect(try await moved.settled(push).counts == ["accepted": 3_000])
        let shown = try await moved.app(at: base).send("GET", "/v1/registration/\(crowd.devices[7].uuid.lowercased)")
        #expect(shown.status == 200, "\(shown)")
        let again = try await moved.sender(at: base).push("Hello", toTopic: "town")
        #expect(try await moved.settled(again).counts == ["accepted": 3_000])
        let token = try #require(crowd.devices[7].token)
        let registered = try await moved.app(at: base).send(
            "POST", "/v1/registration", #"{"registration_token":"\#(token.text(for: .ios))","tags":["town"]}"#)
        #expect(registered.body.lowercased().contains(crowd.devices[7].uuid.lowercased), "\(registered)")
        try await server.end(SIGTERM)
    }
}
