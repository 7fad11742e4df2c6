import BelfryServer
import Foundation
import Testing

/// The real program with few file descriptors.
extension CommandTests {
    @Suite struct DescriptorTests {}
}

extension CommandTests.DescriptorTests {
    /// A shell that sets limits and becomes the program.
    private func limited(_ limits: String) -> [String] { ["sh", "-c", "ulimit \(limits) && exec \"$0\" \"$@\""] }

    private func serve(_ limits: String, in scratch: Scratch) throws -> Program {
        try Program.start(
            ["serve", "--data-directory", scratch.file("data")],
            [
                "BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_FORMAT": "json",
                // Connections that a test holds stay open, however slow the machine.
                "BELFRY_HTTP_IDLE_SECONDS": "3600",
            ],
            behind: limited(limits), log: scratch.file("log"))
    }

    private func figure(_ name: String, in page: String) -> Double? {
        page.split(separator: "\n").first { $0.hasPrefix(name) }?.split(separator: " ").last.flatMap { Double($0) }
    }

    @Test func `the soft limit is raised to the hard one`() async throws {
        try await Scratch.with { scratch in
            let server = try serve("-Sn 256 && ulimit -Hn 4096", in: scratch)
            defer { server.endAtOnce() }
            let page = try await Caller(base: try await server.addresses().management, user: "", secret: "")
                .send("GET", "/metrics").body
            #expect(figure("process_max_fds ", in: page) == 4_096)
            #expect(server.logged.contains("http.connections.max is 10000, and of the 4096 files"), "\(server.logged)")
            // The plan keeps files for three loops of each processor; the system's library of threads has one more.
            let files = "/proc/\(server.processID)/fd"
            let loops = try FileManager.default.contentsOfDirectory(atPath: files).count {
                try FileManager.default.destinationOfSymbolicLink(atPath: "\(files)/\($0)").contains("eventpoll")
            }
            #expect(loops <= 3 * ProcessInfo.processInfo.activeProcessorCount + 1)
            try await server.end(SIGTERM)
        }
    }

    @Test func `check compares the limit with the connections that are wanted`() async throws {
        try await Scratch.with { scratch in
            let data = ["check", "--data-directory", scratch.file("data")]
            let few = try await Program.run(data, in: scratch, behind: limited("-n 1024"))
            #expect(few.status == 0 && few.out.contains("· http.connections.max is 10000, and of the 1024"), "\(few)")
            let none = try await Program.run(data, in: scratch, behind: limited("-n 100"))
            #expect(none.status == 1 && none.err.contains("100 files open (EMFILE)"), "\(none)")
            let refused = try await Program.run(
                ["serve", "--data-directory", scratch.file("data")], Program.freePorts, in: scratch,
                behind: limited("-n 100"))
            #expect(refused.status != 0 && refused.err.contains("100 files open (EMFILE)"), "\(refused)")
            #expect(!FileManager.default.fileExists(atPath: scratch.file("data")), "nothing was made")
            for limit in [4, 10, 20] {
                let ended = try await Program.run(
                    ["keys", "list"] + data.dropFirst(), in: scratch, behind: limited("-n \(limit)"))
                #expect(ended.status == 1 && ended.err.contains("\(limit) files open (EMFILE)"), "\(ended)")
            }
        }
    }

    @Test func `greedy callers leave health and database alive`() async throws {
        try await Scratch.with { scratch in
            let server = try serve("-n 300", in: scratch)
            defer { server.endAtOnce() }
            let addresses = try await server.addresses()
            let management = Caller(base: addresses.management, user: "", secret: "")
            var held: [RawConnection] = []
            for _ in 0..<400 { held.append(try await RawConnection.open(to: addresses.http)) }
            try await eventually("the rest is refused") {
                let page = try await management.send("GET", "/metrics").body
                return (figure(#"belfry_connections_refused_total{listener="http",reason="files"}"#, in: page) ?? 0)
                    > 100
            }
            #expect(try await management.send("GET", "/health/ready").status == 200)
            let made = try await Program.run(
                ["app", "create", "--name", "Bakery", "--data-directory", scratch.file("data")], in: scratch)
            #expect(made.status == 0, "\(made)")
            for connection in held { await connection.close() }
            try await server.end(SIGTERM)
            #expect(server.ending == 0 && !server.logged.contains("EMFILE"), "\(server.logged)")
        }
    }

    /// The system's library of threads ends a process that cannot open a file at the moment when it looks after threads that have more work
    /// than cores: once a second, on a busy machine alone. Such a server is started again.
    @Test func `exhausted descriptors are named and accepting backs off`() async throws {
        for _ in 1..<Self.startsMax {
            do { return try await exhaust() } catch is EndedByItsThreads {}
        }
        try await exhaust()
    }

    private static let startsMax = 10

    private struct EndedByItsThreads: Error {}

    private func exhaust() async throws {
        try await Scratch.with { scratch in
            let server = try serve("-n 2000", in: scratch)
            defer { server.endAtOnce() }
            let addresses = try await server.addresses()
            let management = try await RawConnection.open(to: addresses.management)
            func demandRunning() throws {
                guard !server.isRunning else { return }
                #expect([SIGILL, SIGTRAP].contains(server.ending), "\(server.logged)")
                throw EndedByItsThreads()
            }
            func ask(_ path: String) async throws -> String {
                let before = management.received.count
                try? await management.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return try await eventually("\(path) is answered") {
                    try demandRunning()
                    return whole(management.received.dropFirst(before))
                }
            }
            #expect(try await ask("/health/ready").contains(" 200 "))
            try limit(server, to: 5)
            let begun = ContinuousClock.now
            let callers = [
                try await RawConnection.open(to: addresses.http), try await RawConnection.open(to: addresses.http),
            ]
            try await eventually("accept fails") {
                try demandRunning()
                return server.logged.contains("a connection cannot be accepted")
            }
            let unready = try await eventually("health notices it", every: .milliseconds(200)) {
                let answer = try await ask("/health/ready")
                return answer.contains(" 503 ") && answer.contains("EMFILE") ? answer : nil
            }
            try limit(server, to: 2_000)
            try demandRunning()
            #expect(!unready.contains("missing"), "\(unready)")
            #expect(server.logged.contains("EMFILE"))
            for caller in callers {
                try await caller.send("GET /v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n")
                try await eventually("it is served after all") { caller.received.hasPrefix("HTTP/1.1 ") }
            }
            let page = try await Caller(base: addresses.management, user: "", secret: "").send("GET", "/metrics").body
            let failures = try #require(figure(#"belfry_accept_failures_total{listener="http"}"#, in: page))
            #expect(failures >= 1 && failures <= Double(begun.duration(to: .now) / .seconds(1)) + 2, "once a second")
            try await server.end(SIGTERM)
        }
    }

    /// An answer once all of it is there.
    private func whole(_ received: Substring) -> String? {
        let text = String(received)
        guard let end = text.firstRange(of: "\r\n\r\n"),
            let length = text.firstMatch(of: /(?i)content-length: (\d+)/).flatMap({ Int($0.1) }),
            text[end.upperBound...].utf8.count >= length
        else { return nil }
        return text
    }

    /// Changes the soft limit of a process that runs.
    private func limit(_ server: Program, to count: Int) throws {
        let process = try Process.run(
            URL(filePath: "/usr/bin/prlimit"), arguments: ["--pid", "\(server.processID)", "--nofile=\(count):"])
        process.waitUntilExit()
        #expect(process.terminationStatus == 0 || !server.isRunning)
    }
}
