import BelfryService
import BelfrySimulators
import Foundation
import Logging
import Testing

@testable import BelfryServer

/// Backups, and recovery after the machine is lost.
extension ServerTests {
    @Suite struct BackupTests {}
}

extension ServerTests.BackupTests {
    @Test func `a backup made beside a running server brings everything back`() async throws {
        try await TestInstallation.with { installation in
            let crowd = try await installation.crowd(50)
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            let push = try await installation.sender(at: base).push("Hello", toTopic: "town")
            let settled = try await installation.settled(push)
            let copy = installation.scratch.file("copy")
            let made: BackupManifest = try await installation.run("backup", "--to", copy, "--json").decoded()
            #expect(made.files.map(\.name) == ["belfry.sqlite", "key-ring"] && made.version == Release.version)
            for (path, mode) in [(copy, 0o700), (copy + "/belfry.sqlite", 0o600), (copy + "/key-ring", 0o600)] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode, "\(path)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: copy).count == 3)
            try await expectRefused(try await installation.run("backup", "--to", copy), "exists already")
            let next = installation.scratch.file("next")
            try FileManager.default.createDirectory(atPath: next + ".part", withIntermediateDirectories: false)
            try await expectRefused(try await installation.run("backup", "--to", next), "remove the folder")
            try await expectRefused(
                try await installation.run("backup", "--to", "/proc/copy/"), "/proc/copy.part cannot be made: ")
            let note = try String(contentsOfFile: installation.data + "/last-backup", encoding: .utf8)
            #expect(note.split(separator: "\n").last.map(String.init) == copy && note.hasPrefix(made.createdAt))
            // After the backup, so it is not in it.
            let later = try await installation.sender(at: base).push("Hello", toTopic: "town")
            _ = try await installation.settled(later)

            try await expectRefused(try await installation.run("restore", "--from", copy), "--force")
            try await expectRefused(try await installation.run("restore", "--from", copy, "--force"), "in use")
            try await server.end(SIGTERM)
            let ended = try await installation.run("restore", "--from", copy, "--force")
            #expect(ended.status == 0 && ended.out.contains("Restored to \(installation.data)"), "\(ended)")
            #expect(!ended.err.contains("admin.key"), "the database knows that key: \(ended.err)")
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: installation.data).contains {
                    $0.hasPrefix("before-restore-")
                })

            let second = try await installation.serve()
            defer { second.endAtOnce() }
            let baseAgain = try await second.addresses().http
            #expect(try await installation.settled(push) == settled)
            #expect(try await installation.run("receipt", later.lowercased).status != 0)
            let again = try await installation.sender(at: baseAgain).push("Hello", toTopic: "town")
            #expect(try await installation.settled(again).counts == ["accepted": crowd.count])
            try await second.end(SIGTERM)
        }
    }

    @Test func `a linked file itself is replaced and restored`() async throws {
        try await TestInstallation.with { installation in
            let (files, scratch) = (FileManager.default, installation.scratch)
            let copy = scratch.file("copy")
            #expect(try await installation.run("backup", "--to", copy).status == 0)
            let data = scratch.file("linked")
            let elsewhere = ["--data-directory", data]
            #expect(try await Program.run(["restore", "--from", copy] + elsewhere, in: scratch).status == 0)
            let (link, target) = (data + "/belfry.sqlite", scratch.file("moved.sqlite"))
            try files.moveItem(atPath: link, toPath: target)
            try files.createSymbolicLink(atPath: link, withDestinationPath: target)
            let ended = try await Program.run(["restore", "--from", copy, "--force"] + elsewhere, in: scratch)
            #expect(ended.status == 0, "\(ended.err)")
            #expect(try files.destinationOfSymbolicLink(atPath: link) == target && files.fileExists(atPath: target))
            let aside = try #require(
                try files.contentsOfDirectory(atPath: data).first { $0.hasPrefix("before-restore-") })
            let kept = try files.attributesOfItem(atPath: "\(data)/\(aside)/moved.sqlite")
            #expect(kept[.type] as? FileAttributeType == .typeRegular)
            let listed = try await Program.run(["app", "list", "--json"] + elsewhere, in: scratch)
            #expect(listed.out.contains(installation.application))
        }
    }

    @Test(.enabled(if: FileManager.default.isWritableFile(atPath: "/dev/shm"), "there is no other file system"))
    func `a ring on another file system is put aside`() async throws {
        try await TestInstallation.with { installation in
            let (files, scratch) = (FileManager.default, installation.scratch)
            let (copy, data, ring) = (scratch.file("copy"), scratch.file("elsewhere"), "/dev/shm/\(UUID())")
            defer { try? files.removeItem(atPath: ring) }
            #expect(try await installation.run("backup", "--to", copy).status == 0)
            let restore = ["restore", "--from", copy, "--force", "--data-directory", data]
            for _ in 0..<2 {
                let ended = try await Program.run(restore, ["BELFRY_KEY_RING_FILE": ring], in: scratch)
                #expect(ended.status == 0, "\(ended.err)")
            }
            let aside = try #require(
                try files.contentsOfDirectory(atPath: data).first { $0.hasPrefix("before-restore-") })
            #expect(files.contentsEqual(atPath: ring, andPath: copy + "/key-ring"))
            #expect(files.fileExists(atPath: "\(data)/\(aside)/\((ring as NSString).lastPathComponent)"))
        }
    }

    @Test func `a restore that cannot write the ring changes nothing`() async throws {
        try await TestInstallation.with { installation in
            let (files, scratch) = (FileManager.default, installation.scratch)
            let (copy, data) = (scratch.file("copy"), scratch.file("full"))
            #expect(try await installation.run("backup", "--to", copy).status == 0)
            let elsewhere = ["--data-directory", data]
            #expect(try await Program.run(["restore", "--from", copy] + elsewhere, in: scratch).status == 0)
            /// Without those that SQLite makes beside its file.
            func names() throws -> [String] {
                try files.contentsOfDirectory(atPath: data).sorted().filter {
                    !$0.contains("-wal") && !$0.contains("-shm")
                }
            }
            let before = try names()
            let ring = try Data(contentsOf: URL(fileURLWithPath: data + "/key-ring"))
            let ended = try await Program.run(
                ["restore", "--from", copy, "--force"] + elsewhere, ["BELFRY_KEY_RING_FILE": "/proc/version"],
                in: scratch)
            #expect(ended.status != 0)
            #expect(try names() == before)
            #expect(try Data(contentsOf: URL(fileURLWithPath: data + "/key-ring")) == ring)
        }
    }

    @Test func `a directory that is taken is neither restored nor copied`() async throws {
        try await TestInstallation.with { installation in
            let copy = installation.scratch.file("copy")
            #expect(try await installation.run("backup", "--to", copy).status == 0)
            let lock = try await DirectoryLock.take(installation.data)
            defer { withExtendedLifetime(lock) {} }
            let taken = "another server is running on"
            try await expectRefused(try await installation.run("restore", "--from", copy, "--force"), taken)
            let copied = try await Program.run(
                [
                    "database", "copy", "--from", "sqlite:\(installation.data)/belfry.sqlite", "--to",
                    "sqlite:\(installation.scratch.file("other.sqlite"))",
                ], in: installation.scratch)
            try await expectRefused(copied, taken)
            #expect(try await installation.run("app", "list", "--json").out.contains(installation.application))
        }
    }

    @Test func `an empty machine tries a backup without telling anybody`() async throws {
        try await TestInstallation.with { installation in
            let (copy, scratch) = (installation.scratch.file("copy/"), installation.scratch)
            _ = try await installation.crowd(3)
            let push = ["push", "--app", installation.application, "--topic", "town", "--body", "x"]
            #expect(try await installation.run(push).status == 0)
            #expect(try await installation.run("backup", "--to", copy).status == 0)
            let elsewhere = ["--data-directory", scratch.file("elsewhere")]
            let ended = try await Program.run(["restore", "--from", copy] + elsewhere, in: scratch)
            #expect(ended.status == 0, "\(ended.err)")
            let nowhere = "http://127.0.0.1:9"
            #expect(ended.out.contains("BELFRY_PROXY_DEFAULT_URL=\(nowhere)"), "\(ended.out)")
            let server = try Program.start(
                ["serve", "--port", "0", "--management-port", "0"] + elsewhere, ["BELFRY_PROXY_DEFAULT_URL": nowhere],
                log: scratch.file("log"))
            defer { server.endAtOnce() }
            try await eventually("the push is tried") { server.logged.contains("a proxy lets nothing through") }
            #expect(installation.simulator.ledger.totals().told == 0)
        }
    }

    @Test func `restore alone opens the folder of a backup`() async throws {
        try await TestInstallation.with { installation in
            let (copy, scratch) = (installation.scratch.file("copy"), installation.scratch)
            #expect(try await installation.run("backup", "--to", copy).status == 0)
            let words = "\(copy) is a backup: `belfry restore --from \(copy)`"
            for command in [["app", "list"], ["check"], ["serve", "--port", "0", "--management-port", "0"]] {
                try await expectRefused(
                    try await Program.run(command + ["--data-directory", copy], in: scratch), words)
            }
            let moved = ["--from", "sqlite:\(copy)/belfry.sqlite", "--to", "sqlite:\(scratch.file("moved.sqlite"))"]
            try await expectRefused(try await Program.run(["database", "copy"] + moved, in: scratch), words)
            #expect(try await installation.run("restore", "--from", copy, "--force").status == 0)
            #expect(try await installation.run("app", "list").status == 0)
        }
    }

    @Test func `a copy compares what nobody can change any more`() async throws {
        try await TestInstallation.with { installation in
            let (path, target) = (installation.data + "/belfry.sqlite", installation.scratch.file("copy.sqlite"))
            let logger = Logger(label: "copy")
            func copy(
                _ report: (DatabaseCopy.Progress) -> Void = { _ in }
            ) async -> Result<[DatabaseCopy.Verdict], any Error> {
                await Result {
                    try await DatabaseLocation.sqlite(path: path).copy(
                        to: .sqlite(path: target), keepsSource: false, by: .local(systemUser: "test"), logger: logger,
                        report)
                }
            }
            var other: SQLiteStore?
            let used = await copy { _ in
                other =
                    other
                    ?? (try? SQLiteStore.open(
                        at: path, clock: SystemClock(), logger: logger, migrate: false, for: .copyingFrom))
            }
            let stayed = try #require(other)
            try await stayed.close()
            #expect(throws: DatabaseInUse.self) { try used.get() }
            #expect(try await installation.run("app", "rotate", "api-key", installation.application).status == 0)
            let changed = await copy()
            #expect(throws: DatabaseCopy.Difference.self) { try changed.get() }
            #expect("\(changed)".contains("empty the new database first"))
            #expect(try await installation.run("app", "list").status == 0)
            for end in ["", "-wal", "-shm"] { unlink(target + end) }
            _ = try await copy().get()
            try await expectRefused(try await installation.run("app", "list"), "was copied to sqlite:\(target) at ")
        }
    }

    @Test func `a restored database names a foreign admin.key; non-backups are refused`()
        async throws
    {
        try await TestInstallation.with { installation in
            let copy = installation.scratch.file("copy")
            #expect(try await installation.run("backup", "--to", copy).status == 0)
            try "bfy_0123456789abcdef_\(String(repeating: "0", count: 64))\n".write(
                toFile: installation.data + "/admin.key", atomically: true, encoding: .utf8)
            let ended = try await installation.run("restore", "--from", copy, "--force")
            #expect(ended.status == 0 && ended.err.contains("admin.key holds a key that the restored"), "\(ended)")
            try await expectRefused(
                try await installation.run("restore", "--from", installation.data), "is not a backup: its manifest.json"
            )
        }
    }

    @Test func `a damaged, newer or keyless backup changes nothing`()
        async throws
    {
        try await TestInstallation.with { installation in
            let copy = installation.scratch.file("copy")
            #expect(try await installation.run("backup", "--to", copy).status == 0)
            let files = FileManager.default
            let (database, ring, list) = (copy + "/belfry.sqlite", copy + "/key-ring", copy + "/manifest.json")
            let sound = try [database, ring, list].map { ($0, try Data(contentsOf: URL(filePath: $0))) }
            func expectRestoreRefused(_ words: String) async throws {
                let target = installation.scratch.file("target")
                let ended = try await Program.run(
                    ["restore", "--from", copy, "--data-directory", target], in: installation.scratch)
                try await expectRefused(ended, words)
                #expect(!files.fileExists(atPath: target))
                for (path, data) in sound { try data.write(to: URL(filePath: path)) }
            }
            var bytes = sound[0].1
            bytes[bytes.count - 100] ^= 1
            try bytes.write(to: URL(filePath: database))
            try await expectRestoreRefused("not the file that was backed up")
            try Data("1:\(String(repeating: "ab", count: 32))\n".utf8).write(to: URL(filePath: ring))
            try await expectRestoreRefused("not the file that was backed up")
            try files.removeItem(atPath: ring)
            try await expectRestoreRefused("missing")
            try files.removeItem(atPath: list)
            try await expectRestoreRefused("missing")
        }
    }

    @Test func `a database with seals unknown to its ring isn't saved`() async throws {
        try await TestInstallation.with { installation in
            let ring = installation.data + "/key-ring"
            try FileManager.default.removeItem(atPath: ring)
            try Data("1:\(String(repeating: "ab", count: 32))\n".utf8).write(to: URL(filePath: ring))
            let copy = installation.scratch.file("copy")
            try await expectRefused(try await installation.run("backup", "--to", copy), "does not open")
            #expect(!FileManager.default.fileExists(atPath: copy))
            #expect(!FileManager.default.fileExists(atPath: copy + ".part"))
        }
    }

    private func expectRefused(_ ended: Program.Ended, _ words: String) async throws {
        #expect(ended.status != 0)
        #expect(ended.err.contains(words), "\(ended.err)")
    }
}

extension ServerTests.BackupTests {
    @Test(.enabled(if: SmallDisk.canBeMounted, "mounting takes root"))
    func `a backup names the disk that is full`() async throws {
        try await TestInstallation.with { installation in
            try await SmallDisk.with(megabytes: 1) { disk in
                try disk.fill()
                try await expectRefused(
                    try await installation.run("backup", "--to", disk.file("copy")),
                    "/copy.part cannot be made: the disk is full")
                #expect(!FileManager.default.fileExists(atPath: disk.file("copy.part")))
            }
        }
    }

    @Test(.enabled(if: SmallDisk.canBeMounted, "mounting takes root"))
    func `an unwritable disk stops the start with words, losing nothing`() async throws {
        try await TestInstallation.with { installation in
            let crowd = try await installation.crowd(20)
            try await SmallDisk.with(megabytes: 64) { disk in
                try FileManager.default.copyItem(atPath: installation.data, toPath: disk.file("data"))
                let data = ["--data-directory", disk.file("data")]
                let push = try await Program.run(
                    ["push", "--app", installation.application, "--everyone", "--yes", "--body", "Hello", "--json"]
                        + data,
                    in: installation.scratch)
                #expect(push.status == 0, "\(push.err)")
                try disk.forbidWriting(true)
                let ended = try await Program.run(
                    ["serve", "--port", "0", "--management-port", "0"] + data, in: installation.scratch)
                #expect(ended.status != 0)
                #expect(
                    ended.err.contains("cannot be written") || ended.err.contains("read-only")
                        || ended.err.contains("readonly"), "\(ended.err)")
                try disk.forbidWriting(false)
                let server = try Program.start(
                    ["serve"] + data,
                    ["BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_FORMAT": "json"],
                    log: installation.scratch.file("log"))
                defer { server.endAtOnce() }
                try await eventually("all are told") { installation.simulator.ledger.totals().told == crowd.count }
                try await server.end(SIGTERM)
            }
        }
    }
}
