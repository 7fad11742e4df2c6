/// Pushes to one device each, of which a webhook tells: with a receiver that answers, and with one that never does.
struct WebhookRow {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let directory = "\(environment.directory)/webhooks"
        let server = try await Server.start(
            belfry: environment.options.belfry, directory: directory, simulator: environment.simulator,
            settings: ["BELFRY_PROVIDERS_ADDRESSES_ALLOW": "127.0.0.1"])
        let (crowd, _) = try await Crowd.register(count: 10_000, at: server, in: directory)
        let pushes = SmallPushRows(environment: environment)
        var (dead, alive): ([SmallPushRows.Load], [SmallPushRows.Load]) = ([], [])
        for round in 0..<environment.options.rounds {
            for answers in [true, false] {
                let receiver = try await Receiver.start(answers: answers, log: "\(directory)/receiver")
                let command = ["--app", server.identity.app_uuid, "--data-directory", "\(directory)/data"]
                _ = try await run(
                    [
                        "webhook", "create", "bench", "--url", "http://127.0.0.1:\(receiver.port)/", "--kinds",
                        "push.settled",
                    ] + command, directory)
                let load = try await pushes.push(at: [server], crowd, 200 + 2 * round + (answers ? 1 : 0))
                if answers { alive.append(load) } else { dead.append(load) }
                _ = try await run(["webhook", "delete", "bench"] + command, directory)
                try await receiver.child.stop()
            }
        }
        try await server.stop()
        let ratio = zip(dead, alive).map { $0.told / $1.told }.median
        return [
            Row(
                what: "pushes to one device, told to a webhook whose receiver never answers",
                ours: dead.map(\.told).median.perSecond,
                reference: "that answers \(alive.map(\.told).median.perSecond)",
                ratio: ratio.fixed(2), target: "≥ 0.95", isReached: ratio >= 0.95,
                cpu: "\(dead.map(\.cpu).median.fixed(0)), \(alive.map(\.cpu).median.fixed(0))")
        ]
    }

    private func run(_ command: [String], _ directory: String) async throws -> String {
        try await Child.run([environment.options.belfry] + command, log: "\(directory)/command").output
    }
}

/// A receiver of webhooks in a process of its own.
private struct Receiver {
    let child: Child
    let port: Int

    private static let program = """
        import http.server, sys, threading
        class Receiver(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_POST(self):
                if sys.argv[2] == "never": threading.Event().wait()
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(204)
                self.end_headers()
            def log_message(self, *words): pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
        print("ready", flush=True)
        server.serve_forever()
        """

    static func start(answers: Bool, log: String) async throws -> Receiver {
        let port = try freePort()
        let child = try Child(["python3", "-c", program, "\(port)", answers ? "always" : "never"], log: log)
        _ = try await child.expect("the receiver") { $0.contains("ready") ? true : nil }
        return Receiver(child: child, port: port)
    }
}
