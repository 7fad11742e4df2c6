import Foundation

/// The time until one device is notified: by an idle server, and by one that delivers a push to everybody, alone or beside other work.
struct LatencyRows {
    let environment: BenchmarkEnvironment
    let isBusy: Bool

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        let sender = try await Sender(server)
        try await Task.sleep(for: .seconds(1))
        guard isBusy else { return [try await idle(sender, crowd)] }
        let alone = row(busyName(crowd), try await waits(sender, crowd), .busy)
        guard environment.options.scale else { return [alone] }
        return [alone, try await besideRegistrations(sender, crowd), try await besideEverything(crowd)]
    }

    private func idle(_ sender: Sender, _ crowd: Crowd) async throws -> Row {
        try await environment.simulator.forget()
        let cpu = sender.server.child.meter.cpuMilliseconds
        let probes = LatencyProbes(simulator: environment.simulator, sender: sender, crowd: crowd)
        let samples = try await probes.tell(crowd.singles.indices.prefix(250), pace: .milliseconds(40))
        let used = (sender.server.child.meter.cpuMilliseconds - cpu) / Double(samples.count) * 1_000
        let waits = samples.map { $0.toldAt - $0.posted.answeredAt }
        return row("one device, idle server: 200 → told", waits, .idle, cpu: used.fixed(0))
    }

    // MARK: While all are told

    private var probeCount: Int { environment.options.quick ? 200 : 1_000 }

    private func busyName(_ crowd: Crowd) -> String {
        "one device while \(crowd.count.grouped) are told: POST → told"
    }

    /// The waits of so many pushes to one device during pushes to everybody.
    ///
    /// - Parameter expression: posts pushes to it meanwhile, so long as less than half of everybody is told.
    private func waits(
        _ sender: Sender, _ crowd: Crowd, besidePushesTo expression: (text: String, size: Int)? = nil
    ) async throws -> [Double] {
        let (server, simulator) = (sender.server, environment.simulator)
        let probes = LatencyProbes(simulator: simulator, sender: sender, crowd: crowd)
        let pace = Duration.milliseconds(environment.options.quick ? 10 : 40)
        var waits: [Double] = []
        while waits.count < probeCount {
            try await simulator.forget()
            var end = try await server.answered() + crowd.count
            _ = try await sender.push(to: .all)
            while try await simulator.toldCount() < crowd.count / 50 { try await Task.sleep(for: .milliseconds(5)) }
            var (asked, all) = (0, crowd.count)
            // Those of the tail, when the push to everybody is all but over, do not count.
            let samples = try await probes.tell(crowd.singles.indices.prefix(probeCount), pace: pace) {
                let told = try await simulator.toldCount()
                if let expression, asked % 100 == 0, told < crowd.count / 2 {
                    _ = try await sender.push(where: expression.text)
                    all += expression.size
                    end += expression.size
                }
                asked += 1
                return told < all * 49 / 50
            }
            waits += samples.map(\.wait)
            while try await server.answered() < end + samples.count { try await Task.sleep(for: .milliseconds(20)) }
        }
        return waits
    }

    // MARK: Beside other work

    /// Half as many registrations as the server takes alone.
    private func besideRegistrations(_ sender: Sender, _ crowd: Crowd) async throws -> Row {
        let server = sender.server
        let write = RegistrationRequests(
            path: "/v1/registration", port: server.port, credentials: server.identity.app
        ).write
        let first = 1_500_000_000 + Int.random(in: 0..<1_000_000_000)
        var load = HTTPLoad(port: server.port, connections: 64, write: write)
        let alone = SteadyLoad(load, from: first)
        let (rate, _) = try await alone.during { try await Task.sleep(for: .seconds(5)) }
        load.rateMax = rate / 2
        // Each chunk opens its connections anew: a long one costs little of the rate.
        let half = SteadyLoad(load, from: first + 10_000_000, chunkSize: max(100, Int(rate / 2 * 5)))
        let (reached, waits) = try await half.during { try await self.waits(sender, crowd) }
        return row(
            "the same beside registrations at half of \(rate.perSecond)", waits, .busy,
            more: "; registrations at \(reached.perSecond)", isLoaded: reached >= 0.95 * rate / 2)
    }

    /// The audience of an expression, a search of devices by text, a backup, and the deletion of pushes that are a month old.
    private func besideEverything(_ crowd: Crowd) async throws -> Row {
        let server = try await environment.restartServer(["BELFRY_RETENTION_ANSWERS_DAYS": "2"]) { database in
            _ = try await Child.run(
                ["python3", "-c", Self.aging, database], log: "\(environment.directory)/aging")
        }
        let sender = try await Sender(server)
        let search = SearchLoad(client: try SearchClient(server: server, route: .admin), crowd: crowd)
        let backup = BackupLoad(server: server, folder: "\(environment.directory)/backup")
        let retention = RetentionWatch(server: server)
        let expression = (ValuedDevice.expression, ValuedDevice.Expected(among: crowd.count).devices)
        let (deleted, (searches, (backups, waits))) = try await retention.during {
            try await search.during {
                try await backup.during { try await self.waits(sender, crowd, besidePushesTo: expression) }
            }
        }
        return row(
            "the same beside an audience of six terms, retention, searches and a backup", waits, .crowded,
            more: "; \(deleted.rows.grouped) rows deleted in the first \(deleted.seconds.fixed(0)) of "
                + "\(deleted.watched.fixed(0)) s; \(searches.count) searches, p99 "
                + "\(searches.quantile(0.99).fixed(0)) ms; \(backups) backups and a part of one",
            isLoaded: deleted.rows > 0)
    }

    /// Makes settled pushes a month older. Nothing but time does so in a server.
    private static let aging = """
        import sqlite3, sys
        with sqlite3.connect(sys.argv[1]) as database:
            month = 31 * 86_400_000
            database.execute("UPDATE push_progress SET settled_at_ms = settled_at_ms - ? WHERE has_answers", (month,))
        """

    // MARK: Rows

    /// The most milliseconds that the median, 99 of 100 and all may take.
    private struct Limits {
        var half: Double?
        let most: Double
        var last: Double?

        static let idle = Limits(most: 10)
        static let busy = Limits(half: 8, most: 25, last: 100)
        static let crowded = Limits(most: 50)

        var text: String {
            [half.map { "p50 ≤ \($0.whole)" }, "p99 ≤ \(most.whole)", last.map { "max ≤ \($0.whole)" }]
                .compactMap(\.self).joined(separator: ", ") + " ms"
        }
    }

    /// - Parameter isLoaded: whether the work beside was as much as the row says.
    private func row(
        _ what: String, _ waits: [Double], _ limits: Limits, more: String = "", isLoaded: Bool = true,
        cpu: String = "–"
    ) -> Row {
        let (half, most, last) = (waits.quantile(0.5), waits.quantile(0.99), waits.max() ?? 0)
        return Row(
            what: "\(what), \(waits.count) pushes",
            ours: "p50 \(half.fixed(1)), p99 \(most.fixed(1)), max \(last.fixed(1)) ms\(more)",
            target: limits.text,
            isReached: isLoaded && half <= limits.half ?? .infinity && most <= limits.most
                && last <= limits.last ?? .infinity,
            cpu: cpu)
    }
}

/// Searches by text, one after the other, until it is stopped.
private actor SearchLoad: SteadyWork {
    private let client: SearchClient
    private let crowd: Crowd
    private var isOver = false

    init(client: SearchClient, crowd: Crowd) {
        self.client = client
        self.crowd = crowd
    }

    func stop() { isOver = true }

    /// Milliseconds of each.
    func run() async throws -> [Double] {
        var times: [Double] = []
        while !isOver {
            let text = Devices.hex(times.count &* 7_919 % crowd.count).prefix(3 + times.count % 6)
            times.append(try await client.answer("q=\(text)").milliseconds)
        }
        return times
    }
}

/// Looks how long a server goes on deleting rows, until it is stopped.
private actor RetentionWatch: SteadyWork {
    private let server: Server
    private var isOver = false

    init(server: Server) { self.server = server }

    func stop() { isOver = true }

    struct Deleted: Sendable {
        var rows = 0
        /// Until the last of them was deleted, and until the end.
        var seconds = 0.0
        var watched = 0.0
    }

    func run() async throws -> Deleted {
        // The process is new, and so are its counts.
        let begun = ContinuousClock.now
        var deleted = Deleted()
        while !isOver {
            try await Task.sleep(for: .seconds(1))
            let rows = try await server.deletedRows()
            deleted.watched = (ContinuousClock.now - begun) / .seconds(1)
            if rows > deleted.rows { (deleted.rows, deleted.seconds) = (rows, deleted.watched) }
        }
        return deleted
    }
}

/// Backups, one after the other, until it is stopped.
private actor BackupLoad: SteadyWork {
    private let server: Server
    private let folder: String
    private var isOver = false

    init(server: Server, folder: String) {
        self.server = server
        self.folder = folder
    }

    func stop() { isOver = true }

    /// Returns how many were made; the last is given up.
    func run() async throws -> Int {
        var count = 0
        while !isOver {
            try? FileManager.default.removeItem(atPath: folder)
            let child = try server.backUp(to: folder)
            let ended = Task { try await child.end() }
            while !isOver, child.isRunning { try await Task.sleep(for: .milliseconds(100)) }
            guard child.isRunning else {
                let status = try await ended.value
                guard status.status == 0 else { throw BenchmarkFault("the backup failed:\n\(status.output)") }
                count += 1
                continue
            }
            kill(child.pid, SIGTERM)
            _ = try await ended.value
        }
        try? FileManager.default.removeItem(atPath: folder)
        return count
    }
}
