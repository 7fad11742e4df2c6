package import BelfryService

extension World {
    /// Schedules by the clocks of each recipient, and the programs that take them round the world.
    package struct Journey: Sendable {
        /// How many programs run at a time.
        package var nodes: Int
        /// Devices a minute of each of the pushes; nil where they are not throttled.
        package var perMinute: Int?

        /// Two of them are ahead of UTC by parts of an hour.
        static let zones = [
            "Pacific/Auckland", "Asia/Tokyo", "Asia/Kathmandu", "Asia/Kolkata", "Europe/Vienna", "America/New_York",
            "Pacific/Honolulu",
        ]
        /// The zones of users who have one in their profiles.
        static let userZones = ["ada": "Asia/Tokyo"]
        /// The most devices, since each of some forty steps looks at all of them.
        static let devicesMax = 40
    }

    package struct LocalSchedule: Sendable {
        package let application: Int
        package let target: Target
        package let guarantee: Push.Guarantee
        /// The offset from UTC, in hours, of the clocks that come to its time soon.
        package let offset: Int
        /// How long until these clocks come to it.
        package let dueIn: Duration
        package let past: LocalDelivery.Past
        package let recurs: Bool

        static let times = 2

        func time(from now: Instant) throws -> LocalTime {
            let clocks = now + dueIn + .seconds(offset * 3_600)
            return try LocalTime(String(clocks.text.prefix(19)), field: "local")
        }

        /// The zone of devices that have none.
        static func zone() throws -> ZoneInfo { try ZoneInfo("Europe/Vienna", field: "zone") }

        func recurrence(from now: Instant) throws -> Recurrence? {
            guard recurs else { return nil }
            return try Recurrence(
                rule: RecurrenceRule("FREQ=DAILY;COUNT=\(Self.times)", field: "rule"), start: time(from: now),
                zone: Self.zone(), past: past)
        }
    }

    /// In an eighth of the worlds. Drawn apart, as small pushes are; such a world has few devices and slow polls, for it takes a day or two.
    mutating func addJourney(applications: Int) {
        var random = SplitMix64(seeds: seed, 9)
        guard random.chance(1.0 / 8) else { return }
        journey = Journey(
            nodes: random.draw(1...2), perMinute: random.chance(0.3) ? random.draw(1...30) : nil)
        devices = min(devices, Journey.devicesMax)
        limits.poll = .seconds(random.draw(10...20))
        faults.crashesMax += random.draw(0...8)
        for _ in 0..<random.draw(1...2) {
            let schedule = LocalSchedule(
                application: random.below(applications), target: Self.target(&random),
                guarantee: random.chance(0.3) ? .atMostOnce : .atLeastOnce,
                offset: random.pick([13, 9, 1, -5, -10]), dueIn: random.duration(1...random.pick([5, 300])),
                past: random.pick(LocalDelivery.Past.allCases), recurs: random.chance(0.3))
            events.insert(
                Event(wait: .zero, action: .localSchedule(schedule)), at: random.draw(0...events.count))
        }
    }
}
