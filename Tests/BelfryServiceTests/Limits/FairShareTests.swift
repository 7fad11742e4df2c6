import BelfryService
import BelfryTesting
import Testing

@Suite struct FairShareTests {
    private static func bidder(
        _ application: Int64, _ platform: Int64, room: Int, of tenant: Int64 = 1
    ) -> FairShare.Bidder {
        FairShare.Bidder(tenant: Key(tenant), application: Key(application), platform: Key(platform), room: room)
    }

    @Test func `a tenant with many applications gets no more`() {
        let many = (1...1_000).map { Self.bidder($0, $0, room: 9) }
        let shares = FairShare.divide(8, among: many + [Self.bidder(1_001, 1_001, room: 9, of: 2)], turn: 0)
        #expect(shares[Key(1_001)] == 4 && shares.count == 5)
    }

    @Test func `each application of each tenant has its turn`() {
        let bidders = (1...4).map { Self.bidder($0, $0, room: 9, of: $0 % 2) }
        let favoured = (0..<4).flatMap { FairShare.divide(1, among: bidders, turn: $0).keys.map(\.rawValue) }
        #expect(Set(favoured) == [1, 2, 3, 4])
    }

    @Test func `applications with ample work share equally, whatever their platforms`() {
        let bidders = [
            Self.bidder(1, 1, room: 100), Self.bidder(2, 2, room: 100), Self.bidder(2, 3, room: 100),
        ]
        let shares = FairShare.divide(8, among: bidders, turn: 0)
        #expect(shares == [Key(1): 4, Key(2): 2, Key(3): 2])
    }

    @Test func `one application's surplus goes to others`() {
        let shares = FairShare.divide(
            10, among: [Self.bidder(1, 1, room: 1), Self.bidder(2, 2, room: 100)], turn: 0)
        #expect(shares == [Key(1): 1, Key(2): 9])
    }

    @Test func `the remainder goes round with the turn`() {
        let bidders = (1...3).map { Self.bidder($0, $0, room: 9) }
        let favoured = (0..<6).map { turn in
            FairShare.divide(4, among: bidders, turn: turn).first { $0.value == 2 }?.key.rawValue
        }
        #expect(favoured == [1, 2, 3, 1, 2, 3])
    }

    @Test func `nothing divides into no shares`() {
        #expect(FairShare.divide(0, among: [Self.bidder(1, 1, room: 9)], turn: 0).isEmpty)
        #expect(FairShare.divide(9, among: [], turn: 3).isEmpty)
        #expect(FairShare.divide(9, among: [Self.bidder(1, 1, room: 0)], turn: 3).isEmpty)
    }

    @Test func `shares use all room fairly within each bid`() {
        for seed in 0..<500 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let bidders = (0..<random.draw(1...12)).map { platform in
                Self.bidder(Int64(random.draw(1...4)), Int64(platform), room: random.draw(0...10))
            }
            let batchesMax = random.draw(0...60)
            let shares = FairShare.divide(batchesMax, among: bidders, turn: random.below(1_000))
            let room = bidders.map(\.room).reduce(0, +)
            #expect(shares.values.reduce(0, +) == min(batchesMax, room), "seed \(seed)")
            for bidder in bidders { #expect(shares[bidder.platform, default: 0] <= bidder.room, "seed \(seed)") }
            checkFairness(shares, among: bidders, seed: seed)
        }
    }

    private func checkFairness(_ shares: [Key<Platform>: Int], among bidders: [FairShare.Bidder], seed: UInt64) {
        let applications = Dictionary(grouping: bidders, by: \.application).mapValues { bidders in
            (
                given: bidders.map { shares[$0.platform, default: 0] }.reduce(0, +),
                room: bidders.map(\.room).reduce(0, +)
            )
        }
        for hungry in applications.values where hungry.given < hungry.room {
            for other in applications.values { #expect(other.given <= hungry.given + 1, "seed \(seed)") }
        }
    }
}
