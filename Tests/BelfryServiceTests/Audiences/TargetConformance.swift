import BelfryService
import BelfryTesting
import Foundation
import Testing

/// Whatever a target names, its push reaches those and no others: held against plain sets, with devices and targets drawn
/// from a seed.
@Suite struct TargetConformance {
    @Test(arguments: Engine.withModel, [1, 2, 3] as [UInt64])
    func `any target reaches exactly whom it names`(engine: Engine, seed: UInt64) async throws {
        try await TestStore.play(on: engine) { fixture in
            var crowd = TargetCrowd(dice: SplitMix64(seed: seed), fixture: fixture)
            try await crowd.gather()
            let builder = PushBuilder(store: fixture.ports, clock: fixture.clock)
            for _ in 0..<60 {
                let target = try crowd.target()
                let push = try await builder.build(
                    PushRequest(content: Push.Content(body: "hi"), target: target), for: fixture.application.key,
                    findsAll: true)
                let reached = try await crowd.reached(by: push)
                let expected = crowd.members(of: target)
                #expect(Set(reached) == expected, "seed \(seed): \(target)")
                #expect(reached.count == expected.count, "one copy for each device, \(target)")
            }
        }
    }
}

private struct TargetCrowd {
    private var dice: SplitMix64
    private let fixture: TestStore
    private var platforms: [Platform] = []
    private var members: [Member] = []

    private struct Member {
        let device: Device
        let kind: PlatformKind
        let topics: Set<String>
        let user: String?
        let isInteractive: Bool
        var isActive = true
    }

    private static let topics = ["art", "news", "sport", "zoo"]
    private static let users = ["Ann", "ann", "Bob"]
    private static let versions: [String?] = [nil, "4.0", "4.1.2", "7.1", "8.0", "17.5"]

    init(dice: SplitMix64, fixture: TestStore) {
        self.dice = dice
        self.fixture = fixture
    }

    /// An application with a platform of some kinds, and an unrelated one beside it.
    mutating func gather() async throws {
        platforms = [fixture.platform]
        for kind in [PlatformKind.android, .androidFCM, .windows8] where dice.chance(0.6) {
            platforms.append(try await fixture.ports.create(.of(fixture.application, kind: kind)))
        }
        let stranger = try await fixture.ports.create(.of(try await fixture.ports.create(.named("weather"))))
        for number in 0..<80 {
            let version = Self.versions.randomElement(using: &dice) ?? nil
            let topics = Set(Self.topics.filter { _ in dice.chance(0.4) })
            let user = dice.chance(0.5) ? Self.users.randomElement(using: &dice) : nil
            let platform = dice.chance(0.1) ? stranger : platforms.randomElement(using: &dice) ?? stranger
            let device = try await fixture.register(
                "\(number)", topics: .replace(topics), user: user.map { .set($0) } ?? .keep, os: version, on: platform)
            guard platform.key != stranger.key else { continue }
            members.append(
                Member(
                    device: device, kind: platform.kind, topics: topics, user: user,
                    isInteractive: DeviceState(kind: platform.kind, osVersion: version) == .interactive))
            guard dice.chance(0.15) else { continue }
            try await fixture.ports.unregister(device.uuid, on: platform.key)
            members[members.count - 1].isActive = false
        }
    }

    mutating func target() throws -> Target {
        let isInteractiveOnly = dice.chance(0.3)
        if dice.chance(0.2) {
            var devices = (0..<Int.random(in: 0...9, using: &dice)).compactMap { _ in
                members.randomElement(using: &dice)?.device.uuid
            }
            devices.append(UUID())
            return try Target(devices: devices, topics: Self.topics, isInteractiveOnly: isInteractiveOnly)
        }
        let topics = Self.topics.filter { _ in dice.chance(0.3) }.map { dice.chance(0.3) ? $0.uppercased() : $0 }
        let users = Self.users.filter { _ in dice.chance(0.25) }
        let kinds = [PlatformKind.ios, .android, .androidFCM, .windows8, .bb10].filter { _ in dice.chance(0.4) }
        return try Target(
            topics: topics + topics, customUserIDs: users, platforms: dice.chance(0.4) ? nil : kinds,
            isInteractiveOnly: isInteractiveOnly)
    }

    /// The members of a target, by the documentation's words, in sets.
    func members(of target: Target) -> Set<Key<Device>> {
        let meant = members.filter { member in
            guard !target.isInteractiveOnly || member.isActive && member.isInteractive else { return false }
            if let devices = target.devices { return devices.contains(member.device.uuid) }
            let isNamed =
                target.topics.isEmpty && target.customUserIDs.isEmpty
                || !member.topics.isDisjoint(with: target.topics)
                || member.user.map(target.customUserIDs.contains) ?? false
            return isNamed && member.isActive && isMeant(member.kind, by: target.platforms)
        }
        return Set(meant.map(\.device.key))
    }

    private func isMeant(_ kind: PlatformKind, by kinds: [PlatformKind]?) -> Bool {
        guard let kinds else { return true }
        let isWidened = kinds.contains(.android) && !platforms.contains { $0.kind == .android }
        return kinds.contains(kind) || isWidened && kind == .androidFCM
    }

    func reached(by push: NewPush) async throws -> [Key<Device>] {
        var reached: [Key<Device>] = []
        for platform in push.platformKeys {
            reached += try await fixture.ports.devices(of: push.audience, on: platform, after: nil, limit: 1_000)
        }
        return reached
    }
}
