import Foundation

/// Two nodes on PostgreSQL beside one of them, each with a share of a core of its own, so that they do not take it from each other.
struct NodeRows {
    let environment: BenchmarkEnvironment

    /// A node is slow enough that neither PostgreSQL nor the simulator is what two of them wait for.
    private static let nodeCores = 0.25
    private static let databaseCores = 1.0

    func measure() async throws -> [Row] {
        let shares = (
            first: CPUShare.make("first", cores: Self.nodeCores),
            second: CPUShare.make("second", cores: Self.nodeCores),
            database: CPUShare.make("database", cores: Self.databaseCores)
        )
        let database = try await Postgres.start()
        do {
            let rows: [Row]
            if let first = shares.first, let second = shares.second, let share = shares.database {
                rows = try await measure(Setup(database: database, first: first, second: second, share: share))
            } else {
                rows = [Self.none]
            }
            try await database.stop()
            for share in [shares.first, shares.second, shares.database] { share?.remove() }
            return rows
        } catch {
            try await database.stop()
            for share in [shares.first, shares.second, shares.database] { share?.remove() }
            throw error
        }
    }

    private static let none = Row(
        what: "two nodes with shares of their own, beside one",
        ours: "not measured: this machine lets nobody make a control group with a share of a core", target: "≥ 1.8, 1.5"
    )

    private struct Setup {
        let database: Postgres
        let first: CPUShare
        let second: CPUShare
        let share: CPUShare
    }

    private var count: Int { environment.options.count ?? (environment.options.quick ? 50_000 : 200_000) }
    private var pushCount: Int { environment.options.quick ? 4_000 : 10_000 }

    private func measure(_ setup: Setup) async throws -> [Row] {
        let directory = "\(environment.directory)/nodes"
        // Those of an earlier run are of another database.
        try? FileManager.default.removeItem(atPath: directory)
        let first = try await Server.start(
            belfry: environment.options.belfry, directory: "\(directory)/1", simulator: environment.simulator,
            database: setup.database.url)
        do {
            let rows = try await measure(setup, first, directory)
            try await first.stop()
            return rows
        } catch {
            try await first.stop()
            throw error
        }
    }

    private func measure(_ setup: Setup, _ first: Server, _ directory: String) async throws -> [Row] {
        let (crowd, _) = try await Crowd.register(count: count, at: first, in: "\(directory)/1")
        try setup.share.take(setup.database.pid)
        try setup.first.take(first.child.pid)
        var (broadcasts, pushes): (Pairs, Pairs) = ([], [])
        for round in 0..<environment.options.longRounds {
            let alone = (
                broadcast: try await broadcast([first], crowd, setup),
                pushes: try await smallPushes([first], crowd, 2 * round, setup)
            )
            let second = try await Server.start(beside: first, directory: "\(directory)/2")
            try setup.second.take(second.child.pid)
            do {
                let both = [first, second]
                broadcasts.append((alone.broadcast, try await broadcast(both, crowd, setup)))
                pushes.append((alone.pushes, try await smallPushes(both, crowd, 2 * round + 1, setup)))
                try await second.stop()
            } catch {
                try await second.stop()
                throw error
            }
        }
        return [
            row("two nodes with a quarter of a core each: a push to \(crowd.count.grouped) devices", broadcasts, 1.8),
            row("the same with pushes to one device, accepted and told", pushes, 1.5),
        ]
    }

    // MARK: Loads

    private typealias Pairs = [(alone: Load, both: Load)]

    private struct Load {
        let rate: Double
        /// How much of a core each used.
        let nodes: Double
        let database: Double
        let simulator: Double
        let load: Double
    }

    private func broadcast(_ nodes: [Server], _ crowd: Crowd, _ setup: Setup) async throws -> Load {
        let sender = try await Sender(nodes[0])
        try await environment.simulator.forget()
        return try await load(nodes, setup) {
            let (begun, started) = (try await environment.simulator.toldCount(), ContinuousClock.now)
            _ = try await sender.push(to: .all)
            while try await environment.simulator.toldCount() < begun + crowd.count {
                try await Task.sleep(for: .milliseconds(50))
            }
            return Double(crowd.count) / ((ContinuousClock.now - started) / .seconds(1))
        }
    }

    private func smallPushes(_ nodes: [Server], _ crowd: Crowd, _ round: Int, _ setup: Setup) async throws -> Load {
        try await load(nodes, setup) {
            try await SmallPushRows(environment: environment).push(at: nodes, crowd, round, count: pushCount).told
        }
    }

    private func load(_ nodes: [Server], _ setup: Setup, _ body: () async throws -> Double) async throws -> Load {
        let meters = [
            { nodes.reduce(0) { $0 + $1.child.meter.cpuMilliseconds } }, { setup.share.cpuMilliseconds },
            { environment.simulator.child.meter.cpuMilliseconds }, { ProcessMeter(pid: getpid()).cpuMilliseconds },
        ]
        // Answers of the push before may still be on their way.
        try await Task.sleep(for: .seconds(2))
        let (before, start) = (meters.map { $0() }, WallClock.now)
        let rate = try await body()
        let took = WallClock.now - start
        let used = zip(meters, before).map { ($0() - $1) / took }
        return Load(rate: rate, nodes: used[0], database: used[1], simulator: used[2], load: used[3])
    }

    private func row(_ what: String, _ pairs: Pairs, _ target: Double) -> Row {
        let ratio = pairs.map { $0.both.rate / $0.alone.rate }.median
        func used(_ load: KeyPath<Load, Double>) -> String { pairs.map { $0.both[keyPath: load] }.median.fixed(2) }
        return Row(
            what: what,
            ours: "\(pairs.map(\.both.rate).median.perSecond); cores: nodes \(used(\.nodes)), PostgreSQL "
                + "\(used(\.database)) of \(Self.databaseCores), simulator \(used(\.simulator)), load \(used(\.load))",
            reference: "one node \(pairs.map(\.alone.rate).median.perSecond)", ratio: ratio.fixed(2),
            target: "≥ \(target)", isReached: ratio >= target)
    }
}
