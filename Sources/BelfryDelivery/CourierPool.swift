import BelfryCore

/// Claims as many pages as can be in the air, and has a courier carry each.
///
/// Back pressure is claiming less: a provider without room, or with its share of pages in the air, gets no more.
struct CourierPool: Sendable {
    let store: any Store
    let providers: any ProviderDirectory
    let courier: Courier
    let lanes: [Lane]
    let pagesInAirMax: Int
    let options: DeliveryOptions
    let loop: PatientLoop
    let bell = Bell()

    private let air = Air()

    init(
        store: any Store, providers: any ProviderDirectory, courier: Courier, lanes: [Lane], pagesInAirMax: Int,
        options: DeliveryOptions, loop: PatientLoop
    ) {
        self.store = store
        self.providers = providers
        self.courier = courier
        self.lanes = lanes
        self.pagesInAirMax = pagesInAirMax
        self.options = options
        self.loop = loop
    }

    func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await loop.run(until: bell) {
                guard let claim = nextClaim() else { return false }
                let pages = try await store.claimPages(claim)
                for page in pages {
                    air.take(page)
                    group.addTask { await carry(page) }
                }
                return !pages.isEmpty
            }
        }
    }

    private func carry(_ page: Page) async {
        await courier.carry(page)
        air.land(page)
        bell.ring()
    }

    /// nil while the air is full.
    private func nextClaim() -> PageClaim? {
        let inAir = air.pages
        let free = pagesInAirMax - inAir.values.reduce(0, +)
        guard free > 0 else { return nil }
        let perPlatform = min(options.pagesInAirOfPlatformMax, pagesInAirMax)
        var room = inAir.mapValues { max(0, perPlatform - $0) }
        for (platform, devices) in providers.room() where devices <= 0 { room[platform] = 0 }
        return PageClaim(pagesMax: free, lanes: lanes, room: room, roomElsewhere: perPlatform, lease: options.lease)
    }
}
