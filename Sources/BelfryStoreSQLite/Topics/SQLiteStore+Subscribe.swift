package import BelfryCore
import FoundationEssentials
import GRDB

extension SQLiteStore {
    package func subscribe(
        _ subscriptions: [Subscription], of application: Key<Application>
    ) async throws -> [Subscription.Refusal?] {
        let platforms = try await platforms(of: application)
        let kinds = Set(platforms.map(\.kind))
        let drafts = subscriptions.map { SubscriptionDraft($0, kinds: kinds, secrets: secrets) }
        return try await writer.write { session in
            var plan = SubscriptionPlan(session: session, application: application, platforms: platforms)
            let refusals = try drafts.map { try plan.add($0) }
            if refusals.allSatisfy({ $0 == nil }) { try plan.carryOut() }
            return refusals
        }
    }
}

/// A subscription with its device's name resolved for each kind of platform: parsing a token takes no time inside the write.
private struct SubscriptionDraft: Sendable {
    enum Name {
        /// nil where the UUID is none of ours.
        case device(Key<Device>?)
        /// Without the kinds whose tokens never look like it.
        case token([PlatformKind: (token: DeviceToken, hash: Int64)])
    }

    let device: Name
    let topics: Set<String>

    init(_ subscription: Subscription, kinds: Set<PlatformKind>, secrets: Secrets) {
        topics = subscription.topics
        switch subscription.device {
        case .uuid(let uuid): device = .device(secrets.naming.device(of: uuid))
        case .token(let text):
            var tokens: [PlatformKind: (token: DeviceToken, hash: Int64)] = [:]
            for kind in kinds {
                guard let token = try? DeviceToken(text, for: kind) else { continue }
                tokens[kind] = (token, secrets.hash(ofToken: token.bytes))
            }
            device = .token(tokens)
        }
    }
}

/// Topics to be added to devices, within a write: first it is seen whether all can be, then it is done.
private struct SubscriptionPlan {
    private let session: WriteSession
    private let application: Key<Application>
    private let platforms: [Platform]
    private let now: Instant
    private var drafts: [Key<Device>: Draft] = [:]

    private struct Draft {
        let row: DeviceRow
        let platform: Key<Platform>
        /// Those it has, and those it gets.
        var topics: Set<String>
    }

    init(session: WriteSession, application: Key<Application>, platforms: [Platform]) {
        self.session = session
        self.application = application
        self.platforms = platforms
        now = session.clock.now
    }

    mutating func add(_ subscription: SubscriptionDraft) throws -> Subscription.Refusal? {
        let found = try find(subscription.device)
        guard !found.isEmpty else { return .unknownDevice }
        for draft in found {
            var draft = drafts[draft.row.key] ?? draft
            draft.topics.formUnion(subscription.topics)
            guard draft.topics.count <= Registration.topicsMax else { return .tooManyTopics(draft.topics.count) }
            drafts[draft.row.key] = draft
        }
        return nil
    }

    func carryOut() throws {
        for draft in drafts.values {
            var row = draft.row
            row.topics = try session.intern(Array(draft.topics), in: application, at: now).sorted()
            try session.prepared(SubscriberStatements.setTopics).run(TopicList.encode(row.topics), row.key)
            try session.movePostings(of: row.key, on: draft.platform, from: draft.row.postings, to: row.postings)
        }
    }

    private func find(_ name: SubscriptionDraft.Name) throws -> [Draft] {
        try platforms.compactMap { platform in
            guard let row = try find(name, on: platform) else { return nil }
            return Draft(
                row: row, platform: platform.key, topics: Set(try session.db.topicNames(row.topics, at: now)))
        }
    }

    private func find(_ name: SubscriptionDraft.Name, on platform: Platform) throws -> DeviceRow? {
        switch name {
        case .device(let device): return try device.flatMap { try session.device($0, on: platform.key) }
        case .token(let tokens):
            guard let (token, hash) = tokens[platform.kind] else { return nil }
            return try TokenIndex(session: session).holder(of: token, hash, on: platform.key)
        }
    }
}

enum SubscriberStatements {
    static let setTopics = """
        UPDATE device /* subscriber.set_topics */ SET topics = ?1 WHERE id = ?2
        """
}
