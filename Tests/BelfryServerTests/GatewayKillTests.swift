import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import GRDB
import PostgreSQL
import PostgresRig
import Synchronization
import Testing

/// The real program, ended by `kill -9` and by SIGTERM in the middle of what old senders write to its gateway.
///
/// See docs/compatibility/genero.md, "What is promised".
extension CrashTests {
    @Suite(.timeLimit(.minutes(20))) struct GatewayKillTests {}
}

extension CrashTests.GatewayKillTests {
    enum Engine: CaseIterable { case sqlite, postgresql }

    @Test(arguments: Engine.allCases)
    func `a kill amid 50,000 records loses one window per connection`(
        engine: Engine
    ) async throws {
        switch engine {
        case .sqlite: try await TestGateway.with { try await GatewayKillScenario(gateway: $0).play() }
        case .postgresql:
            try await PostgresServer.with { database in
                try await TestGateway.with(database: database.url(of: "postgres")) {
                    try await GatewayKillScenario(gateway: $0).play()
                }
            }
        }
    }
}

/// Senders on several connections that never wait, and a back end that counts up badges beside them.
private struct GatewayKillScenario: Sendable {
    let gateway: TestGateway

    private static let connections = 4
    private static let records = 50_000
    /// Source: docs/compatibility/genero.md.
    private static let window = 1_000
    private static let burstsInFlightMax = 2
    /// Settings of servers that are not killed. These give no answer up, and notify no device twice.
    private static let settings = [
        "BELFRY_DELIVERY_BATCHES_MAX": "\(burstsInFlightMax)",
        "BELFRY_DELIVERY_URGENT_BATCHES_MAX": "\(burstsInFlightMax)",
    ]
    /// Settings of servers that are killed. Short leases let others soon send again what a kill left in flight.
    private static let settingsOfKilled = settings.merging(Program.shortLeases) { $1 }

    func play() async throws {
        let badges = try await BadgeCounter(gateway.installation)
        try await kill(badges)
        try await stop()
    }

    /// The numbers of each connection's records.
    private static func shares(from first: Int, count: Int) -> [ClosedRange<Int>] {
        let share = count / connections
        return (0..<connections).map { first + $0 * share...first + ($0 + 1) * share - 1 }
    }

    /// - Parameter seconds: of silence, after which a sender goes. What it has sent may be in the network for long.
    private func send(
        _ shares: [ClosedRange<Int>], to port: Int, listeningFor seconds: Int = 110
    ) async throws -> [SenderEnd] {
        try await withThrowingTaskGroup(of: (Int, SenderEnd).self) { group in
            for (place, numbers) in shares.enumerated() {
                group.addTask { (place, SenderEnd(numbers, try await gateway.stream(numbers, to: port, for: seconds))) }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    // MARK: The kill

    private func kill(_ badges: BadgeCounter) async throws {
        let shares = Self.shares(from: 1, count: Self.records)
        let (first, ports) = try await gateway.serve(Self.settingsOfKilled)
        defer { first.endAtOnce() }
        let end = Flag()
        badges.serve(at: ports.http)
        async let counting: Void = badges.count(until: end)
        async let sending = send(shares, to: ports.gateway)
        // Those that are accepted are ahead of them, and not all.
        try await eventually("some of the records are told") {
            gateway.simulator.ledger.totals().told > Self.records / 25
        }
        try await first.end(SIGKILL)
        for ended in try await sending {
            #expect(["closed", "broken"].contains(ended.end), "\(ended)")
        }
        let (second, secondPorts) = try await gateway.serve(Self.settings)
        defer { second.endAtOnce() }
        badges.serve(at: secondPorts.http)
        try await eventually("badges are counted again") { badges.isServed }
        end.raise()
        try await counting
        try await expectDelivered(shares)
        try await badges.expectExact(accepted: try gateway.count(Self.others))
        try await second.end(SIGTERM)
    }

    /// Accepted are the records whose push is in the database.
    private func expectDelivered(_ shares: [ClosedRange<Int>]) async throws {
        try await eventually("all that was accepted is settled", every: .milliseconds(100)) {
            try gateway.count(Self.open) == 0
        }
        let accepted = try gateway.count(Self.urgent)
        let times = shares.map { $0.map(gateway.timesTold) }
        #expect(times.joined().count { $0 > 0 } == accepted, "what was accepted is what was delivered")
        #expect(accepted < Self.records, "the kill came too late")
        for (numbers, times) in zip(shares, times) {
            let newest = try #require(times.lastIndex { $0 > 0 }, "nothing of \(numbers) was delivered")
            let missing = times[...newest].firstIndex(of: 0) ?? newest
            #expect(newest - missing < Self.window, "of \(numbers), missing within what was read")
        }
        let twice = times.joined().count { $0 > 1 }
        print("\(accepted) records were accepted before the kill, \(twice) devices were told twice")
        // Its own pool and that of all lanes, each of which tells 250 pushes to one device at a time.
        #expect(twice <= 2 * Self.burstsInFlightMax * 250, "more was in flight than may be")
        #expect(times.joined().allSatisfy { $0 <= 2 })
    }

    private static let open = "SELECT count(*) FROM batch WHERE is_open"
    /// Counts of the gateway's pushes, and of the badges' pushes.
    private static let urgent = "SELECT count(*) FROM push WHERE lane = 0"
    private static let others = "SELECT count(*) FROM push WHERE lane <> 0"

    // MARK: The stop

    private func stop() async throws {
        // More than are taken before the stop, however late it comes.
        let shares = Self.shares(from: 100_001, count: 8 * Self.records / 5)
        let told = gateway.simulator.ledger.totals().told
        let (third, ports) = try await gateway.serve(Self.settings)
        defer { third.endAtOnce() }
        async let sending = send(shares, to: ports.gateway)
        // A connection that has not begun is closed without a word, since nothing of it was accepted.
        try await eventually("some of the records are told, and the first of each connection") {
            gateway.simulator.ledger.totals().told > told + 200
                && shares.allSatisfy { gateway.timesTold($0.lowerBound) > 0 }
        }
        try await third.end(SIGTERM)
        let (fourth, lastPorts) = try await gateway.serve(Self.settings)
        defer { fourth.endAtOnce() }
        let ends = try await sending
        try await eventually("all that was accepted is settled", every: .milliseconds(100)) {
            try gateway.count(Self.open) == 0
        }
        var unsent: [ClosedRange<Int>] = []
        for ended in ends {
            #expect(ended.end == "error" && ended.status == 10, "\(ended)")
            let last = try #require(ended.identifier)
            let numbers = ended.numbers
            try #require(numbers.dropLast().contains(last), "the stop came too late: \(ended)")
            #expect((numbers.lowerBound...last).allSatisfy { gateway.timesTold($0) == 1 }, "\(ended)")
            let rest = last + 1...numbers.upperBound
            #expect(rest.allSatisfy { gateway.timesTold($0) == 0 }, "\(ended)")
            unsent.append(last + 1...min(last + Self.window, numbers.upperBound))
        }
        // A sender goes on behind the record that was named, and its devices are all notified, once.
        for ended in try await send(unsent, to: lastPorts.gateway, listeningFor: 3) {
            #expect(ended.end == "silence", "\(ended)")
        }
        try await eventually("all are told") { unsent.joined().allSatisfy { gateway.timesTold($0) > 0 } }
        try await eventually("all are settled", every: .milliseconds(100)) { try gateway.count(Self.open) == 0 }
        for (first, last) in zip(shares.map(\.lowerBound), unsent.map(\.upperBound)) {
            #expect((first...last).allSatisfy { gateway.timesTold($0) == 1 })
        }
        try await fourth.end(SIGTERM)
    }
}

/// The end of a connection, as its sender saw it.
private struct SenderEnd: Sendable {
    let numbers: ClosedRange<Int>
    let end: String
    let status: Int64?
    let identifier: Int?

    init(_ numbers: ClosedRange<Int>, _ json: JSONValue) {
        self.numbers = numbers
        end = json["end"]?.stringValue ?? ""
        status = if case .integer(let status)? = json["status"] { status } else { nil }
        identifier = json["identifier"]?.stringValue.flatMap { Int($0, radix: 16) }
    }
}

extension TestGateway {
    /// Sends records of command 2 without waiting, and listens until the connection ends, or so many seconds.
    fileprivate func stream(_ numbers: ClosedRange<Int>, to port: Int, for seconds: Int) async throws -> JSONValue {
        try await send(
            "stream", to: port,
            ["--first", "\(numbers.lowerBound)", "--count", "\(numbers.count)", "--silence", "\(seconds)"])
    }

    fileprivate func timesTold(_ number: Int) -> Int {
        simulator.ledger.token(Self.token(number))?.told ?? 0
    }

    fileprivate func count(_ sql: String) throws -> Int {
        if let database = installation.database {
            return Int(try Connection(ConnectionOptions(database)).prepared(sql).first { $0.integer(0) } ?? 0)
        }
        return try installation.inDatabase { try Int.fetchOne($0, sql: sql) ?? 0 }
    }
}

/// Pushes that count up the badges of a few devices, one after another, while servers come and go.
private final class BadgeCounter: Sendable {
    private struct State {
        var base = ""
        var isServed = false
        var taken = 0
    }

    private static let devices = 5
    private static let push = #"{"message":{"body":"One more","badge":"+1"},"target":{"topics":["town"]}}"#

    private let installation: TestInstallation
    private let tokens: [[UInt8]]
    private let state = Mutex(State())

    init(_ installation: TestInstallation) async throws {
        self.installation = installation
        tokens = try await installation.crowd(Self.devices).devices.compactMap { $0.token?.bytes }
    }

    func serve(at base: String) { state.withLock { $0 = State(base: base, taken: $0.taken) } }

    /// Whether the server of now has taken one.
    var isServed: Bool { state.withLock { $0.isServed } }

    func count(until end: Flag) async throws {
        while !end.isRaised {
            let base = state.withLock { $0.base }
            if (try? await installation.sender(at: base).push(Self.push)) != nil {
                state.withLock { state in
                    state.taken += 1
                    if state.base == base { state.isServed = true }
                }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// That one more push shows each device one more than there were pushes.
    ///
    /// - Parameter accepted: the pushes in the database: those that were told to be taken, and those whose answer was lost.
    func expectExact(accepted: Int) async throws {
        let (base, taken) = state.withLock { ($0.base, $0.taken) }
        #expect(taken > 0 && accepted >= taken, "\(accepted) were accepted, \(taken) answers came")
        let last = try await installation.settled(try await installation.sender(at: base).push(Self.push))
        #expect(last.counts == ["accepted": Self.devices])
        for token in tokens {
            let payload = try #require(installation.simulator.ledger.token(token)?.lastRequest?.payload)
            let shown = try JSONValue(json: payload.utf8)["aps"]?["badge"]
            #expect(shown == .integer(Int64(accepted) + 1), "\(payload)")
        }
    }
}
