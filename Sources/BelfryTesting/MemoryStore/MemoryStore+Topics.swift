package import BelfryService

extension MemoryStore {
    package func topics(_ query: TopicQuery, skip: Int, limit: Int) async throws -> ListPage<Topic> {
        transaction { contents in
            let found = contents.topics(of: query.applicationKey).filter { topic in
                (query.text.map { topic.name.contains($0) } ?? true)
                    && (query.hasExpiry.map { $0 == (topic.expiresAt != nil) } ?? true)
            }
            return ListPage(Array(found.dropFirst(skip).prefix(limit)), total: found.count)
        }
    }

    package func topics(
        of application: Key<Application>, after name: String?, limit: Int
    ) async throws -> [Topic] {
        transaction { contents in
            let behind = contents.topics(of: application).filter { topic in name.map { $0.precedes(topic.name) } ?? true
            }
            return Array(behind.prefix(limit))
        }
    }

    package func topic(named name: String, of application: Key<Application>) async throws -> Topic? {
        transaction { contents in contents.topics(of: application).first { $0.name == name } }
    }

    package func create(_ topics: [NewTopic], of application: Key<Application>) async throws -> [NewTopic
        .CreationResult]
    {
        try transaction { contents in
            try contents.checkTopics(quotas, Set(topics.map(\.name)), of: application)
            return topics.map { contents.intern($0, of: application) }
        }
    }

    package func change(
        _ topic: Key<Topic>, of application: Key<Application>, expiresAt: Instant?
    ) async throws -> Topic? {
        transaction { contents in
            guard let old = contents.topics(of: application).first(where: { $0.key == topic }) else { return nil }
            let changed = Topic(key: topic, name: old.name, expiresAt: expiresAt)
            contents.topics[topic] = Contents.TopicRow(topic: changed, application: application)
            return changed
        }
    }

    package func deleteTopics(_ keys: [Key<Topic>], of application: Key<Application>) async throws -> Int {
        transaction { contents in
            let beingDeleted = Set(keys).filter { contents.topics[$0]?.application == application }
            for key in beingDeleted { contents.delete(key) }
            return beingDeleted.count
        }
    }

    package func subscribe(
        _ subscriptions: [Subscription], of application: Key<Application>
    ) async throws -> [Subscription.Refusal?] {
        try transaction { contents in
            var draft = contents
            let refusals = subscriptions.map { draft.subscribe($0, of: application) }
            guard refusals.allSatisfy({ $0 == nil }) else { return refusals }
            let new = draft.topics.count - contents.topics.count
            try SubscriptionPlan.checkNewTopics(new)
            try contents.check(quotas, .topics, of: application, adding: new)
            contents = draft
            return refusals
        }
    }
}

extension Contents {
    /// A topic and its application.
    package struct TopicRow: Sendable {
        package let topic: Topic
        package let application: Key<Application>
    }

    fileprivate func topics(of application: Key<Application>) -> [Topic] {
        topics.values.filter { $0.application == application }.map(\.topic).sorted { $0.name.precedes($1.name) }
    }

    mutating func intern(_ names: [String], on platform: Key<Platform>) {
        guard let application = platforms[platform]?.applicationKey else { return }
        for name in names { _ = intern(Topic(key: Key(0), name: name, expiresAt: nil), of: application) }
    }

    fileprivate mutating func intern(_ new: NewTopic, of application: Key<Application>) -> NewTopic.CreationResult {
        intern(Topic(key: Key(0), name: new.name, expiresAt: new.expiresAt), of: application)
    }

    private mutating func intern(_ new: Topic, of application: Key<Application>) -> NewTopic.CreationResult {
        if let row = topics.values.first(where: { $0.application == application && $0.topic.name == new.name }) {
            return .existed(row.topic)
        }
        let topic = Topic(key: nextKey(), name: new.name, expiresAt: new.expiresAt)
        topics[topic.key] = TopicRow(topic: topic, application: application)
        return .created(topic)
    }

    /// Expired topics are deleted before anything else happens.
    mutating func deleteExpiredTopics(at now: Instant) {
        for row in topics.values where row.topic.expiresAt.map({ $0 <= now }) ?? false { delete(row.topic.key) }
    }

    fileprivate mutating func delete(_ key: Key<Topic>) {
        guard let row = topics.removeValue(forKey: key) else { return }
        for device in devices.values
        where device.topics.contains(row.topic.name)
            && platforms[device.platformKey]?.applicationKey == row.application
        {
            devices[device.key] = device.with(topics: device.topics.filter { $0 != row.topic.name })
        }
    }

    fileprivate mutating func subscribe(
        _ subscription: Subscription, of application: Key<Application>
    ) -> Subscription.Refusal? {
        let found = devices.values.filter { device in
            guard let platform = platforms[device.platformKey], platform.applicationKey == application else {
                return false
            }
            return switch subscription.device {
            case .uuid(let uuid): self.device(uuid, on: device.platformKey)?.key == device.key
            case .token(let text): device.token.map { (try? DeviceToken(text, for: platform.kind)) == $0 } ?? false
            }
        }
        guard !found.isEmpty else { return .unknownDevice }
        for device in found {
            let topics = subscription.topics.union(device.topics).sorted()
            guard topics.count <= Registration.topicsMax else { return .tooManyTopics(topics.count) }
            intern(topics, on: device.platformKey)
            devices[device.key] = device.with(topics: topics)
        }
        return nil
    }
}

extension Device {
    fileprivate func with(topics: [String]) -> Device {
        Device(
            key: key, uuid: uuid, platformKey: platformKey, token: token, isActive: isActive, about: about,
            customUserID: customUserID, topics: topics, registeredAt: registeredAt, importMark: importMark,
            ownUUID: ownUUID)
    }
}

extension String {
    /// Compares texts by their bytes, as databases sort.
    func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}
