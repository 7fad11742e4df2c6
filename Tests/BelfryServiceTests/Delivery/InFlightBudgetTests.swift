import Testing

@testable import BelfryService

@Suite struct InFlightBudgetTests {
    private typealias Share = InFlightBudget.Share
    private let limit = Duration.seconds(5)

    private func budget(burstsMax: Int = 64) -> InFlightBudget {
        InFlightBudget(burstsMax: burstsMax, burstsOfPlatformMax: 8, slowAfter: limit)
    }

    @Test func `an empty budget gives platforms their most, half at once`() {
        #expect(budget().share(of: .quick) == Share(burstsMax: 32, room: [:], roomElsewhere: 8))
        #expect(budget().share(of: .slow) == nil)
    }

    @Test func `a single place is given to any platform`() {
        var inFlight = budget(burstsMax: 1)
        #expect(inFlight.share(of: .quick) == Share(burstsMax: 1, room: [:], roomElsewhere: 1))
        inFlight.take(Key(1))
        #expect(inFlight.share(of: .quick) == nil)
        inFlight.release(Key(1), after: limit * 2)
        #expect(inFlight.share(of: .slow) == Share(burstsMax: 1, room: [Key(1): 1], roomElsewhere: 0))
    }

    @Test(arguments: [1, 3, 7, 10])
    func `when some platforms stall, one more finds room`(count: Int64) throws {
        var inFlight = budget()
        // Each takes whenever it may, and none of its batches ends.
        for _ in 0..<16 {
            for platform in 1...count {
                guard let share = inFlight.share(of: .quick) else { continue }
                let room = share.room[Key(platform)] ?? share.roomElsewhere
                for _ in 0..<min(room, share.burstsMax) { inFlight.take(Key(platform)) }
            }
        }
        let share = try #require(inFlight.share(of: .quick))
        #expect(share.roomElsewhere >= (count <= 7 ? 4 : 1))
        #expect((1...count).allSatisfy { share.room[Key($0)] == 0 })
    }

    @Test func `platforms with slow batches share half the budget`() throws {
        var inFlight = budget()
        for platform in 1...20 as ClosedRange<Int64> {
            inFlight.take(Key(platform))
            inFlight.release(Key(platform), after: limit * 6)
        }
        #expect(inFlight.share(of: .quick)?.room == Dictionary(uniqueKeysWithValues: (1...20).map { (Key($0), 0) }))
        #expect(inFlight.share(of: .slow)?.burstsMax == 32)
        for number in 0..<32 as Range<Int64> { inFlight.take(Key(number % 20 + 1)) }
        #expect(inFlight.share(of: .slow) == nil)
        #expect(try #require(inFlight.share(of: .quick)).roomElsewhere == 8)
    }

    @Test func `one batch that ends soon makes a platform quick again`() {
        var inFlight = budget()
        inFlight.take(Key(1))
        inFlight.release(Key(1), after: limit * 2)
        #expect(inFlight.share(of: .slow)?.room == [Key(1): 8])
        inFlight.take(Key(1))
        inFlight.release(Key(1), after: limit / 2)
        #expect(inFlight.share(of: .slow) == nil)
        #expect(inFlight.share(of: .quick) == Share(burstsMax: 32, room: [:], roomElsewhere: 8))
    }
}
