package import BelfryCore
import FoundationEssentials
import PostgreSQL

extension PostgresStore {
    /// All subscriptions are judged before the first is written, and both is done in steps, none of which holds many devices. A
    /// device that becomes another meanwhile takes what it still can.
    package func subscribe(
        _ subscriptions: [Subscription], of application: Key<Application>
    ) async throws -> [Subscription.Refusal?] {
        let plan = try await plan(subscriptions, of: application)
        guard !plan.isRefused else { return plan.refusals }
        try await makeTopics(plan.topics, of: application)
        for step in plan.steps {
            try await write { session in
                var postings = PostingChanges()
                for gain in step { try session.add(gain, in: application, &postings) }
                try postings.write(in: session)
            }
        }
        return plan.refusals
    }

    private func plan(
        _ subscriptions: [Subscription], of application: Key<Application>
    ) async throws -> SubscriptionPlan {
        let platforms = try await platforms(of: application)
        let now = clock.now
        let wanted = subscriptions.map { subscription in
            SubscriberCandidate.candidates(subscription.device, on: platforms, naming: secrets.naming)
        }
        let found = try await wanted.inSteps(of: SubscriptionPlan.perWrite) { step, _ in
            try await glance { [secrets] db in
                try step.map { candidates in try candidates.compactMap { try db.find($0, secrets, at: now) } }
            }
        }
        var plan = SubscriptionPlan()
        for (subscription, found) in zip(subscriptions, found) { plan.add(subscription, for: found) }
        return plan
    }

    /// Makes those that are not there, unless they are too many.
    private func makeTopics(_ names: Set<String>, of application: Key<Application>) async throws {
        let wanted = Set(names.map { TopicName(application: application, name: $0) })
        let missing = try await write { session in try wanted.subtracting(session.living(wanted)) }
        try SubscriptionPlan.checkNewTopics(missing.count)
        let new = missing.sorted()
        _ = try await new.inSteps(of: NewTopic.perWrite) { step, isFirst in
            try await write { session in
                try session.checkTopics(Set((isFirst ? new : step).map(\.name)), of: application)
                return try session.intern(Set(step)).map(\.value.key)
            }
        }
    }
}

extension Connection {
    fileprivate func find(
        _ candidate: SubscriberCandidate, _ secrets: Secrets, at now: Instant
    ) throws -> SubscriptionPlan.Found? {
        guard let row = try row(candidate, secrets) else { return nil }
        return SubscriptionPlan.Found(
            device: row.key, platform: row.platform, topics: Set(try topicNames(row.topics, at: now)))
    }

    private func row(_ candidate: SubscriberCandidate, _ secrets: Secrets) throws -> DeviceRow? {
        switch candidate {
        case .device(let device, let platform):
            return try prepared(DeviceStatements.byKey).first(device, platform, as: DeviceRow.init)
        case .token(let token, let platform):
            let holder = try prepared(DeviceStatements.byToken).first(
                PostgresArray([platform]), PostgresArray([secrets.hash(token)])
            ) { Key<Device>($0.integer(0)) }
            let row = try holder.flatMap {
                try prepared(DeviceStatements.byKey).first($0, platform, as: DeviceRow.init)
            }
            return row?.token == token ? row : nil
        }
    }
}

extension WriteSession {
    /// Does nothing for a device that is gone, or has got so many topics meanwhile that it would have too many.
    fileprivate func add(
        _ gain: SubscriptionPlan.Gain, in application: Key<Application>, _ postings: inout PostingChanges
    ) throws {
        let held = try prepared(DeviceStatements.hold).first(PostgresArray([gain.device]), as: DeviceRow.init)
        guard let old = held, old.platform == gain.platform else { return }
        let wanted = Set(gain.topics.map { TopicName(application: application, name: $0) })
        let gained = try intern(wanted).values.map(\.key.rawValue)
        var row = old
        row.topics = Set(try livingTopics(Set(old.topics)).keys).union(gained).sorted()
        guard row.topics.count <= Registration.topicsMax, row.topics != old.topics else { return }
        try prepared(SubscriberStatements.setTopics).send(TopicList.encode(row.topics), row.key)
        postings.move(row.key, on: row.platform, from: old.postings, to: row.postings)
    }
}

enum SubscriberStatements {
    static let setTopics = """
        UPDATE device /* subscriber.set_topics */ SET topics = $1 WHERE id = $2
        """
}
