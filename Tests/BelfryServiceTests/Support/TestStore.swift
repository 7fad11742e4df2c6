import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

/// A store with one application and one iOS platform, and short words for what tests do with it.
struct TestStore {
    /// The part that the model has too.
    let ports: any DeliveryPorts
    let clock: ManualClock
    let application: Application
    let platform: Platform

    static func play(
        on engine: Engine, quotas: Quotas = .standard, observer: any StoreObserver = NoStoreObserver(),
        _ body: (TestStore) async throws -> Void
    ) async throws {
        let clock = ManualClock()
        try await engine.withPorts(clock: clock, quotas: quotas, observer: observer) { ports in
            try await body(try await TestStore(store: ports, clock: clock))
        }
    }

    init(store ports: any DeliveryPorts, clock: ManualClock) async throws {
        self.ports = ports
        self.clock = clock
        application = try await ports.create(.named("news"))
        platform = try await ports.create(.of(application))
    }

    private init(_ fixture: TestStore, store: any Store) {
        ports = store
        clock = fixture.clock
        application = fixture.application
        platform = fixture.platform
    }

    /// The database; the tests of the model use `ports`.
    var store: any Store {
        guard let store = ports as? any Store else {
            preconditionFailure("the model has what delivery needs, and no more")
        }
        return store
    }

    /// Returns this fixture with another store on the same database.
    func seen(by store: any Store) -> TestStore { TestStore(self, store: store) }

    @discardableResult
    func register(
        _ token: String, as uuid: UUID? = nil, topics: Registration.TopicChange = .keep,
        user: Registration.Change<String> = .keep, os: String? = nil, on platform: Platform? = nil
    ) async throws -> Device {
        try await ports.register(
            try Registration(
                token: DeviceToken(bytes: Array(token.utf8)), about: .init(osVersion: os), customUserID: user,
                topics: topics),
            as: uuid, on: platform ?? self.platform)
    }

    /// Registers devices with tokens "1", "2", ...
    func registerMany(_ count: Int, on platform: Platform? = nil) async throws -> [Key<Device>] {
        try await withThrowingTaskGroup(of: Key<Device>.self) { group in
            for number in 1...count { group.addTask { try await register("\(number)", on: platform).key } }
            return try await group.reduce(into: []) { $0.append($1) }.sorted()
        }
    }

    func push(
        to audience: Audience = .list(.active), lane: Lane = .normal, guarantee: Push.Guarantee = .atLeastOnce,
        on platforms: [Platform]? = nil, of application: Application? = nil, body: String = "hello"
    ) async throws -> Push {
        try await ports.accept(
            NewPush(
                receiptID: UUID(), applicationKey: (application ?? self.application).key,
                content: .init(body: body), audience: audience,
                platformKeys: (platforms ?? [platform]).map(\.key), lane: lane, guarantee: guarantee))
    }

    /// A push whose devices are known.
    func push(naming devices: DevicesByPlatform, lane: Lane = .urgent) async throws -> Push {
        let keys = devices.values.flatMap(\.self).sorted()
        return try await ports.accept(
            NewPush(
                receiptID: UUID(), applicationKey: application.key, content: .init(body: "hello"),
                audience: .all([.list(.devices(keys)), .list(.registered)]),
                platformKeys: Set(devices.keys).union([platform.key]).sorted(), lane: lane, devices: devices))
    }

    /// Runs all due fan-outs to their ends, with batches of `size` devices.
    func fanOut(batchesOf size: Int = Batch.devicesMax) async throws {
        while true {
            let fanOuts = try await ports.claimFanOuts(atMost: 4, lanes: Lane.allCases, for: .seconds(60))
            guard !fanOuts.isEmpty else { return }
            for fanOut in fanOuts {
                let found = try await ports.devices(in: fanOut, after: fanOut.cursor, limit: size)
                let step = FanOutStep(fanOut: fanOut, batches: found.isEmpty ? [] : [found], isLast: found.count < size)
                #expect(try await ports.advance(step))
            }
        }
    }

    /// Claims batch by batch, however small they are.
    func claim(
        _ count: Int = 1, lanes: [Lane] = Lane.allCases, room: [Key<Platform>: Int] = [:], elsewhere: Int = .max,
        lease: Duration = .seconds(60)
    ) async throws -> [Batch] {
        try await ports.claimBatches(
            BatchClaim(
                burstsMax: count, lanes: lanes, room: room, roomElsewhere: elsewhere, lease: lease,
                burst: Burst(weightMax: 1)))
    }

    /// A batch of a push to all devices.
    func claimBatch() async throws -> Batch {
        _ = try await push()
        try await fanOut()
        return try await claimOne()
    }

    func claimOne() async throws -> Batch { try #require(try await claim(1).first) }

    func devices(_ list: PostingList) async throws -> [Key<Device>] { try await devices(of: .list(list)) }

    /// The devices of an audience on the platform, as a fan-out finds them.
    func devices(of audience: Audience, after: Key<Device>? = nil, limit: Int = 100_000) async throws -> [Key<Device>] {
        try await ports.devices(of: audience, on: platform.key, after: after, limit: limit)
    }

    func counts(of push: Push) async throws -> [Answer: Int] {
        try #require(try await ports.receipt(push.receiptID)).counts
    }
}

extension NewApplication {
    static func named(_ name: String) -> NewApplication {
        NewApplication(uuid: UUID(), name: name, apiKeyHash: [1, 2, 3], sharedSecret: Sealed(bytes: [4, 5]))
    }
}

extension NewPlatform {
    static func of(_ application: Application, kind: PlatformKind = .ios) -> NewPlatform {
        NewPlatform(
            uuid: UUID(), applicationKey: application.key, kind: kind, mode: .production, name: "phones",
            secretHash: [6, 7], credentials: Sealed(bytes: [8, 9]))
    }
}

extension Settlement {
    /// All are notified, and one has another token by now.
    init(_ batch: Batch, moving device: Device, from: String, to: String) {
        self.init(
            batch: batch, answers: batch.answers.map { _ in .accepted }, retryAt: nil,
            moves: [
                Move(
                    device: device.key, from: DeviceToken(bytes: Array(from.utf8)),
                    to: DeviceToken(bytes: Array(to.utf8)))
            ])
    }

    /// Gives all pending devices the answer.
    init(_ batch: Batch, all answer: Answer, deadTokens: [DeadToken] = []) {
        self.init(
            batch: batch, answers: batch.answers.map { $0 == .pending ? answer : $0 }, retryAt: nil,
            deadTokens: deadTokens)
    }
}

extension Store {
    /// Keeps a call for an old server.
    func mirror(
        _ call: MirrorCall, of device: Key<Device>, on platform: Key<Platform>, atMost limit: Int = 9
    ) async throws {
        try await write { try $0.mirror(call, of: device, on: platform, atMost: limit) }
    }
}
