import BelfryServer
import Foundation
import Testing

/// Commands of one user on what belongs to another; they need root, who can be anybody.
@Suite(.enabled(if: getuid() == 0)) struct FileOwnerTests {
    private static let server: uid_t = 65_534
    private static let other: uid_t = 1

    /// Runs `belfry` as another user.
    private func run(_ user: uid_t, _ arguments: String..., in scratch: Scratch) async throws -> Program.Ended {
        try await Program.run(
            arguments + ["--data-directory", scratch.file("data")], in: scratch,
            behind: ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"])
    }

    private func run(_ arguments: String..., in scratch: Scratch) async throws -> Program.Ended {
        try await Program.run(arguments + ["--data-directory", scratch.file("data")], in: scratch)
    }

    /// The owner, group and mode of each file in the data directory that is no copy of an older one.
    private func owners(in scratch: Scratch) throws -> [String: [UInt32]] {
        let data = scratch.file("data")
        var owners: [String: [UInt32]] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: data) {
            var found = stat()
            guard stat("\(data)/\(name)", &found) == 0 else { continue }
            owners[name] = [found.st_uid, found.st_gid, found.st_mode & 0o777]
        }
        return owners
    }

    private func withData(_ body: (Scratch) async throws -> Void) async throws {
        try await Scratch.with { scratch in
            chmod(scratch.path, 0o755)
            try FileManager.default.createDirectory(atPath: scratch.file("data"), withIntermediateDirectories: true)
            chown(scratch.file("data"), Self.server, Self.server)
            let made = try await run(Self.server, "migrate", in: scratch)
            #expect(made.status == 0, "\(made)")
            try await body(scratch)
        }
    }

    @Test func `files replaced by root's commands stay the server's`() async throws {
        try await withData { scratch in
            let backup = scratch.file("backup")
            let commands = [
                ["app", "create", "--name", "Bakery"], ["keys", "add"], ["keys", "rotate"], ["keys", "drop", "1"],
                ["backup", "--to", backup], ["restore", "--from", backup, "--force"], ["check"],
            ]
            for command in commands {
                let ended = try await Program.run(command + ["--data-directory", scratch.file("data")], in: scratch)
                #expect(ended.status == 0, "\(command): \(ended)")
                for (name, owner) in try owners(in: scratch) {
                    let mode: UInt32 = name.hasPrefix("before-restore") ? 0o700 : 0o600
                    #expect(owner == [Self.server, Self.server, mode], "\(name) after \(command)")
                }
            }
            let listed = try await run(Self.server, "app", "list", in: scratch)
            #expect(listed.status == 0 && listed.out.contains("Bakery"), "\(listed)")
            let rotated = try await run(Self.server, "keys", "rotate", in: scratch)
            #expect(rotated.status == 0, "\(rotated)")
        }
    }

    @Test func `SQLite's files beside root's server keep the database owner`() async throws {
        try await withData { scratch in
            let server = try Program.start(
                ["serve", "--data-directory", scratch.file("data")],
                ["BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_FORMAT": "json"],
                log: scratch.file("log"))
            defer { server.endAtOnce() }
            _ = try await server.addresses()
            let owners = try owners(in: scratch)
            #expect(owners["belfry.sqlite-wal"] != nil && owners["admin.key"] != nil, "\(owners)")
            #expect(owners.allSatisfy { $0.value == [Self.server, Self.server, 0o600] }, "\(owners)")
            try await server.end(SIGKILL)
            let listed = try await run(Self.server, "app", "list", in: scratch)
            #expect(listed.status == 0, "\(listed)")
        }
    }

    @Test func `where an owner cannot be kept nothing is changed`() async throws {
        try await withData { scratch in
            let data = scratch.file("data")
            let ring = data + "/key-ring"
            // Another user may do everything there but give files away.
            chmod(data, 0o777)
            for file in ["belfry.sqlite", "key-ring"] { chmod("\(data)/\(file)", 0o666) }
            let before = (try Data(contentsOf: URL(filePath: ring)), try owners(in: scratch))
            for command in [["keys", "add"], ["keys", "rotate"], ["app", "create", "--name", "x"]] {
                let ended = try await Program.run(
                    command + ["--data-directory", data], in: scratch,
                    behind: ["setpriv", "--reuid=\(Self.other)", "--regid=\(Self.other)", "--clear-groups"])
                #expect(ended.status != 0 && ended.err.contains("belongs to "), "\(ended)")
                #expect(try Data(contentsOf: URL(filePath: ring)) == before.0 && owners(in: scratch) == before.1)
            }
            // A ring that root brought, in a directory of the server's.
            chown(ring, 0, 0)
            let refused = try await run(Self.server, "keys", "add", in: scratch)
            #expect(refused.status != 0 && refused.err.contains("belongs to root"), "\(refused)")
            #expect(refused.err.contains("Nothing was changed"), "\(refused)")
            #expect(try Data(contentsOf: URL(filePath: ring)) == before.0)
            #expect(!FileManager.default.fileExists(atPath: ring + ".new"))
        }
    }

    @Test func `an unreadable ring is never called missing`() async throws {
        try await withData { scratch in
            let ring = scratch.file("data/key-ring")
            chown(ring, 0, 0)
            let refused = try await run(Self.server, "keys", "list", in: scratch)
            #expect(refused.status != 0 && refused.err.contains("it belongs to root"), "\(refused)")
            #expect(refused.err.contains("put no other ring in its place"), "\(refused)")
            #expect(!refused.err.contains("missing") && !refused.err.contains("backup"), "\(refused)")
        }
    }
}
