package import BelfryService

/// One world of a simulation, drawn from a seed: its devices, actions, times and faults.
package struct World: Sendable {
    package let seed: UInt64
    package var platforms: [PlannedPlatform]
    /// Devices that register before anything else happens.
    package var devices: Int
    /// The events in the order of their times.
    package var events: [Event]
    package var faults: Faults
    package var limits: Limits
    package var policy: RetryPolicy
    /// What slows the pushes to many devices down; nil in most worlds.
    package var pacing: Pacing?
    /// What goes by the clocks of each recipient; nil in most worlds.
    package var journey: Journey?

    package struct PlannedPlatform: Sendable {
        package let application: Int
        package let kind: PlatformKind
    }

    package struct Event: Sendable {
        /// The time since the previous action.
        package let wait: Duration
        package let action: Action
    }

    package enum Action: Sendable {
        case push(PlannedPush)
        /// A push to a few devices, which it names.
        case smallPush(SmallPush)
        case schedule(PlannedSchedule)
        case localSchedule(LocalSchedule)
        /// Moves a schedule to this long from now.
        case reschedule(Duration)
        case cancel
        /// Cancels one of the pushes that are not settled, by its number among them.
        case cancelPush(Int)
        /// A new installation.
        case install
        /// An app that registers again: with its UUID or without, with its old token, a new one, or another device's.
        case register(isNamed: Bool, TokenChoice)
        case unregister
        /// The provider refuses a platform's credentials, or they cannot be used at all.
        case trouble(platform: Int, isUseless: Bool)
        case mend(platform: Int, isReplaced: Bool)
    }

    package enum TokenChoice: Sendable { case same, fresh, another }

    package struct PlannedPush: Sendable {
        package let application: Int
        package let audience: Audience
        package let lane: Lane
        package let guarantee: Push.Guarantee
        package let expiresIn: Duration?
    }

    package struct SmallPush: Sendable {
        package let application: Int
        package let devices: Int
        package let guarantee: Push.Guarantee
        package let expiresIn: Duration?
    }

    package struct PlannedSchedule: Sendable {
        package let application: Int
        package let target: Target
        package let guarantee: Push.Guarantee
        package let dueIn: Duration
        package let expiresIn: Duration?

        /// How often a recurring one is sent.
        static let times = 2

        /// Every eighth without an expiry recurs, on two days. That takes nothing from the seed, so worlds stay as they were.
        func recurrence(from now: Instant) throws -> Recurrence? {
            guard expiresIn == nil, dueIn.milliseconds % 8 == 3 else { return nil }
            let first = (now + dueIn + .seconds(1)).text.prefix(19)
            return try Recurrence(
                rule: RecurrenceRule("FREQ=DAILY;COUNT=\(Self.times)", field: "rule"),
                start: LocalTime(String(first), field: "start"), zone: ZoneInfo("UTC", field: "zone"))
        }
    }

    package struct Faults: Sendable {
        package var rates: OutcomePlan.Rates
        /// The probability that a call of the store fails, at each of its two moments.
        package var store: Double
        /// The probability that a call of the store hangs, at each of its two moments, sometimes for longer than a
        /// lease.
        package var stall: Double
        /// Whether the store gives no hints.
        package var isDeaf: Bool
        /// The probability that the process dies after a job.
        package var crash: Double
        package var crashesMax: Int
        /// The probability that a provider has no room.
        package var full: Double
    }

    package struct Limits: Sendable {
        package var batchesInFlightMax: Int
        package var urgentBatchesInFlightMax: Int
        package var batchesInFlightOfPlatformMax: Int
        package var batchesPerStep: Int
        package var lease: Duration
        package var poll: Duration
        package var deadTokenBreaker: DeadTokenBreaker
        package var pace: FakeProvider.Pace
        /// The most jobs of a run; a run with more hangs.
        package var jobsMax: Int
    }

    package static let topics = ["news", "sports", "weather"]
    package static let users = ["ada", "bert"]
}

extension World {
    package init(seed: UInt64) {
        var random = SplitMix64(seeds: seed, 1)
        self.seed = seed
        platforms = Self.platforms(&random)
        devices = Self.size(&random)
        faults = Self.faults(&random)
        limits = Self.limits(&random)
        policy = RetryPolicy(
            firstDelay: .seconds(random.draw(1...4)), longestDelay: .seconds(random.draw(10...60)),
            window: .seconds(random.draw(60...1_200)))
        let applications = (platforms.map(\.application).max() ?? 0) + 1
        events = Self.events(&random, applications: applications, platforms: platforms.count)
        addSmallPushes(applications: applications)
        addCancelledPushes()
        addPacing()
        addJourney(applications: applications)
    }

    /// In half of the worlds, small pushes by the dozen in a few places. They are drawn apart, so that the rest of a world does
    /// not depend on them.
    private mutating func addSmallPushes(applications: Int) {
        var random = SplitMix64(seeds: seed, 6)
        guard random.chance(0.5) else { return }
        for _ in 0..<random.draw(1...3) {
            let place = random.draw(0...events.count)
            let wait = random.chance(0.5) ? Duration.zero : random.duration(0...0.1)
            let pushes = (0..<random.draw(1...60)).map { _ in
                SmallPush(
                    application: random.below(applications), devices: random.draw(1...3),
                    guarantee: random.chance(0.3) ? .atMostOnce : .atLeastOnce,
                    expiresIn: random.chance(0.1) ? random.duration(0...300) : nil)
            }
            events.insert(contentsOf: pushes.map { Event(wait: wait, action: .smallPush($0)) }, at: place)
        }
    }

    /// In a third of the worlds, pushes that are cancelled while they run. Drawn apart, as small pushes are.
    private mutating func addCancelledPushes() {
        var random = SplitMix64(seeds: seed, 7)
        guard random.chance(1.0 / 3) else { return }
        for _ in 0..<random.draw(1...4) {
            let place = random.draw(1...events.count)
            let wait = random.chance(0.3) ? Duration.zero : random.duration(0...random.pick([0.2, 2, 30]))
            events.insert(Event(wait: wait, action: .cancelPush(random.draw(0...9))), at: place)
        }
    }

    /// In two of five worlds, quiet hours soon after the start, caps, a throttle or several of them. Drawn apart, as small pushes are.
    private mutating func addPacing() {
        var random = SplitMix64(seeds: seed, 8)
        guard random.chance(0.4) else { return }
        var (pacing, rules) = (Pacing(), DeliveryRules())
        do {
            if random.chance(0.6) {
                let hours: JSONObject = [
                    "from": .string("22:1\(random.draw(3...5))"), "to": .string("22:\(random.draw(16...25))"),
                    "then": .string(random.pick(QuietHours.Treatment.allCases).rawValue),
                ]
                rules.quietHours = try QuietHours(.object(hours), field: "quiet_hours")
            }
            if random.chance(0.5) {
                rules.caps = [try FrequencyCap(words: "\(random.draw(1...3))/day", field: "caps")]
            }
        } catch {
            preconditionFailure("the world's rules are valid: \(error)")
        }
        if random.chance(0.3) { pacing.perMinute = random.draw(60...3_000) }
        pacing.rules = rules
        self.pacing = pacing
    }

    /// This world without faults.
    package var calm: World {
        var world = self
        world.faults = Faults(
            rates: OutcomePlan.Rates(), store: 0, stall: 0, isDeaf: false, crash: 0, crashesMax: 0, full: 0)
        return world
    }

    private static func platforms(_ random: inout SplitMix64) -> [PlannedPlatform] {
        (0..<random.draw(1...3)).flatMap { application in
            (0..<random.draw(1...2)).map { _ in
                PlannedPlatform(application: application, kind: random.pick([.ios, .ios, .androidFCM, .windows8]))
            }
        }
    }

    /// Usually few, since few find most faults; sometimes enough for several batches.
    private static func size(_ random: inout SplitMix64) -> Int {
        switch random.fraction() {
        case ..<0.75: random.draw(1...40)
        case ..<0.9: random.draw(40...600)
        case ..<0.98: random.draw(600...2_000)
        default: random.draw(2_000...4_000)
        }
    }

    private static func faults(_ random: inout SplitMix64) -> Faults {
        func rate(_ most: Double) -> Double { random.chance(0.5) ? random.fraction() * most : 0 }
        return Faults(
            rates: OutcomePlan.Rates(
                refused: rate(0.1), gone: rate(0.3), throttled: rate(0.2), failed: rate(0.2), unanswered: rate(0.1)),
            store: rate(0.05), stall: random.chance(0.3) ? 0.01 : 0, isDeaf: random.chance(0.2),
            crash: random.chance(0.6) ? random.pick([0.0005, 0.003, 0.02]) : 0,
            crashesMax: random.draw(1...6), full: rate(0.3))
    }

    private static func limits(_ random: inout SplitMix64) -> Limits {
        Limits(
            batchesInFlightMax: random.draw(1...8), urgentBatchesInFlightMax: random.draw(1...3),
            batchesInFlightOfPlatformMax: random.draw(1...4), batchesPerStep: random.draw(1...4),
            lease: .seconds(random.draw(60...180)), poll: .seconds(random.draw(1...20)),
            deadTokenBreaker: random.chance(0.2)
                ? DeadTokenBreaker(shareMax: 0.2, answersMin: 20)
                : DeadTokenBreaker(shareMax: 1, answersMin: 1_000_000),
            pace: FakeProvider.Pace(
                burst: random.pick([20, 100, 500]), delay: random.chance(0.7) ? random.duration(0...1) : .zero),
            jobsMax: 3_000_000)
    }

    private static func events(_ random: inout SplitMix64, applications: Int, platforms: Int) -> [Event] {
        var events = [Event(wait: .zero, action: .push(push(&random, applications: applications)))]
        for _ in 0..<random.draw(0...25) {
            let wait = random.chance(0.3) ? Duration.zero : random.duration(0...random.pick([0.5, 10, 90]))
            events.append(Event(wait: wait, action: action(&random, applications: applications, platforms: platforms)))
        }
        return events
    }

    private static func action(_ random: inout SplitMix64, applications: Int, platforms: Int) -> Action {
        switch random.fraction() {
        case ..<0.2: .push(push(&random, applications: applications))
        case ..<0.3: .schedule(schedule(&random, applications: applications))
        case ..<0.34: .reschedule(random.duration(0...random.pick([1, 30, 300])))
        case ..<0.38: .cancel
        case ..<0.45: .install
        case ..<0.65: .register(isNamed: random.chance(0.7), random.pick([.same, .fresh, .another]))
        case ..<0.8: .unregister
        case ..<0.9: .trouble(platform: random.below(platforms), isUseless: random.chance(0.3))
        default: .mend(platform: random.below(platforms), isReplaced: random.chance(0.5))
        }
    }

    private static func push(_ random: inout SplitMix64, applications: Int) -> PlannedPush {
        PlannedPush(
            application: random.below(applications), audience: audience(&random),
            lane: random.pick(Lane.allCases), guarantee: random.chance(0.3) ? .atMostOnce : .atLeastOnce,
            expiresIn: random.chance(0.3) ? random.duration(0...300) : nil)
    }

    private static func schedule(_ random: inout SplitMix64, applications: Int) -> PlannedSchedule {
        PlannedSchedule(
            application: random.below(applications), target: target(&random),
            guarantee: random.chance(0.3) ? .atMostOnce : .atLeastOnce,
            dueIn: random.duration(0...random.pick([0.5, 10, 300])),
            expiresIn: random.chance(0.3) ? random.duration(0...400) : nil)
    }

    static func target(_ random: inout SplitMix64) -> Target {
        let topics = random.chance(0.4) ? [random.pick(topics)] : []
        let users = random.chance(0.2) ? [random.pick(users)] : []
        let kinds: [PlatformKind]? = random.chance(0.2) ? [random.pick([.ios, .androidFCM])] : nil
        do {
            return try Target(
                topics: topics, customUserIDs: users, platforms: kinds, isInteractiveOnly: random.chance(0.1))
        } catch {
            preconditionFailure("the world's topics and users are names: \(error)")
        }
    }

    private static func audience(_ random: inout SplitMix64) -> Audience {
        switch random.fraction() {
        case ..<0.5: .list(.active)
        case ..<0.6: .list(.registered)
        case ..<0.7: .list(.interactive)
        case ..<0.8: .list(.topic(random.pick(topics)))
        case ..<0.9: .any([.list(.customUser(random.pick(users))), .list(.topic(random.pick(topics)))])
        default: .except(.list(.registered), .list(.topic(random.pick(topics))))
        }
    }
}
