public import Foundation
import Synchronization

/// A PostgreSQL of this process's own: in a temporary folder, behind a socket in it, with fsync on. It goes with the process,
/// however that ends.
public final class PostgresServer: Sendable {
    /// Why there is none.
    public struct Trouble: Error, CustomStringConvertible {
        public let description: String
    }

    public let directory: String
    let tools: String
    private let process: Mutex<Process>
    private let nextDatabase = Atomic(0)

    private static let started = Mutex<Result<PostgresServer, any Error>?>(nil)

    /// The server that tests share, started when it is first asked for. The call blocks while the server comes up.
    public static func shared() throws -> PostgresServer {
        try started.withLock { started in
            if let started { return try started.get() }
            let result = Result { try PostgresServer() }
            started = result
            return try result.get()
        }
    }

    /// The shared server, for tasks. Their threads are few, and blocking them would delay other tests.
    public static func sharedOnceUp() async throws -> PostgresServer {
        try await BlockingWork.run { try Self.shared() }
    }

    /// Runs `body` with one of its own, and discards it. No task waits for a thread while the server comes and goes.
    public static func with(_ body: (PostgresServer) async throws -> Void) async throws {
        let server = try await BlockingWork.run { try PostgresServer() }
        let result: Result<Void, any Error>
        do { result = .success(try await body(server)) } catch { result = .failure(error) }
        try await BlockingWork.run { server.discard() }
        try result.get()
    }

    /// A name for a database that was not used yet.
    public func freshName() -> String { "belfry_\(nextDatabase.add(1, ordering: .relaxed).newValue)" }

    /// The connection string in libpq's form.
    public func connection(to database: String) -> String {
        "host=\(directory) port=5432 user=postgres dbname=\(database)"
    }

    /// The URL of a database.
    public func url(of database: String) -> String {
        let host = directory.replacingOccurrences(of: "/", with: "%2F")
        return "postgres://postgres@\(host)/\(database)"
    }

    /// Runs `body` with a primary, and a standby that has each commit before it is answered.
    public static func withStandby(
        _ body: (_ primary: PostgresServer, _ standby: PostgresServer) async throws -> Void
    ) async throws {
        try await with { primary in
            let standby = try await BlockingWork.run { try PostgresServer(standbyOf: primary) }
            let result: Result<Void, any Error>
            do { result = .success(try await body(primary, standby)) } catch { result = .failure(error) }
            try await BlockingWork.run { standby.discard() }
            try result.get()
        }
    }

    /// A copy of a server, which follows it. It blocks while the server comes up.
    private convenience init(standbyOf primary: PostgresServer) throws {
        try self.init { directory, tools, user in
            user + [
                tools + "/pg_basebackup", "-h", primary.directory, "-p", "5432", "-U", "postgres", "-D",
                directory + "/data", "-R", "-X", "stream", "-c", "fast", "--no-sync",
            ]
        }
        try primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try primary.run("SELECT pg_reload_conf()")
    }

    /// Makes a primary of a standby. It blocks until it is one.
    public func promote() throws { try run("SELECT pg_promote()") }

    /// A new one. It blocks while the server comes up.
    public convenience init() throws {
        try self.init { directory, tools, user in
            user + [
                tools + "/initdb", "-D", directory + "/data", "-U", "postgres", "-A", "trust", "-E", "UTF8",
                "--locale=C.UTF-8", "--no-sync",
            ]
        }
    }

    /// - Parameter make: the command that fills its data directory, for its folder, the folder of tools and the user to be.
    private init(_ make: (_ directory: String, _ tools: String, _ user: [String]) -> [String]) throws {
        directory =
            FileManager.default.temporaryDirectory.appendingPathComponent("pg-\(UUID().uuidString.prefix(8))").path
        tools = try Self.tools()
        // initdb refuses root, and no other user may read the folder.
        let user = getuid() == 0 ? ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        if getuid() == 0, let account = getpwnam("postgres") {
            chown(directory, account.pointee.pw_uid, account.pointee.pw_gid)
        }
        let made = try Process.run(make(directory, tools, user), output: directory + ".log")
        guard made == 0 else { throw Trouble(description: "no data directory was made, see \(directory).log") }
        process = Mutex(try Self.bringUp(directory, tools))
        Self.discardAtExit(self)
    }

    /// The number of the server's process.
    public var processID: pid_t { process.withLock { $0.id } }

    /// As an operator does it: connections are ended, and what was not committed is rolled back. It blocks until the server
    /// is up again.
    public func restart() throws {
        stop()
        try start()
    }

    /// As a fault does it, by `kill -9`: it has to recover from its log. It blocks until the server is up again.
    public func killAndRestart() throws {
        end(by: SIGKILL)
        try start()
    }

    /// It blocks until the server is down.
    public func stop() { end(by: SIGINT) }

    /// It blocks until the server is up.
    public func start() throws { try process.withLock { $0 = try Self.bringUp(directory, tools) } }

    /// Runs a statement as the server's owner.
    public func run(_ sql: String, in database: String = "postgres") throws {
        let status = try Process.run(
            [
                tools + "/psql", "-h", directory, "-p", "5432", "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-c", sql,
                database,
            ],
            output: directory + ".log")
        guard status == 0 else { throw Trouble(description: "psql failed, see \(directory).log") }
    }

    /// Makes a role that needs a password.
    public func addRole(_ name: String, password: String) throws {
        try run("CREATE ROLE \(name) LOGIN PASSWORD '\(password)'")
        try "local all \(name) scram-sha-256\nlocal all all trust\n".write(
            toFile: directory + "/data/pg_hba.conf", atomically: false, encoding: .utf8)
        try restart()
    }

    /// Stops it and removes its folder.
    public func discard() {
        stop()
        for path in [directory, directory + ".log"] { try? FileManager.default.removeItem(atPath: path) }
    }

    private func end(by signal: Int32) {
        process.withLock { process in
            process.signal(signal)
            process.waitUntilEnd()
        }
    }

    /// Processes of a server that was killed live on for a moment, and no other can begin before they are gone.
    private static func bringUp(_ directory: String, _ tools: String) throws -> Process {
        let deadline = ContinuousClock.now + .seconds(600)
        var process = try spawn(directory, tools)
        while ContinuousClock.now < deadline {
            usleep(100_000)
            if process.hasEnded { process = try spawn(directory, tools) }
            let status = try Process.run(
                [tools + "/pg_isready", "-h", directory, "-p", "5432", "-q"], output: "/dev/null")
            if status == 0 { return process }
        }
        process.signal(SIGKILL)
        throw Trouble(description: "the server did not come up, see \(directory).log")
    }

    private static func spawn(_ directory: String, _ tools: String) throws -> Process {
        let user = getuid() == 0 ? ["--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
        return try Process(
            ["/usr/bin/setpriv"] + user + [
                "--pdeathsig=INT", tools + "/postgres", "-D", directory + "/data", "-k", directory, "-h", "", "-p",
                "5432",
                "-c", "fsync=on", "-c", "checkpoint_timeout=1h", "-c", "max_connections=200",
                "-c", "shared_buffers=64MB", "-c", "log_min_messages=warning",
            ], output: directory + ".log")
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

    private static let all = Mutex<[PostgresServer]>([])

    private static func discardAtExit(_ server: PostgresServer) {
        let isFirst = all.withLock { all in
            all.append(server)
            return all.count == 1
        }
        guard isFirst else { return }
        atexit { for server in PostgresServer.all.withLock({ $0 }) { server.discard() } }
    }
}
