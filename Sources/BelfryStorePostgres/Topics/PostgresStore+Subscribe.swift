package import BelfryCore
import FoundationEssentials
import PostgreSQL

extension PostgresStore {
    package func subscribe(
        _ subscriptions: [Subscription], of application: Key<Application>
    ) async throws -> [Subscription.Refusal?] {
        let platforms = try await platforms(of: application)
        let kinds = Set(platforms.map(\.kind))
        let drafts = subscriptions.map { SubscriptionDraft($0, kinds: kinds, secrets: secrets) }
        return try await write { session in
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
        case token([PlatformKind: (token: DeviceToken, hash: UUID)])
    }

    let device: Name
    let topics: Set<String>

    init(_ subscription: Subscription, kinds: Set<PlatformKind>, secrets: Secrets) {
        topics = subscription.topics
        switch subscription.device {
        case .uuid(let uuid): device = .device(secrets.naming.device(of: uuid))
        case .token(let text):
            var tokens: [PlatformKind: (token: DeviceToken, hash: UUID)] = [:]
            for kind in kinds {
                guard let token = try? DeviceToken(text, for: kind) else { continue }
                tokens[kind] = (token, secrets.hash(token))
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
        /// Those it has, and those it gets.
        var topics: Set<String>
    }

    init(session: WriteSession, application: Key<Application>, platforms: [Platform]) {
        self.session = session
        self.application = application
        self.platforms = platforms
        now = session.now
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
        var postings = PostingChanges()
        for draft in drafts.values.sorted(by: { $0.row.key < $1.row.key }) {
            var row = draft.row
            let wanted = Set(draft.topics.map { TopicName(application: application, name: $0) })
            row.topics = try session.intern(wanted).values.map(\.key.rawValue).sorted()
            try session.prepared(SubscriberStatements.setTopics).send(TopicList.encode(row.topics), row.key)
            postings.move(row.key, on: row.platform, from: draft.row.postings, to: row.postings)
        }
        try postings.write(in: session)
    }

    private func find(_ name: SubscriptionDraft.Name) throws -> [Draft] {
        try platforms.compactMap { platform in
            guard let row = try find(name, on: platform) else { return nil }
            return Draft(
                row: row, topics: Set(try session.db.topicNames(row.topics, at: now)))
        }
    }

    private func find(_ name: SubscriptionDraft.Name, on platform: Platform) throws -> DeviceRow? {
        switch name {
        case .device(let device): return try device.flatMap { try hold($0, on: platform) }
        case .token(let tokens):
            guard let (token, hash) = tokens[platform.kind] else { return nil }
            let holder = try session.prepared(DeviceStatements.byToken).first(
                PostgresArray([platform.key]), PostgresArray([hash])
            ) { Key<Device>($0.integer(0)) }
            guard let row = try holder.flatMap({ try hold($0, on: platform) }), row.token == token else { return nil }
            return row
        }
    }

    private func hold(_ device: Key<Device>, on platform: Platform) throws -> DeviceRow? {
        let row = try session.prepared(DeviceStatements.hold).first(PostgresArray([device]), as: DeviceRow.init)
        return row?.platform == platform.key ? row : nil
    }
}

enum SubscriberStatements {
    static let setTopics = """
        UPDATE device /* subscriber.set_topics */ SET topics = $1 WHERE id = $2
        """
}
