import Foundation
import Synchronization

/// A pgbouncer of Debian's before a PostgreSQL, behind a socket in a temporary folder. It goes with the process.
public final class PgBouncer: Sendable {
    public enum Mode: String, Sendable, CaseIterable { case session, transaction }

    private let directory: String
    private let process: Mutex<Process>
    private let server: PostgresServer

    /// Runs `body` with one before a server. Each transaction gets the connection that has rested for the longest.
    public static func with(
        _ mode: Mode, poolSize: Int = 30, before server: PostgresServer, _ body: (PgBouncer) async throws -> Void
    ) async throws {
        let bouncer = try await BlockingWork.run { try PgBouncer(mode, poolSize, before: server) }
        let result: Result<Void, any Error>
        do { result = .success(try await body(bouncer)) } catch { result = .failure(error) }
        try await BlockingWork.run { bouncer.discard() }
        try result.get()
    }

    private init(_ mode: Mode, _ poolSize: Int, before server: PostgresServer) throws {
        self.server = server
        directory =
            FileManager.default.temporaryDirectory.appendingPathComponent("pgb-\(UUID().uuidString.prefix(8))").path
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let settings = """
            [databases]
            * = host=\(server.directory) port=5432
            [pgbouncer]
            listen_addr =
            listen_port = 6432
            unix_socket_dir = \(directory)
            auth_type = trust
            auth_file = \(directory)/users
            admin_users = postgres
            pool_mode = \(mode.rawValue)
            default_pool_size = \(poolSize)
            server_round_robin = 1
            logfile = \(directory)/log

            """
        try settings.write(toFile: directory + "/pgbouncer.ini", atomically: false, encoding: .utf8)
        try "\"postgres\" \"\"\n".write(toFile: directory + "/users", atomically: false, encoding: .utf8)
        if getuid() == 0, let account = getpwnam("postgres") {
            for path in [directory, directory + "/pgbouncer.ini", directory + "/users"] {
                chown(path, account.pointee.pw_uid, account.pointee.pw_gid)
            }
        }
        let program = "/usr/sbin/pgbouncer"
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw PostgresServer.Trouble(description: "there is no \(program); Scripts/setup test installs it")
        }
        // It refuses root.
        let user = getuid() == 0 ? ["--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
        process = Mutex(
            try Process(
                ["/usr/bin/setpriv"] + user + ["--pdeathsig=TERM", program, directory + "/pgbouncer.ini"],
                output: directory + "/out"))
        let deadline = ContinuousClock.now + .seconds(600)
        while ContinuousClock.now < deadline {
            if FileManager.default.fileExists(atPath: directory + "/.s.PGSQL.6432"),
                (try? command("SHOW VERSION")) != nil
            {
                return
            }
            usleep(50_000)
        }
        throw PostgresServer.Trouble(description: "pgbouncer did not come up, see \(directory)/log")
    }

    public func url(of database: String) -> String {
        "postgres://postgres@\(directory.replacingOccurrences(of: "/", with: "%2F")):6432/\(database)"
    }

    /// A command of its console, such as `PAUSE`.
    public func command(_ words: String) throws {
        let status = try Process.run(
            [
                server.tools + "/psql", "-h", directory, "-p", "6432", "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-c",
                words, "pgbouncer",
            ], output: directory + "/console")
        guard status == 0 else { throw PostgresServer.Trouble(description: "pgbouncer refused \(words)") }
    }

    private func discard() {
        process.withLock { process in
            // SIGINT would wait until every client has left.
            process.signal(SIGTERM)
            process.waitUntilEnd()
        }
        try? FileManager.default.removeItem(atPath: directory)
    }
}
