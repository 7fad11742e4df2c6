package import BelfryService

extension WrappedStore {
    package func topics(_ query: TopicQuery, skip: Int, limit: Int) async throws -> ListPage<Topic> {
        try await base.topics(query, skip: skip, limit: limit)
    }
    package func topics(of application: Key<Application>, after name: String?, limit: Int) async throws -> [Topic] {
        try await base.topics(of: application, after: name, limit: limit)
    }
    package func topic(named name: String, of application: Key<Application>) async throws -> Topic? {
        try await base.topic(named: name, of: application)
    }
    package func create(_ topics: [NewTopic], of application: Key<Application>) async throws -> [NewTopic
        .CreationResult]
    {
        try await base.create(topics, of: application)
    }
    package func change(
        _ topic: Key<Topic>, of application: Key<Application>, expiresAt: Instant?
    ) async throws -> Topic? {
        try await base.change(topic, of: application, expiresAt: expiresAt)
    }
    package func deleteTopics(_ keys: [Key<Topic>], of application: Key<Application>) async throws -> Int {
        try await base.deleteTopics(keys, of: application)
    }
    package func subscribe(
        _ subscriptions: [Subscription], of application: Key<Application>
    ) async throws -> [Subscription.Refusal?] {
        try await base.subscribe(subscriptions, of: application)
    }

    package func devicePage(
        _ search: DeviceSearch, after: Key<Device>?, limit: Int, within time: Duration
    ) async throws -> DevicePage {
        try await base.devicePage(search, after: after, limit: limit, within: time)
    }
    package func devices(_ search: DeviceSearch, skip: Int, limit: Int) async throws -> ListPage<Device> {
        try await base.devices(search, skip: skip, limit: limit)
    }
    package func devices(_ search: DeviceSearch, after: Key<Device>?, limit: Int) async throws -> [Device] {
        try await base.devices(search, after: after, limit: limit)
    }
    package func deviceCount(_ search: DeviceSearch) async throws -> Int { try await base.deviceCount(search) }
    package func customUserIDs(
        on platforms: [Key<Platform>], beginning prefix: IDPrefix, after id: String?, limit: Int
    ) async throws -> [String] {
        try await base.customUserIDs(on: platforms, beginning: prefix, after: id, limit: limit)
    }
    package func customUserIDs(
        on platforms: [Key<Platform>], containing text: String?, after id: String?, limit: Int
    ) async throws -> [String] {
        try await base.customUserIDs(on: platforms, containing: text, after: id, limit: limit)
    }
}
