package import BelfryCore

/// How the delivery works: its limits, and how long it waits.
package struct DeliveryOptions: Sendable {
    /// How many pages are in the air at once; with `Page.devicesMax` the bound on memory and on duplicates after a crash.
    package var pagesInAirMax: Int
    /// As many again, for urgent pushes alone.
    package var urgentPagesInAirMax: Int
    /// How many of them may be one platform's, so that a stalled provider never takes all.
    package var pagesInAirOfPlatformMax: Int
    /// A platform whose page was in the air for longer shares half of the air with others of its kind.
    package var slowAfter: Duration
    /// How many pages one step of a walk writes. The first step of a walk writes one, so that it leaves at once.
    package var pagesPerStep: Int
    /// How long a claim holds. Longer than any provider takes to answer for a page.
    package var lease: Duration
    /// How long to wait for a hint before looking anyway.
    package var poll: Duration
    package var deathWatch: DeathWatch

    package init(
        pagesInAirMax: Int = 64, urgentPagesInAirMax: Int = 16, pagesInAirOfPlatformMax: Int = 8,
        slowAfter: Duration = .seconds(5), pagesPerStep: Int = 16, lease: Duration = .seconds(120),
        poll: Duration = .seconds(1), deathWatch: DeathWatch = DeathWatch()
    ) {
        self.pagesInAirMax = pagesInAirMax
        self.urgentPagesInAirMax = urgentPagesInAirMax
        self.pagesInAirOfPlatformMax = pagesInAirOfPlatformMax
        self.slowAfter = slowAfter
        self.pagesPerStep = pagesPerStep
        self.lease = lease
        self.poll = poll
        self.deathWatch = deathWatch
    }
}
