import BelfryService
import BelfryTesting
import Testing

@Suite struct AudienceScanTests {
    /// A few lists of chance, read as a store would have them read.
    private struct Lists: PostingReader {
        var members: [PostingList: [Int64]]

        func postings(_ list: PostingList, after: Int64, limit: Int) -> [Int64] {
            Array(members[list, default: []].filter { $0 > after }.prefix(limit))
        }

        var platform: Key<Platform> { Key(1) }

        func labels(in range: LabelRange) -> [DeviceLabel]? { [] }

        func prepared(_ check: DeviceCheck) -> PreparedCheck { preconditionFailure("no audience has checks") }

        func devices(_ devices: [Int64], that checks: [PreparedCheck]) -> [Int64] { [] }

        /// The naive answer.
        func devices(_ audience: Audience) -> Set<Int64> {
            switch audience {
            case .list(let list): Set(members[list] ?? [])
            case .any(let parts): parts.map(devices).reduce([]) { $0.union($1) }
            case .all(let parts): parts.dropFirst().map(devices).reduce(devices(parts[0])) { $0.intersection($1) }
            case .except(let whole, let part): devices(whole).subtracting(devices(part))
            case .checked, .meant: []
            }
        }
    }

    private static let names: [PostingList] = [
        .active, .interactive, .registered, .topic("news"), .topic("sports"), .customUser("ada"), .topic("nobody"),
    ]

    private static func lists(_ random: inout SplitMix64) -> Lists {
        let last = random.pick([10, 200, 5_000])
        var members: [PostingList: [Int64]] = [:]
        for name in names.dropLast() {
            let share = random.pick([0.01, 0.2, 0.5, 1])
            members[name] = (1...Int64(last)).filter { _ in random.chance(share) }
        }
        return Lists(members: members)
    }

    private static func audience(_ random: inout SplitMix64, depth: Int) -> Audience {
        func parts(_ range: ClosedRange<Int>) -> [Audience] {
            (0..<random.draw(range)).map { _ in audience(&random, depth: depth - 1) }
        }
        if depth == 0 { return .list(random.pick(names)) }
        return switch random.below(4) {
        case 0: .list(random.pick(names))
        case 1: .any(parts(0...5))
        case 2: .all(parts(1...4))
        default: .except(audience(&random, depth: depth - 1), audience(&random, depth: depth - 1))
        }
    }

    @Test func `any audience scan equals a naive set computation`() throws {
        for seed in 0..<400 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let lists = Self.lists(&random)
            let audience = Self.audience(&random, depth: 3)
            let after: Int64? = random.chance(0.5) ? Int64(random.below(300)) : nil
            let limit = random.pick([0, 1, 7, 500, 10_000])
            let expected = lists.devices(audience).filter { $0 > after ?? 0 }.sorted().prefix(limit)
            let found = try AudienceScan(audience, reader: lists).devices(after: after.map(Key.init), limit: limit)
            #expect(found.map(\.rawValue) == Array(expected), "seed \(seed): \(audience)")
        }
    }

    @Test func `batches taken one after another hold each device once, ascending`() throws {
        for seed in 0..<100 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let lists = Self.lists(&random)
            let audience = Self.audience(&random, depth: 2)
            let limit = random.pick([1, 13, 500])
            var found: [Key<Device>] = []
            while true {
                let batch = try AudienceScan(audience, reader: lists).devices(after: found.last, limit: limit)
                found += batch
                if batch.count < limit || found.count > 300 { break }
            }
            let expected = lists.devices(audience).sorted().prefix(found.count)
            #expect(found.map(\.rawValue) == Array(expected), "seed \(seed): \(audience)")
        }
    }

    @Test func `a scan that is out of time goes on later`() throws {
        for seed in 0..<100 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let lists = Self.lists(&random)
            let audience = Self.audience(&random, depth: 2)
            let scan = AudienceScan(audience, reader: lists)
            var (found, after): ([Key<Device>], Key<Device>?) = ([], nil)
            repeat {
                let slice = try scan.slice(after: after, limit: 10_000, within: .zero)
                found += slice.devices
                if let end = slice.end { #expect(end.rawValue > after?.rawValue ?? 0, "seed \(seed)") }
                after = slice.end
            } while after != nil
            #expect(found.map(\.rawValue) == lists.devices(audience).sorted(), "seed \(seed): \(audience)")
        }
    }

    @Test func `a scan of nobody stops in time`() throws {
        let lists = Lists(members: [.active: Array(1...5_000), .registered: Array(1...5_000)])
        let nobody = AudienceScan(.except(.list(.active), .list(.registered)), reader: lists)
        let slice = try nobody.slice(after: nil, limit: 10, within: .zero)
        #expect(slice.devices.isEmpty)
        #expect(slice.end.map { $0.rawValue < 5_000 } ?? false)
    }

    /// Keys of damaged rows among them.
    @Test func `keys that are far apart equal a naive set computation`() throws {
        for seed in 0..<200 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let extremes: [Int64] = [-.max, -9, 1, 63, 64, 65, 20_000, 1 << 40, .max - 70, .max - 1, .max]
            var members: [PostingList: [Int64]] = [:]
            for name in Self.names.dropLast() {
                let near = (0..<40).map { _ in random.pick(extremes) &+ Int64(random.below(300)) }
                members[name] = Set(near.filter { $0 > 0 } + extremes.filter { _ in random.chance(0.5) }).sorted()
            }
            let lists = Lists(members: members)
            let audience = Self.audience(&random, depth: 3)
            let after = random.chance(0.5) ? random.pick(extremes) : 0
            let expected = lists.devices(audience).filter { $0 > after }.sorted()
            let found = try AudienceScan(audience, reader: lists).devices(after: Key(after), limit: 10_000)
            #expect(found.map(\.rawValue) == expected, "seed \(seed): \(audience)")
        }
    }

    @Test func `one fan-out goes on where it stopped`() throws {
        let lists = Lists(members: [
            .active: Array(1...1_000), .interactive: Array(stride(from: 3, through: 1_000, by: 3)),
        ])
        let scan = AudienceScan(.except(.list(.active), .list(.interactive)), reader: lists)
        let first = try scan.devices(after: nil, limit: 10)
        let second = try scan.devices(after: first.last, limit: 10)
        #expect((first + second).map(\.rawValue) == (1...29).filter { $0 % 3 != 0 })
    }

    @Test func `no device is in any of no lists`() throws {
        let lists = Lists(members: [.active: [1, 2, 3]])
        #expect(try AudienceScan(.any([]), reader: lists).devices(after: nil, limit: 10).isEmpty)
    }
}
