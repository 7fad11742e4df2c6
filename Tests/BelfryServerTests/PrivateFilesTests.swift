import BelfryServer
import BelfryService
import BelfryTesting
import Foundation
import Logging
import Testing

/// Other users of the machine read nothing of what a server keeps.
@Suite struct PrivateFilesTests {
    private func mode(_ path: String) throws -> Int? {
        (try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue
    }

    private func expectPrivate(_ files: [String], in directory: String) throws {
        for file in files {
            let found = try mode(directory + "/" + file)
            #expect(found == 0o600, "\(file)")
        }
    }

    @Test func `files in a shared directory belong to their owner alone`()
        async throws
    {
        try await Scratch.with { scratch in
            let configuration = try await TestServer.quick(in: scratch)
            let data = configuration.storage.directory
            try FileManager.default.createDirectory(
                atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
            let files = ["belfry.sqlite", "belfry.sqlite-wal", "belfry.sqlite-shm", "key-ring", "admin.key"]
            let log = CapturedLog()
            try await TestServer.serve(configuration, log) { _, _ in
                try expectPrivate(files, in: data)
                let copy = scratch.file("copy")
                _ = try Backup(at: copy).make(of: configuration.storage, at: SystemClock().now)
                try expectPrivate(["belfry.sqlite", "key-ring", "manifest.json"], in: copy)
            }
            // As a restore with other tools leaves them.
            for file in files where FileManager.default.fileExists(atPath: data + "/" + file) {
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: data + "/" + file)
            }
            try await TestServer.serve(configuration, log) { _, _ in try expectPrivate(files, in: data) }
            #expect(try mode(data) == 0o755, "the directory is its owner's to open")
        }
    }

    @Test func `a file whose mode cannot change is judged by it`() {
        // Linux changes no mode below /proc, as on a volume that is mounted to be read.
        #expect("/proc/self/environ".makePrivate() && !"/proc/self/stat".makePrivate())
    }

    @Test func `the first link leads to a host that answers`() async throws {
        try await Scratch.with { scratch in
            var configuration = try await TestServer.quick(in: scratch)
            configuration.http.host = "0.0.0.0"
            let log = CapturedLog()
            try await TestServer.serve(configuration, log) { _, _ in }
            let link = try #require(log.lines(atLeast: .info).first { $0.contains("this link works once") })
            #expect(link.contains("link=http://localhost:"), "\(link)")
        }
    }

    @Test(arguments: [
        "postgres://belfry:secret@db/belfry", "postgresql://u:p@h1:5432,h2:5432/x?sslmode=require",
        "postgres://u@h/x?sslmode=require&password=secret", "postgres:///x?PASSWORD=a", "postgres://u:a%40b@h/x",
    ])
    func `a database's password is no argument of a command`(url: String) async throws {
        #expect(DatabasePassword.stands(in: url))
        try await Scratch.with { scratch in
            for arguments in [["check", "--database", url], ["database", "copy", "--from", "sqlite:a", "--to", url]] {
                let ended = try await Program.run(arguments, in: scratch)
                #expect(ended.status != 0 && ended.err.contains("holds a password"), "\(ended)")
                #expect(!ended.err.contains("secret"), "it is not repeated: \(ended)")
            }
        }
    }

    @Test(arguments: [
        "postgres://belfry@db/belfry", "postgres:///belfry", "postgres://h:5432/x", "postgres://u:@h/x",
        "postgres://u@h1:1,h2:2/x?sslmode=verify-full", "sqlite:/a:b@c",
    ])
    func `a database without a password is`(url: String) { #expect(!DatabasePassword.stands(in: url)) }
}
