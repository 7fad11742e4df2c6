import FoundationEssentials
import PostgreSQL

extension PostgresStore {
    func find(
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
    func add(_ gains: [SubscriptionPlan.Addition], in application: Key<Application>) throws {
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
        guard row.topics.count <= Registration.topicsMax, row.topics != old.topics else { return }
        try prepared(SubscriberStatements.setTopics).send(TopicList.encode(row.topics), row.key)
        postings.move(row.key, on: row.platform, from: old.postings, to: row.postings)
    }
}
