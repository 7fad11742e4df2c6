import BelfryCore

/// Claims as many pages as can be in the air, and has a courier carry each.
///
/// Back pressure is claiming less: a provider without room, or with its share of pages in the air, gets no more.
struct CourierPool: Sendable {
    let store: any DeliveryStore
    let providers: any ProviderDirectory
    let courier: Courier
    let lanes: [Lane]
    let lease: Duration
    let loop: PatientLoop
    let bell = Bell()

    private let air: Air

    init(
        store: any DeliveryStore, providers: any ProviderDirectory, courier: Courier, lanes: [Lane], pagesInAirMax: Int,
        options: DeliveryOptions, loop: PatientLoop
    ) {
        self.store = store
        self.providers = providers
        self.courier = courier
        self.lanes = lanes
        self.lease = options.lease
        self.loop = loop
        air = Air(
            AirTraffic(
                pagesMax: pagesInAirMax, pagesOfPlatformMax: options.pagesInAirOfPlatformMax,
                slowAfter: options.slowAfter))
    }

    var pagesInAir: Int { air.pages }

    func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await loop.run(until: bell) {
                var hasFound = false
                for pace in AirTraffic.Pace.allCases {
                    guard let claim = nextClaim(pace) else { continue }
                    for page in try await store.claimPages(claim) {
                        air.take(page)
                        group.addTask { await carry(page) }
                        hasFound = true
                    }
                }
                return hasFound
            }
        }
    }

    private func carry(_ page: Page) async {
        let takenAt = courier.clock.now
        await courier.carry(page)
        air.land(page, after: courier.clock.now - takenAt)
        bell.ring()
    }

    private func nextClaim(_ pace: AirTraffic.Pace) -> PageClaim? {
        guard var share = air.share(of: pace) else { return nil }
        for (platform, devices) in providers.room() where devices <= 0 { share.room[platform] = 0 }
        return PageClaim(
            pagesMax: share.pagesMax, lanes: lanes, room: share.room, roomElsewhere: share.roomElsewhere, lease: lease)
    }
}
