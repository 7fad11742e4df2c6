import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// A fan-out of an expression whose program ends after each step, or in the middle of one: the next goes on behind the stored cursor.
@Suite struct FanOutRestartConformance {
    @Test(arguments: Engine.allCases, 1...3 as ClosedRange<UInt64>)
    func `one cursor survives restarts, each device has one answer`(engine: Engine, seed: UInt64) async throws {
        try await Reopened.play(on: engine) { reopened in
            var crowd = RandomCrowd(dice: SplitMix64(seed: seed), fixture: reopened.fixture)
            try await crowd.register(2_400)
            let push = try await crowd.accept()
            var (steps, dice) = (0, SplitMix64(seeds: seed, 1))
            repeat {
                try await reopened.reopen(isKilled: dice.chance(0.5))
                reopened.clock.advance(by: .seconds(61))
                steps += try await step(by: reopened.fixture.store, reopened.clock, endsBeforeWriting: dice.chance(0.3))
            } while try await reopened.fixture.store.receipt(push.receiptID)?.isFannedOut == false && steps < 400
            try await reopened.reopen(isKilled: true)
            let expected = crowd.meant
            #expect(expected.count > 200 && steps > 20, "\(expected.count) devices in \(steps) steps")
            #expect(try await answered(push, in: reopened.fixture) == expected)
        }
    }

    /// Steps of the due fan-outs; where the worker ends before it writes, its lease has to lapse first.
    private func step(by store: any Store, _ clock: ManualClock, endsBeforeWriting: Bool) async throws -> Int {
        let worker = FanOutWorker(
            store: store, lanes: Lane.allCases, options: DeliveryOptions(batchesPerStep: 1),
            loop: RetryingLoop(clock: clock, pause: .seconds(1), logger: .strict))
        let fanOuts = try await store.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60))
        for fanOut in fanOuts {
            guard endsBeforeWriting else {
                try await worker.step(fanOut)
                continue
            }
            _ = try await store.slice(of: fanOut.audience, on: fanOut.platformKey, after: fanOut.cursor, limit: 10)
        }
        return fanOuts.count
    }

    /// The devices of all batches, after each was sent: one that stands in two batches is there twice.
    private func answered(_ push: Push, in fixture: TestStore) async throws -> [Key<Device>] {
        var found: [Key<Device>] = []
        while case let batches = try await fixture.claim(50), !batches.isEmpty {
            for batch in batches {
                #expect(try await fixture.store.settle(Settlement(batch, all: .accepted)))
                found += batch.devices
            }
        }
        let receipt = try #require(try await fixture.store.receipt(push.receiptID))
        #expect(receipt.state == .settled && receipt.counts == [.accepted: found.count])
        return found.sorted()
    }
}

/// A store that is closed and opened again, as programs do one after the other.
private final class Reopened {
    private(set) var fixture: TestStore
    let clock: ManualClock
    private var store: any ReopenedStore
    private let open: () async throws -> any ReopenedStore

    static func play(on engine: Engine, _ body: (Reopened) async throws -> Void) async throws {
        let clock = ManualClock()
        switch engine {
        case .memory: preconditionFailure("the model has no file")
        case .sqlite:
            try await withDirectory { directory in
                try await play(clock, body) {
                    try SQLiteStore.open(
                        at: directory + "/belfry.sqlite", clock: clock, logger: .strict, migrate: true)
                }
            }
        case .postgres:
            try await TestDatabases.withDatabase { connection in
                try await play(clock, body) {
                    try await PostgresStore.open(
                        .init(connection: connection, connectionsMax: 2, clock: clock), logger: .strict, migrate: false)
                }
            }
        }
    }

    private static func play(
        _ clock: ManualClock, _ body: (Reopened) async throws -> Void,
        open: @escaping () async throws -> any ReopenedStore
    ) async throws {
        let reopened = try await Reopened(clock, open)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(reopened)) } catch { outcome = .failure(error) }
        try await reopened.store.end()
        try outcome.get()
    }

    private init(_ clock: ManualClock, _ open: @escaping () async throws -> any ReopenedStore) async throws {
        (self.clock, self.open) = (clock, open)
        store = try await open()
        fixture = try await TestStore(store: store, clock: clock)
    }

    /// - Parameter isKilled: whether the next store is opened on the database as the last one left it, before that could end.
    func reopen(isKilled: Bool) async throws {
        let last = store
        if !isKilled { try await last.end() }
        store = try await open()
        fixture = fixture.seen(by: store)
        if isKilled { try await last.end() }
    }
}

private protocol ReopenedStore: Store {
    func end() async throws
}

extension SQLiteStore: ReopenedStore {
    fileprivate func end() async throws { try await close() }
}

extension PostgresStore: ReopenedStore {
    fileprivate func end() async throws { await close() }
}

/// Devices with random properties on two types of platform, and a push to some of them.
private struct RandomCrowd {
    private var dice: SplitMix64
    private let fixture: TestStore
    /// The devices that a plain condition says belong to the push.
    private var members: [Key<Device>] = []

    init(dice: SplitMix64, fixture: TestStore) { (self.dice, self.fixture) = (dice, fixture) }

    var meant: [Key<Device>] { members.sorted() }

    private struct Traits: Sendable {
        let topics: Set<String>
        let language: String
        let version: Int
        let plan: String

        init(_ dice: inout SplitMix64) {
            topics = Set(["news", "weather", "sports"].filter { _ in dice.chance(0.5) })
            language = dice.pick(["de", "de-AT", "en"])
            version = dice.draw(3...8)
            plan = dice.pick(["pro", "free"])
        }

        /// As `RandomCrowd.words` have it.
        var isMeant: Bool {
            (topics.contains("news") || topics.contains("weather")) && !topics.contains("sports")
                && (language != "en" || plan == "pro") && 4...7 ~= version
        }

        func registration(_ number: Int) throws -> Registration {
            try Registration(
                token: DeviceToken(bytes: Array("d\(number)".utf8)), about: .init(), customUserID: .clear,
                topics: .replace(topics), detail: DeviceDetail.Change(language: language),
                profile: DeviceProfile(
                    appVersion: "\(version).1", country: nil, attributes: ["plan": [.text(plan)]]))
        }
    }

    private static let words =
        "platform:ios,android-fcm (topic:news or topic:weather) -topic:sports (lang:de or attr.plan:pro) version>=4 version<8"

    mutating func register(_ count: Int) async throws {
        let platforms = [
            fixture.platform, try await fixture.ports.create(.of(fixture.application, kind: .androidFCM)),
            try await fixture.ports.create(.of(fixture.application, kind: .web)),
        ]
        let people = (0..<count).map { number in
            (number: number, platform: dice.pick(platforms), traits: Traits(&dice))
        }
        let ports = fixture.ports
        members = try await withThrowingTaskGroup(of: Key<Device>?.self) { group in
            for person in people {
                group.addTask {
                    let registration = try person.traits.registration(person.number)
                    let device = try await ports.register(registration, as: nil, on: person.platform)
                    return person.platform.kind != .web && person.traits.isMeant ? device.key : nil
                }
            }
            return try await group.reduce(into: []) { if let key = $1 { $0.append(key) } }
        }
    }

    /// A push that is throttled, so that each step finds ten devices.
    func accept() async throws -> Push {
        var content = Push.Content(body: "hello")
        content.pacing.perMinute = 120
        let request = PushRequest(
            content: content, target: Target(try AudienceExpression(text: Self.words, field: "where")))
        let push = try await PushBuilder(store: fixture.ports, clock: fixture.clock).build(
            request, for: fixture.application.key)
        return try await fixture.ports.accept(push)
    }
}
