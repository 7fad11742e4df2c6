import FoundationEssentials
import GRDB
import PostgreSQL

extension PostgresStore {
    package func find(
        _ candidates: [[SubscriberCandidate]], of application: Key<Application>
    ) async throws -> [[SubscriptionPlan.Match]] {
        let now = clock.now
        return try await readCommitted { [secrets] db in
            try candidates.map { try $0.compactMap { try db.find($0, secrets, at: now) } }
        }
    }
}

extension Connection {
    fileprivate func find(
        _ candidate: SubscriberCandidate, _ secrets: Secrets, at now: Instant
    ) throws -> SubscriptionPlan.Match? {
        guard let row = try row(candidate, secrets) else { return nil }
        return SubscriptionPlan.Match(
            device: row.key, platform: row.platform, topics: Set(try topicNames(row.topics, at: now)))
    }

    private func row(_ candidate: SubscriberCandidate, _ secrets: Secrets) throws -> DeviceRow? {
        switch candidate {
        case .device(let device, let platform):
            return try prepared(DeviceStatements.byKey).first(device, platform, as: DeviceRow.init)
        case .imported(let uuid, let platform):
            let key = try device(importedAs: uuid, on: [platform])
            return try key.flatMap { try row(.device($0, platform), secrets) }
        case .token(let token, let platform):
            let holder = try prepared(PostgresDeviceStatements.byToken).first(
                PostgresArray([platform]), PostgresArray([secrets.hash(token)])
            ) { Key<Device>($0.integer(0)) }
            let row = try holder.flatMap {
                try prepared(DeviceStatements.byKey).first($0, platform, as: DeviceRow.init)
            }
            return row?.token?.identity == token.identity ? row : nil
        }
    }
}

extension PostgresWriteSession {
    package func add(_ gains: [SubscriptionPlan.Addition], in application: Key<Application>) throws {
        var postings = PostingChanges()
        for gain in gains { try add(gain, in: application, &postings) }
        try postings.write(in: self)
    }

    private func add(
        _ gain: SubscriptionPlan.Addition, in application: Key<Application>, _ postings: inout PostingChanges
    ) throws {
        let held = try prepared(PostgresDeviceStatements.hold).first(PostgresArray([gain.device]), as: DeviceRow.init)
        guard let old = held, old.platform == gain.platform else { return }
        let wanted = Set(gain.topics.map { TopicName(application: application, name: $0) })
        let gained = try intern(wanted).values.map(\.key.rawValue)
        var row = old
        row.topics = Set(try livingTopics(Set(old.topics)).keys).union(gained).sorted()
        guard row.topics.count <= Registration.topicIDsMax, row.topics != old.topics else { return }
        try prepared(SubscriberStatements.setTopics).send(TopicList.encode(row.topics), row.key)
        postings.move(row.key, on: row.platform, from: old.postings, to: row.postings)
    }
}

extension Store {
    /// Validates all subscriptions before it writes the first, both in steps, between which other writes run. A device that changes
    /// meanwhile takes those that it still can.
    package func subscribe(
        _ subscriptions: [Subscription], of application: Key<Application>
    ) async throws -> [Subscription.Refusal?] {
        let plan = try await plan(subscriptions, of: application)
        guard !plan.isRefused else { return plan.refusals }
        try await makeTopics(plan.topics, of: application)
        for step in plan.steps {
            try await write { try $0.add(step, in: application) }
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
            try await find(step, of: application)
        }
        var plan = SubscriptionPlan()
        for (subscription, found) in zip(subscriptions, found) { plan.add(subscription, for: found) }
        return plan
    }

    /// Creates those that do not exist, unless they are too many.
    private func makeTopics(_ names: Set<String>, of application: Key<Application>) async throws {
        let now = clock.now
        let missing = try await readCommitted {
            try names.subtracting($0.livingTopics(names, of: application, at: now))
        }
        try SubscriptionPlan.checkNewTopics(missing.count)
        let new = missing.sorted()
        _ = try await new.inSteps(of: NewTopic.perWrite) { step, isFirst in
            try await write { session in
                try session.checkTopics(Set(isFirst ? new : step), of: application)
                return try step.map { try session.intern($0, expiresAt: nil, in: application).topic.key }
            }
        }
    }
}

enum SubscriberStatements {
    static let setTopics: SQLText = "UPDATE device /* subscriber.set_topics */ SET topics = $1 WHERE id = $2"
}

extension SQLiteStore {
    package func find(
        _ candidates: [[SubscriberCandidate]], of application: Key<Application>
    ) async throws -> [[SubscriptionPlan.Match]] {
        try await write { session in
            try candidates.map { try $0.compactMap { try session.find($0, in: application) } }
        }
    }
}

extension Database {
    func livingTopics(
        _ names: Set<String>, of application: Key<Application>, at now: Instant
    ) throws -> Set<String> {
        let byName = try prepared(TopicStatements.byName)
        return try names.filter { try byName.first(application, $0, as: Topic.init)?.living(at: now) != nil }
    }
}

extension SQLiteWriteSession {
    fileprivate func find(
        _ candidate: SubscriberCandidate, in application: Key<Application>
    ) throws -> SubscriptionPlan.Match? {
        let row: DeviceRow?
        let platform: Key<Platform>
        switch candidate {
        case .device(let device, let its):
            (row, platform) = (try self.device(device, on: its), its)
        case .imported(let uuid, let its):
            let key = try db.device(importedAs: uuid, on: [its])
            (row, platform) = (try key.flatMap { try self.device($0, on: its) }, its)
        case .token(let token, let its):
            let hash = secrets.hash(of: token)
            (row, platform) = (try TokenIndex(session: self).holder(of: token, hash, on: its), its)
        }
        guard let row else { return nil }
        let now = now
        let names = try row.topics.compactMap { try topics.name(of: $0, in: application, at: now, db) }
            .filter { !DeviceLabel.isLabel($0) }
        return SubscriptionPlan.Match(device: row.key, platform: platform, topics: Set(names))
    }

    package func add(_ gains: [SubscriptionPlan.Addition], in application: Key<Application>) throws {
        for gain in gains { try add(gain, in: application) }
    }

    private func add(_ gain: SubscriptionPlan.Addition, in application: Key<Application>) throws {
        guard let old = try device(gain.device, on: gain.platform) else { return }
        let ids = try intern(gain.topics.sorted(), in: application, at: now)
        var row = old
        row.topics = Set(old.topics).union(ids).sorted()
        // Ids of deleted topics are removed with the next change of the device.
        guard row.topics != old.topics else { return }
        if row.topics.count > Registration.topicIDsMax {
            let now = now
            row.topics = try row.topics.filter { try topics.name(of: $0, in: application, at: now, db) != nil }
            guard row.topics.count <= Registration.topicIDsMax else { return }
        }
        try prepared(SubscriberStatements.setTopics).run(TopicList.encode(row.topics), row.key)
        try movePostings(of: row.key, on: gain.platform, from: old.postings, to: row.postings)
    }
}
