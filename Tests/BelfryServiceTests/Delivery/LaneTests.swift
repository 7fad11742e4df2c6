import BelfryService
import Testing

@Suite struct LaneTests {
    private static func devices(_ count: Int64) -> Audience { .list(.devices((0..<count).map { Key($0 + 1) })) }

    @Test(
        arguments: [
            (devices(1), .urgent), (devices(100), .urgent), (devices(101), .normal),
            (.list(.customUser("ada")), .urgent),
            (.any((0..<100).map { .list(.customUser("\($0)")) }), .urgent),
            (.any((0..<101).map { .list(.customUser("\($0)")) }), .normal),
            (.list(.active), .normal), (.list(.topic("news")), .normal),
            (.any([.list(.customUser("ada")), .list(.topic("news"))]), .normal),
            (.all([.list(.topic("news")), .list(.customUser("ada"))]), .urgent),
            (.all([.list(.topic("news")), .list(.interactive)]), .normal),
            (.except(devices(5), .list(.topic("news"))), .urgent), (.except(.list(.active), devices(5)), .normal),
            (.any([]), .urgent),
        ] as [(Audience, Lane)])
    func `a push for a few is urgent, any other normal`(audience: Audience, lane: Lane) {
        #expect(Lane(for: audience) == lane)
    }

    @Test func `lanes are in the order of urgency`() {
        #expect(Lane.allCases == Lane.allCases.sorted())
        #expect(Lane.urgent < .normal && .normal < .bulk)
    }
}
