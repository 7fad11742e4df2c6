import BelfryService
import BelfryTesting
import Testing

/// Posting lists against a naive model of the same devices.
@Suite struct AudienceConformance {
    @Test(arguments: Engine.withModel, [1, 2, 3] as [UInt64])
    func `the lists hold what a naive model holds`(engine: Engine, seed: UInt64) async throws {
        try await TestStore.play(on: engine) { fixture in
            var model = Model(dice: SplitMix64(seed: seed))
            for _ in 0..<400 { try await model.step(fixture) }
            for list in model.lists {
                #expect(try await fixture.devices(list) == model.keys(in: list), "\(list)")
            }
            for _ in 0..<30 {
                let audience = model.audience()
                let expected = model.keys(in: audience)
                #expect(try await fixture.devices(of: audience) == expected, "\(audience)")
                let middle = expected.isEmpty ? Key(5) : expected[expected.count / 2]
                let rest = expected.filter { $0 > middle }.prefix(7)
                #expect(try await fixture.devices(of: audience, after: middle, limit: 7) == Array(rest), "\(audience)")
            }
        }
    }

    @Test(arguments: Engine.withModel)
    func `a topic's list is complete while devices are new`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let keys = try await withThrowingTaskGroup(of: Key<Device>.self) { group in
                for number in 1...9_000 {
                    let topics: Set<String> = number.isMultiple(of: 3) ? ["third", "all"] : ["all"]
                    group.addTask { try await fixture.register("\(number)", topics: .replace(topics)).key }
                }
                return try await group.reduce(into: []) { $0.append($1) }.sorted()
            }
            #expect(try await fixture.devices(.topic("all")) == keys)
            #expect(try await fixture.devices(.topic("third")).count == 3_000)
            #expect(try await fixture.devices(.topic("nobody's")).isEmpty)
            let both = Audience.all([.list(.topic("all")), .list(.topic("third"))])
            #expect(try await fixture.devices(of: both).count == 3_000)
        }
    }

    @Test(arguments: Engine.withModel)
    func `devices of other platforms and applications stay out`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let other = try await fixture.ports.create(.of(fixture.application))
            let stranger = try await fixture.ports.create(.of(try await fixture.ports.create(.named("weather"))))
            let topics = Registration.TopicChange.replace(["t"])
            let here = try await fixture.register("a", topics: topics, user: .set("Kim"))
            let there = try await fixture.register("b", topics: topics, user: .set("Kim"), on: other)
            let elsewhere = try await fixture.register("c", topics: topics, user: .set("Kim"), on: stranger)
            for list in [PostingList.active, .registered, .topic("t"), .customUser("Kim")] {
                #expect(try await fixture.devices(list) == [here.key])
            }
            #expect(try await fixture.devices(.devices([here.key, there.key, elsewhere.key])) == [here.key])
        }
    }
}

private struct Model {
    var dice: SplitMix64
    private var devices: [Int: Entry] = [:]

    struct Entry {
        let device: Device
        var topics: Set<String>
        var user: String?
        var isActive: Bool
        var isInteractive: Bool
    }

    private static let topics = ["a", "b", "c", "d"]
    private static let users = ["Kim", "kim", "Lee"]

    init(dice: SplitMix64) { self.dice = dice }

    mutating func step(_ fixture: TestStore) async throws {
        let number = Int.random(in: 0..<80, using: &dice)
        if let entry = devices[number], dice.chance(0.25) {
            try await fixture.ports.unregister(entry.device.uuid, on: fixture.platform.key)
            devices[number]?.isActive = false
            return
        }
        let topics = Set(Self.topics.filter { _ in dice.chance(0.4) })
        let user = dice.chance(0.5) ? Self.users.randomElement(using: &dice) : nil
        let isInteractive = dice.chance(0.5)
        let device = try await fixture.register(
            "\(number)", topics: .replace(topics), user: user.map { .set($0) } ?? .clear,
            os: isInteractive ? "9.0" : "7.1")
        devices[number] = Entry(
            device: device, topics: topics, user: user, isActive: true, isInteractive: isInteractive)
    }

    var lists: [PostingList] {
        let named = devices.values.map(\.device.key).sorted().filter { $0.rawValue.isMultiple(of: 3) }
        return [.active, .interactive, .registered, .devices(named)]
            + Self.topics.map { .topic($0) } + Self.users.map { .customUser($0) }
    }

    mutating func audience(depth: Int = 3) -> Audience {
        guard depth > 0, dice.chance(0.7) else { return .list(lists.randomElement(using: &dice) ?? .active) }
        let parts = (0..<Int.random(in: 1...3, using: &dice)).map { _ in audience(depth: depth - 1) }
        switch Int.random(in: 0..<3, using: &dice) {
        case 0: return .any(parts)
        case 1: return .all(parts)
        default: return .except(parts[0], audience(depth: depth - 1))
        }
    }

    func keys(in list: PostingList) -> [Key<Device>] { keys(in: .list(list)) }

    func keys(in audience: Audience) -> [Key<Device>] {
        devices.values.filter { Self.holds(audience, $0) }.map(\.device.key).sorted()
    }

    private static func holds(_ audience: Audience, _ entry: Entry) -> Bool {
        switch audience {
        case .any(let parts): parts.contains { holds($0, entry) }
        case .all(let parts): parts.allSatisfy { holds($0, entry) }
        case .except(let whole, let part): holds(whole, entry) && !holds(part, entry)
        case .list(.active): entry.isActive
        case .list(.interactive): entry.isActive && entry.isInteractive
        case .list(.registered): true
        case .list(.topic(let name)): entry.isActive && entry.topics.contains(name)
        case .list(.customUser(let id)): entry.isActive && entry.user == id
        case .list(.devices(let keys)): keys.contains(entry.device.key)
        case .list(.sent), .list(.reported), .list(.geofence), .list(.label), .list(.labels), .list(.platforms),
            .checked, .meant:
            false
        }
    }
}
