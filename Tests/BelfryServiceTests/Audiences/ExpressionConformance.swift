import BelfryTesting
import Foundation
import GRDB
import Testing

@testable import BelfryService

/// Whatever an expression means, its lists hold those devices and no others: held against plain conditions on a random world.
@Suite struct ExpressionConformance {
    /// 10,000 expressions over twenty worlds on SQLite, some on PostgreSQL.
    @Test(arguments: Engine.allCases, 0..<20 as Range<UInt64>)
    func `a random expression means what plain conditions mean`(engine: Engine, seed: UInt64) async throws {
        guard engine == .sqlite || seed < 3 else { return }
        try await TestStore.play(on: engine) { fixture in
            var world = ExpressionWorld(dice: SplitMix64(seed: seed), fixture: fixture)
            try await world.gather()
            for _ in 0..<(engine == .sqlite ? 500 : 100) { try await world.compare(seed: seed) }
        }
    }

    @Test func `a rare device far behind is found`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            func register(_ token: String, _ model: String) async throws -> Key<Device> {
                let registration = try Registration(
                    token: DeviceToken(bytes: Array(token.utf8)), about: Device.About(model: model),
                    customUserID: .clear,
                    topics: .keep)
                return try await store.register(registration, as: nil, on: fixture.platform).key
            }
            let first = try await register("1", "Rare")
            _ = try await register("2", "Common")
            try await store.writer.write { session in
                try session.db.execute(sql: "UPDATE sqlite_sequence SET seq = 400000 WHERE name = 'device'")
            }
            let last = try await register("3", "Rare")
            #expect(last.rawValue > 400_000)
            let push = try await PushBuilder(store: store, clock: fixture.clock).build(
                PushRequest(
                    content: Push.Content(body: "x"), target: Target(AudienceExpression(text: "model:rare", field: ""))),
                for: fixture.application.key)
            var (found, after): ([Key<Device>], Key<Device>?) = ([], nil)
            repeat {
                let slice = try await store.slice(of: push.audience, on: fixture.platform.key, after: after, limit: 500)
                found += slice.devices
                after = slice.end
            } while after != nil
            #expect(found == [first, last])
            let draft = AudienceDraft(platforms: [fixture.platform], audience: push.audience)
            #expect(try await store.size(of: draft, by: .now + .seconds(60)) == [AudienceSize(devices: 2)])
            let estimate = try #require(try await store.size(of: draft, by: .now).first)
            #expect(estimate.margin != nil && estimate.devices < 400_000)
            #expect(try await store.sample(of: draft, atMost: 5).map(\.device.key) == [first, last])
        }
    }
}

extension ExpressionConformance {
    @Test(arguments: Engine.allCases)
    func `devices of old have no time of first registration`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (old, new) = (try await fixture.register("old"), try await fixture.register("new"))
            _ = try await fixture.store.write { session in
                try session.prepared("UPDATE device SET created_at_ms = NULL WHERE id = $1").run(old.key)
            }
            _ = try await fixture.register("old", topics: .replace(["news"]))
            for (text, found) in [
                ("created:*", [new.key]), ("-created:*", [old.key]), ("created:P1D", [new.key]),
                ("created<2001-01-01T00:00:00Z", []), ("-created<2001-01-01T00:00:00Z", [old.key, new.key]),
            ] {
                let draft = try await PushService(store: fixture.store).audience(
                    of: Target(AudienceExpression(text: text, field: "")), for: fixture.application.key)
                #expect(try await fixture.devices(of: draft.audience) == found, "\(text)")
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `reports are read in steps and go with the answers`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let keys = try await fixture.registerMany(300)
            let push = try await fixture.push()
            try await fixture.fanOut()
            _ = try await fixture.store.settle(Settlement(try await fixture.claimOne(), all: .accepted))
            let opened = keys.filter { !$0.rawValue.isMultiple(of: 3) && $0.rawValue != 130 }
            let events = opened.map {
                AnalyticsEvent(
                    kind: .opened, time: fixture.clock.now, device: fixture.store.secrets.naming.uuid(of: $0),
                    receiptID: push.receiptID)
            }
            _ = try await fixture.store.record(events, on: fixture.platform, lateMax: .seconds(3_600))
            let list = Audience.list(.reported(.opened, push.key))
            #expect(try await fixture.devices(of: list) == opened)
            for after in [0, 63, 64, 127, 128, 130, 300] as [Int64] {
                let rest = opened.filter { $0.rawValue > after }.prefix(7)
                #expect(try await fixture.devices(of: list, after: Key(after), limit: 7) == Array(rest))
            }
            #expect(try await fixture.devices(of: .list(.reported(.received, push.key))).isEmpty)
            while try await fixture.store.deleteExpired(.answers, before: .distantFuture).isMore {}
            #expect(try await fixture.devices(of: list).isEmpty)
        }
    }
}

private struct ExpressionWorld {
    private var dice: SplitMix64
    private let fixture: TestStore
    private var platforms: [Platform] = []
    private var members: [String: Member] = [:]
    private var userAttributes: [String: [String: UserAttribute]] = [:]
    private var named = AudienceExpression.Named()
    private var reports: Set<String> = []

    private struct Member {
        let token: String
        let device: Device
        let kind: PlatformKind
        let topics: Set<String>
        let user: String?
        let about: Device.About
        let seenAt: Instant
        let createdAt: Instant
        var language: String?
        var timeZone: String?
        var profile: DeviceProfile
        var isActive = true
        var isImported = false
    }

    init(dice: SplitMix64, fixture: TestStore) { (self.dice, self.fixture) = (dice, fixture) }

    /// Registrations, changes, imports and losses, with the lists merged now and then.
    mutating func gather() async throws {
        platforms = [fixture.platform]
        for kind in [PlatformKind.androidFCM, .web] {
            platforms.append(try await fixture.ports.create(.of(fixture.application, kind: kind)))
        }
        for id in AudienceExpression.users.dropLast() {
            var attributes: [String: UserAttribute] = [:]
            for (name, values) in AudienceExpression.attributes where dice.chance(0.6) {
                attributes[name] = dice.pick(values)
            }
            userAttributes[id] = attributes
            let profile = UserProfile(stored: nil, timeZone: nil, attributes: attributes)
            _ = try await fixture.store.setUser(id, of: fixture.application.key) { _ in profile }
        }
        for step in 0..<160 {
            let number = dice.below(90)
            if let member = members["\(number)"], dice.chance(0.2) {
                let platform = try #require(platforms.first { $0.kind == member.kind })
                try await fixture.ports.unregister(member.device.uuid, on: platform.key)
                members["\(number)"]?.isActive = false
            } else {
                try await register("\(number)")
            }
            if step.isMultiple(of: 40), let store = fixture.store as? SQLiteStore {
                try await store.writer.write { try SQLiteSubscriptionMerge(session: $0).step() }
            }
        }
        try await report()
        let times = members.values.map(\.createdAt).sorted()
        named.times = [times[times.count / 3], times[times.count / 2], times[times.count - 1]]
    }

    /// Events about two pushes and two geofences, some of them by devices that were lost meanwhile.
    private mutating func report() async throws {
        let pushes = [try await fixture.push(), try await fixture.push()]
        let shop = try await fixture.locate()
        let geofences = [try await fixture.fence([shop]), try await fixture.fence([shop])]
        named.pushes = pushes.map(\.receiptID) + [UUID()]
        named.geofences = geofences.map(\.key) + [Key(999)]
        for platform in platforms {
            var events: [AnalyticsEvent] = []
            for (token, member) in members.sorted(by: { $0.key < $1.key }) where member.kind == platform.kind {
                for kind in [AnalyticsKind.received, .opened, .dismissed, .geofenceTriggered] where dice.chance(0.4) {
                    let isAtPlace = kind == .geofenceTriggered
                    let (push, geofence) = (dice.pick(pushes), dice.pick(geofences))
                    events.append(
                        AnalyticsEvent(
                            kind: kind, time: fixture.clock.now, device: member.device.uuid,
                            receiptID: isAtPlace ? nil : push.receiptID, geofence: isAtPlace ? geofence.key : nil))
                    reports.insert(
                        "\(kind) \(isAtPlace ? geofence.key.description : push.receiptID.lowercased) \(token)")
                }
            }
            let tally = try await fixture.store.record(events, on: platform, lateMax: .seconds(3_600))
            #expect(tally.counted == events.count)
        }
    }

    private mutating func register(_ token: String) async throws {
        let old = members[token]
        let kind = old?.kind ?? dice.pick(platforms).kind
        let platform = try #require(platforms.first { $0.kind == kind })
        var profile = DeviceProfile()
        if dice.chance(0.6) { profile.appVersion = dice.pick(AudienceExpression.versions) }
        if dice.chance(0.5) { profile.country = dice.pick(AudienceExpression.countries) }
        for (name, values) in AudienceExpression.attributes where dice.chance(0.5) {
            profile.attributes[name] = dice.chance(0.2) ? [] : dice.chance(0.2) ? values : [dice.pick(values)]
        }
        let topics = Set(AudienceExpression.topics.filter { _ in dice.chance(0.4) })
        let user = dice.chance(0.6) ? dice.pick(AudienceExpression.users) : nil
        let about = Device.About(
            osVersion: dice.pick(AudienceExpression.systems), model: dice.pick(AudienceExpression.models))
        let detail = DeviceDetail.Change(
            language: dice.chance(0.5) ? dice.pick(AudienceExpression.languages) : nil,
            timeZone: dice.chance(0.5) ? dice.pick(AudienceExpression.zones) : nil)
        fixture.clock.advance(by: .seconds(dice.below(100)))
        let registration = try Registration(
            token: DeviceToken(bytes: Array(token.utf8)), about: about, customUserID: user.map { .set($0) } ?? .clear,
            topics: .replace(topics), detail: detail, profile: profile)
        let device = try await fixture.ports.register(registration, as: nil, on: platform)
        members[token] = Member(
            token: token, device: device, kind: kind, topics: topics, user: user, about: device.about,
            seenAt: device.registeredAt,
            createdAt: old?.createdAt ?? device.registeredAt,
            language: detail.language ?? old?.language, timeZone: detail.timeZone ?? old?.timeZone,
            profile: (old?.profile ?? DeviceProfile()).changed(by: profile))
        let read = try await fixture.store.profile(of: device.key, on: platform.key)
        let kept = try #require(members[token]).profile
        #expect(read.appVersion == kept.appVersion)
        #expect(
            read.attributes.mapValues { Set($0) } == kept.attributes.filter { !$0.value.isEmpty }.mapValues { Set($0) })
        #expect(device.topics == topics.sorted(), "labels are no topics")
    }

    mutating func compare(seed: UInt64) async throws {
        let uuids = members.values.map(\.device.uuid).sorted().prefix(5) + [UUID()]
        named.devices = Array(uuids)
        let expression = AudienceExpression.random(&dice, depth: 4, devices: named)
        let builder = PushBuilder(store: fixture.ports, clock: fixture.clock)
        let push = try await builder.build(
            PushRequest(content: Push.Content(body: "hi"), target: Target(expression)), for: fixture.application.key)
        let stored = try Audience(stored: Array(push.audience.storedText.utf8))
        #expect(stored == push.audience)
        for platform in platforms {
            let expected = members.values.filter {
                $0.kind == platform.kind && $0.isActive && isMeant($0, by: expression)
            }.map(\.device.key).sorted()
            let all = try await fixture.ports.devices(of: stored, on: platform.key, after: nil, limit: 1_000)
            #expect(all == expected, "seed \(seed): \(expression.text)")
            guard let middle = expected.dropFirst(expected.count / 2).first else { continue }
            let rest = try await fixture.ports.devices(of: stored, on: platform.key, after: middle, limit: 3)
            #expect(rest == Array(expected.filter { $0 > middle }.prefix(3)), "seed \(seed): \(expression.text)")
        }
    }

    private func isMeant(_ member: Member, by expression: AudienceExpression) -> Bool {
        switch expression {
        case .all(let parts): parts.allSatisfy { isMeant(member, by: $0) }
        case .any(let parts): parts.contains { isMeant(member, by: $0) }
        case .not(let part): !isMeant(member, by: part)
        case .term(let term): isMeant(member, by: term)
        }
    }

    private func isMeant(_ member: Member, by term: AudienceTerm) -> Bool {
        switch term {
        case .everyone: return true
        case .topics(let names): return !member.topics.isDisjoint(with: names)
        case .users(let ids): return member.user.map(ids.contains) ?? false
        case .devices(let uuids): return uuids.contains(member.device.uuid)
        case .platforms(let kinds):
            return kinds.contains(member.kind) || kinds.contains(.android) && member.kind == .androidFCM
        case .imported: return member.isImported
        case .segment, .campaign, .sent: return false
        case .share(let share):
            let holder = member.user.map { "u\($0)" } ?? "d\(member.device.key.rawValue)"
            return share.from..<share.to ~= AudienceShare.percent(of: holder, share.seed)
        case .reported(let report, let receipts):
            return receipts.contains { reports.contains("\(report) \($0.lowercased) \(member.token)") }
        case .geofences(let keys):
            return keys.contains { reports.contains("geofenceTriggered \($0) \(member.token)") }
        case .property(let property, let test):
            return values(of: property, member).contains { holds(test, $0, property) }
        }
    }

    private func values(of property: DeviceProperty, _ member: Member) -> [UserAttribute] {
        func text(_ text: String?) -> [UserAttribute] { text.map { [.text($0)] } ?? [] }
        switch property {
        case .language: return text(member.language)
        case .timeZone: return text(member.timeZone)
        case .country: return text(member.profile.country)
        case .appVersion: return text(member.profile.appVersion)
        case .osVersion: return text(member.about.osVersion)
        case .os: return text(member.about.os)
        case .model: return text(member.about.model)
        case .manufacturer: return text(member.about.manufacturer)
        case .lastSeen: return [.time(member.seenAt)]
        case .created: return [.time(member.createdAt)]
        case .attribute(let name): return member.profile.attributes[name] ?? []
        case .userTimeZone: return []
        case .userAttribute(let name):
            return member.user.flatMap { userAttributes[$0]?[name] }.map { [$0] } ?? []
        }
    }

    private func holds(_ test: PropertyTest, _ value: UserAttribute, _ property: DeviceProperty) -> Bool {
        func numbers(_ text: String) -> [Int]? {
            let parts = text.prefix { $0 != "-" }.split(separator: ".").map { Int($0) }
            guard !parts.contains(nil) else { return nil }
            var numbers = parts.compactMap(\.self)
            while numbers.last == 0 { numbers.removeLast() }
            return numbers
        }
        let isVersion = property == .appVersion || property == .osVersion
        switch test {
        case .exists: return true
        case .within(let span):
            guard case .time(let time) = value else { return false }
            return time >= fixture.clock.now + .milliseconds(-span.milliseconds)
        case .equals(let values):
            return values.contains { other in
                if case .language = property {
                    return value.text == other.text || value.text.hasPrefix(other.text + "-")
                }
                if isVersion, let own = numbers(value.text), let other = numbers(other.text) { return own == other }
                return value == other
            }
        case .compare(let comparison, let other):
            if isVersion {
                guard let own = numbers(value.text), let other = numbers(other.text) else { return false }
                let order = own == other ? 0 : own.lexicographicallyPrecedes(other) ? -1 : 1
                return comparison.holds(order, 0)
            }
            switch (value, other) {
            case (.number(let own), .number(let other)): return comparison.holds(own, other)
            case (.time(let own), .time(let other)): return comparison.holds(own, other)
            case (.text(let own), .text(let other)): return comparison.holds(own, other)
            default: return false
            }
        }
    }
}
