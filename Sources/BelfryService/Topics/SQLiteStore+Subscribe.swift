import FoundationEssentials
import GRDB

extension SQLiteStore {
    func find(
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
        return SubscriptionPlan.Match(device: row.key, platform: platform, topics: Set(names))
    }

    func add(_ gains: [SubscriptionPlan.Addition], in application: Key<Application>) throws {
        for gain in gains { try add(gain, in: application) }
    }

    private func add(_ gain: SubscriptionPlan.Addition, in application: Key<Application>) throws {
        guard let old = try device(gain.device, on: gain.platform) else { return }
        let ids = try intern(gain.topics.sorted(), in: application, at: now)
        var row = old
        row.topics = Set(old.topics).union(ids).sorted()
        // Ids of deleted topics are removed with the next change of the device.
        guard row.topics != old.topics else { return }
        if row.topics.count > Registration.topicsMax {
            let now = now
            row.topics = try row.topics.filter { try topics.name(of: $0, in: application, at: now, db) != nil }
            guard row.topics.count <= Registration.topicsMax else { return }
        }
        try prepared(SubscriberStatements.setTopics).run(TopicList.encode(row.topics), row.key)
        try movePostings(of: row.key, on: gain.platform, from: old.postings, to: row.postings)
    }
}
