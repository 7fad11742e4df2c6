import BelfryCore
import Testing

@testable import BelfryDelivery

@Suite struct AirTrafficTests {
    private typealias Share = AirTraffic.Share
    private let limit = Duration.seconds(5)

    private func traffic(pagesMax: Int = 64) -> AirTraffic {
        AirTraffic(pagesMax: pagesMax, pagesOfPlatformMax: 8, slowAfter: limit)
    }

    @Test func `an empty air gives each platform its most, and half of itself at a time`() {
        #expect(traffic().share(of: .quick) == Share(pagesMax: 32, room: [:], roomElsewhere: 8))
        #expect(traffic().share(of: .slow) == nil)
    }

    @Test func `a single place is given to whoever comes`() {
        var air = traffic(pagesMax: 1)
        #expect(air.share(of: .quick) == Share(pagesMax: 1, room: [:], roomElsewhere: 1))
        air.take(Key(1))
        #expect(air.share(of: .quick) == nil)
        air.land(Key(1), after: limit * 2)
        #expect(air.share(of: .slow) == Share(pagesMax: 1, room: [Key(1): 1], roomElsewhere: 0))
    }

    @Test(arguments: [1, 3, 7, 10])
    func `when some platforms stall, one more finds room`(count: Int64) throws {
        var air = traffic()
        // Each takes whenever it may, and none of its pages lands.
        for _ in 0..<16 {
            for platform in 1...count {
                guard let share = air.share(of: .quick) else { continue }
                let room = share.room[Key(platform)] ?? share.roomElsewhere
                for _ in 0..<min(room, share.pagesMax) { air.take(Key(platform)) }
            }
        }
        let share = try #require(air.share(of: .quick))
        #expect(share.roomElsewhere >= (count <= 7 ? 4 : 1))
        #expect((1...count).allSatisfy { share.room[Key($0)] == 0 })
    }

    @Test func `platforms whose pages stay long have half of the air between them`() throws {
        var air = traffic()
        for platform in 1...20 as ClosedRange<Int64> {
            air.take(Key(platform))
            air.land(Key(platform), after: limit * 6)
        }
        #expect(air.share(of: .quick)?.room == Dictionary(uniqueKeysWithValues: (1...20).map { (Key($0), 0) }))
        #expect(air.share(of: .slow)?.pagesMax == 32)
        for number in 0..<32 as Range<Int64> { air.take(Key(number % 20 + 1)) }
        #expect(air.share(of: .slow) == nil)
        #expect(try #require(air.share(of: .quick)).roomElsewhere == 8)
    }

    @Test func `one page that lands soon makes a platform quick again`() {
        var air = traffic()
        air.take(Key(1))
        air.land(Key(1), after: limit * 2)
        #expect(air.share(of: .slow)?.room == [Key(1): 8])
        air.take(Key(1))
        air.land(Key(1), after: limit / 2)
        #expect(air.share(of: .slow) == nil)
        #expect(air.share(of: .quick) == Share(pagesMax: 32, room: [:], roomElsewhere: 8))
    }
}
