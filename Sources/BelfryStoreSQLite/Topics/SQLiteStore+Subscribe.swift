package import BelfryCore
import FoundationEssentials
import GRDB

extension SQLiteStore {
    /// All subscriptions are judged before the first is written, and both is done in steps, between which others write. A
    /// device that becomes another meanwhile takes what it still can.
    package func subscribe(
        _ subscriptions: [Subscription], of application: Key<Application>
    ) async throws -> [Subscription.Refusal?] {
        let plan = try await plan(subscriptions, of: application)
        guard !plan.isRefused else { return plan.refusals }
        try await makeTopics(plan.topics, of: application)
        for step in plan.steps {
            try await writer.write { session in
                for gain in step { try session.add(gain, in: application) }
            }
        }
        return plan.refusals
    }

    private func plan(
        _ subscriptions: [Subscription], of application: Key<Application>
    ) async throws -> SubscriptionPlan {
        let platforms = try await platforms(of: application)
        let wanted = subscriptions.map { subscription in
            SubscriberCandidate.candidates(subscription.device, on: platforms, naming: secrets.naming)
        }
        let found = try await wanted.inSteps(of: SubscriptionPlan.perWrite) { step, _ in
            try await writer.write { session in
                try step.map { candidates in try candidates.compactMap { try session.find($0, in: application) } }
            }
        }
        var plan = SubscriptionPlan()
        for (subscription, found) in zip(subscriptions, found) { plan.add(subscription, for: found) }
        return plan
    }

    /// Makes those that are not there, unless they are too many.
    private func makeTopics(_ names: Set<String>, of application: Key<Application>) async throws {
        let now = clock.now
        let missing = try await read { db in
            let byName = try db.prepared(TopicStatements.byName)
            return try names.filter { name in
                try byName.first(application, name, as: Topic.init).map { !$0.isLiving(at: now) } ?? true
            }
        }
        try SubscriptionPlan.checkNewTopics(missing.count)
        let new = missing.sorted()
        _ = try await new.inSteps(of: NewTopic.perWrite) { step, isFirst in
            try await writer.write { session in
                try session.checkTopics(isFirst ? new : step, of: application)
                return try session.intern(step, in: application, at: session.clock.now)
            }
        }
    }
}

extension WriteSession {
    fileprivate func find(
        _ candidate: SubscriberCandidate, in application: Key<Application>
    ) throws -> SubscriptionPlan.Found? {
        let row: DeviceRow?
        let platform: Key<Platform>
        switch candidate {
        case .device(let device, let its):
            (row, platform) = (try self.device(device, on: its), its)
        case .token(let token, let its):
            let hash = secrets.hash(ofToken: token.bytes)
            (row, platform) = (try TokenIndex(session: self).holder(of: token, hash, on: its), its)
        }
        guard let row else { return nil }
        let now = clock.now
        let names = try row.topics.compactMap { try topics.name(of: $0, in: application, at: now, db) }
        return SubscriptionPlan.Found(device: row.key, platform: platform, topics: Set(names))
    }

    /// Does nothing for a device that is gone, or has got so many topics meanwhile that it would have too many.
    fileprivate func add(_ gain: SubscriptionPlan.Gain, in application: Key<Application>) throws {
        guard let old = try device(gain.device, on: gain.platform) else { return }
        let ids = try intern(gain.topics.sorted(), in: application, at: clock.now)
        var row = old
        row.topics = Set(old.topics).union(ids).sorted()
        // Ids of topics that are gone go with the next change of the device.
        guard row.topics != old.topics else { return }
        if row.topics.count > Registration.topicsMax {
            let now = clock.now
            row.topics = try row.topics.filter { try topics.name(of: $0, in: application, at: now, db) != nil }
            guard row.topics.count <= Registration.topicsMax else { return }
        }
        try prepared(SubscriberStatements.setTopics).run(TopicList.encode(row.topics), row.key)
        try movePostings(of: row.key, on: gain.platform, from: old.postings, to: row.postings)
    }
}

enum SubscriberStatements {
    static let setTopics = """
        UPDATE device /* subscriber.set_topics */ SET topics = ?1 WHERE id = ?2
        """
}
