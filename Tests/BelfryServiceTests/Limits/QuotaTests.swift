import Testing

@testable import BelfryService

@Suite struct QuotaTests {
    private func excess(_ quota: Quota, limit: Int, use: Int, adding count: Int = 1) -> String? {
        do throws(StoreError) {
            try Quotas([quota: limit]).check(quota, use: use, adding: count)
            return nil
        } catch {
            return error.description
        }
    }

    @Test(arguments: [
        (9, 1, true), (10, 1, false), (8, 2, true), (9, 2, false), (10, 0, true), (11, 0, true), (11, -1, true),
    ])
    func `a quota may be used up, and not exceeded`(use: Int, count: Int, isAllowed: Bool) {
        #expect((excess(.topics, limit: 10, use: use, adding: count) == nil) == isAllowed)
    }

    @Test func `an overflowing number counts as too many`() {
        #expect(excess(.content, limit: .max, use: .max, adding: 1) != nil)
        #expect(excess(.content, limit: .max, use: 1, adding: .max) != nil)
    }

    @Test func `zero is no limit`() {
        #expect(excess(.devices, limit: 0, use: .max - 1) == nil)
        #expect(Quotas([.devices: 0])[.devices] == nil)
    }

    @Test(arguments: [
        (
            Quota.topics,
            "This application has 100,000 topics and values of device attributes, which is its quota (quota.topics)"
        ),
        (
            .userDevices,
            "This custom user id has 100,000 devices on this platform, which is its quota (quota.user.devices)"
        ),
        (.locationGroups, "This application has 100,000 location groups, which is its quota (quota.location.groups)"),
        (.schedules, "This application has 100,000 waiting schedules, which is its quota (quota.schedules)"),
        (
            .idempotencyKeys,
            "This caller has 100,000 Idempotency-Keys of the last 24 hours, which is its quota (quota.idempotency.keys)"
        ),
    ])
    func `a refusal names the quota, its limit and its setting`(quota: Quota, words: String) {
        #expect(excess(quota, limit: 100_000, use: 100_000) == words)
    }

    @Test func `a refusal of many says how many there would be`() {
        #expect(
            excess(.topics, limit: 1_000, use: 998, adding: 12)
                == "This application has 998 topics and values of device attributes, this would add 12, "
                + "and its quota is 1,000 (quota.topics)")
        #expect(
            excess(.content, limit: 2_048 << 20, use: 2_047 << 20, adding: 2 << 20)
                == "This application stores 2,047 MiB of content, its quota is 2,048 MiB (quota.content.mib)")
    }

    @Test(arguments: Quota.allCases)
    func `every quota has a limit unless it is lifted`(quota: Quota) {
        #expect(Quotas.standard[quota] ?? 0 > 0)
        #expect(quota.setting.hasPrefix("quota."))
    }
}

@Suite struct QuotaCountsTests {
    private static let topics = QuotaAccount(.topics, of: Key<Application>(7))

    private func changes(_ count: Int) -> QuotaChanges {
        var changes = QuotaChanges()
        changes.add(count, to: Self.topics)
        return changes
    }

    @Test func `a counted quota follows commits`() {
        let counts = QuotaCounts(.standard)
        counts.apply(changes(5))
        #expect(counts.use(Self.topics) == nil)
        counts.learn(10, of: Self.topics)
        counts.apply(changes(5))
        counts.apply(changes(-3))
        #expect(counts.use(Self.topics) == 12)
        counts.apply(changes(-99))
        counts.apply(changes(90))
        #expect(counts.use(Self.topics) == 3, "a removal may be applied before what it removes")
        counts.forgetAll()
        #expect(counts.use(Self.topics) == nil)
    }

    @Test func `a count changed meanwhile is discarded`() {
        let counts = QuotaCounts(.standard)
        let disturbances: [(QuotaCounts) -> Void] = [
            { $0.apply(self.changes(1)) }, { $0.forget(Self.topics) }, { $0.forgetAll() },
        ]
        for disturb in disturbances {
            counts.beginCounting(Self.topics)
            disturb(counts)
            counts.endCounting(Self.topics, 10)
            #expect(counts.use(Self.topics) == nil)
        }
        counts.beginCounting(Self.topics)
        var others = QuotaChanges()
        others.add(1, to: QuotaAccount(.topics, of: Key<Application>(8)))
        counts.apply(others)
        counts.endCounting(Self.topics, 10)
        #expect(counts.use(Self.topics) == 10)
    }

    @Test func `a count taken during a commit is discarded`() {
        let counts = QuotaCounts(.standard)
        counts.learn(4, of: Self.topics)
        counts.beginCommit(changes(1))
        counts.beginCounting(Self.topics)
        counts.endCounting(Self.topics, 5)
        counts.apply(changes(1))
        #expect(counts.use(Self.topics) == 5, "not 6")
        counts.beginCommit(changes(1))
        counts.abandon(changes(1))
        counts.beginCounting(Self.topics)
        counts.beginCommit(changes(1))
        counts.endCounting(Self.topics, 7)
        counts.apply(changes(1))
        #expect(counts.use(Self.topics) == 6)
        let later = ContinuousClock.now + QuotaCounts.age * 2 + .seconds(1)
        #expect(counts.isOverdue(Self.topics, at: later) && !counts.isOverdue(Self.topics))
    }

    @Test func `a count near its limit is renewed sooner`() {
        let counts = QuotaCounts(Quotas([.topics: 10]))
        counts.learn(4, of: Self.topics)
        let first = ContinuousClock.now
        #expect(counts.stale(at: first + QuotaCounts.ageNearLimit + .seconds(1)).isEmpty)
        #expect(counts.stale(at: first + QuotaCounts.age + .seconds(1)) == [Self.topics])
        counts.learn(5, of: Self.topics)
        let second = ContinuousClock.now
        #expect(counts.stale(at: second + QuotaCounts.ageNearLimit + .seconds(1)) == [Self.topics])
    }
}

@Suite struct SubscriptionPlanTests {
    private func plan(devices: Int, topicsEach: Int) -> SubscriptionPlan {
        var plan = SubscriptionPlan()
        for device in 1...devices {
            plan.add(
                Subscription(device: .token("\(device)"), topics: Set((0..<topicsEach).map { "t\(device)-\($0)" })),
                for: [.init(device: Key(Int64(device)), platform: Key(1), topics: [])])
        }
        return plan
    }

    @Test(arguments: [(1_024, 1, 16), (1_024, 32, 64), (10, 1_024, 10), (3, 200, 2)])
    func `a long plan is many short steps`(devices: Int, topicsEach: Int, count: Int) {
        let steps = plan(devices: devices, topicsEach: topicsEach).steps
        #expect(steps.count == count)
        #expect(steps.allSatisfy { $0.count <= SubscriptionPlan.perWrite })
        #expect(steps.allSatisfy { $0.count == 1 || $0.map(\.topics.count).reduce(0, +) <= 512 })
        #expect(steps.joined().map(\.device.rawValue) == (1...Int64(devices)).map(\.self))
    }

    @Test func `a value the device already has costs no step`() {
        var plan = SubscriptionPlan()
        plan.add(
            Subscription(device: .token("a"), topics: ["t"]),
            for: [.init(device: Key(1), platform: Key(1), topics: ["t"])])
        #expect(plan.steps.isEmpty && plan.topics.isEmpty && !plan.isRefused)
    }
}
