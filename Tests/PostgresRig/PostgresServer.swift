public import Foundation
import Synchronization

/// A PostgreSQL of this process's own: in a temporary folder, behind a socket in it, with fsync on. It is started when it is
/// first asked for, and goes with the process, however that ends.
public final class PostgresServer: Sendable {
    /// Why there is none.
    public struct Trouble: Error, CustomStringConvertible {
        public let description: String
    }

    public let directory: String
    private let process: Process
    private let nextDatabase = Atomic(0)

    private static let started = Mutex<Result<PostgresServer, any Error>?>(nil)

    /// The one of this process. It blocks while the server comes up.
    public static func shared() throws -> PostgresServer {
        try started.withLock { started in
            if let started { return try started.get() }
            let result = Result { try PostgresServer() }
            started = result
            return try result.get()
        }
    }

    /// A name for a database that nobody has used yet.
    public func freshName() -> String { "belfry_\(nextDatabase.add(1, ordering: .relaxed).newValue)" }

    /// As libpq takes it.
    public func connection(to database: String) -> String {
        "host=\(directory) port=5432 user=postgres dbname=\(database)"
    }

    public init() throws {
        directory =
            FileManager.default.temporaryDirectory.appendingPathComponent("pg-\(UUID().uuidString.prefix(8))").path
        let tools = try Self.tools()
        // initdb refuses root, and nobody else may read the folder.
        let user = getuid() == 0 ? ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        if getuid() == 0, let account = getpwnam("postgres") {
            chown(directory, account.pointee.pw_uid, account.pointee.pw_gid)
        }
        let data = directory + "/data"
        let made = try Process.run(
            user + [
                tools + "/initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8",
                "--no-sync",
            ],
            output: directory + ".log")
        guard made == 0 else { throw Trouble(description: "initdb failed, see \(directory).log") }
        let dying = getuid() == 0 ? user + ["--pdeathsig=INT"] : ["/usr/bin/setpriv", "--pdeathsig=INT"]
        process = try Process(
            dying + [
                tools + "/postgres", "-D", data, "-k", directory, "-h", "", "-p", "5432",
                "-c", "fsync=on", "-c", "checkpoint_timeout=1h", "-c", "max_connections=200", "-c",
                "shared_buffers=64MB", "-c", "log_min_messages=warning",
            ], output: directory + ".log")
        try waitUntilUp(tools)
        Self.stopAtExit(self)
    }

    /// As a power cut would: nothing is written on the way out.
    public func kill() { process.signal(SIGQUIT) }

    /// The number of the server's process.
    public var processID: pid_t { process.id }

    private func waitUntilUp(_ tools: String) throws {
        for _ in 0..<100 {
            let status = try Process.run(
                [tools + "/pg_isready", "-h", directory, "-p", "5432", "-q"], output: "/dev/null")
            if status == 0 { return }
            usleep(100_000)
        }
        throw Trouble(description: "the server did not come up, see \(directory).log")
    }

    private static func tools() throws -> String {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).sorted {
            $0.compare($1, options: .numeric) == .orderedAscending
        }
        guard let newest = versions.last else {
            throw Trouble(description: "there is no PostgreSQL below \(root); Scripts/setup test installs it")
        }
        return "\(root)/\(newest)/bin"
    }

    private static let atExit = Mutex<PostgresServer?>(nil)

    private static func stopAtExit(_ server: PostgresServer) {
        let isFirst = atExit.withLock { known in
            defer { known = known ?? server }
            return known == nil
        }
        guard isFirst else { return }
        atexit {
            guard let server = PostgresServer.atExit.withLock({ $0 }) else { return }
            server.process.signal(SIGINT)
            server.process.waitUntilEnd()
            try? FileManager.default.removeItem(atPath: server.directory)
            try? FileManager.default.removeItem(atPath: server.directory + ".log")
        }
    }
}
