package import FoundationEssentials

/// Plans topic subscriptions: validates all of them first, then yields the writes in steps.
///
/// Engines look up devices and write them; their results are combined here.
package struct SubscriptionPlan: Sendable {
    /// A device that the database found.
    package struct Match: Sendable {
        package let device: Key<Device>
        package let platform: Key<Platform>
        package let topics: Set<String>
    }

    /// The topics that one device gets.
    package struct Addition: Sendable {
        package let device: Key<Device>
        package let platform: Key<Platform>
        package let topics: Set<String>
    }

    private struct Draft {
        let platform: Key<Platform>
        let before: Set<String>
        var gained: Set<String>
    }

    private var drafts: [Key<Device>: Draft] = [:]
    package private(set) var refusals: [Subscription.Refusal?] = []

    /// The most subscriptions that are looked up, and devices that are written, in one step.
    package static let perWrite = 64
    /// The most topics that the devices of one step get, unless one alone gets more.
    private static let topicsPerWrite = 512

    package init() {}

    /// - Parameter found: the devices that the subscription names.
    package mutating func add(_ subscription: Subscription, for found: [Match]) {
        refusals.append(refusal(of: subscription, for: found))
    }

    private mutating func refusal(of subscription: Subscription, for found: [Match]) -> Subscription.Refusal? {
        guard !found.isEmpty else { return .unknownDevice }
        for each in found {
            var draft = drafts[each.device] ?? Draft(platform: each.platform, before: each.topics, gained: [])
            draft.gained.formUnion(subscription.topics.subtracting(draft.before))
            let count = draft.before.count + draft.gained.count
            guard count <= Registration.topicsMax else { return .tooManyTopics(count) }
            drafts[each.device] = draft
        }
        return nil
    }

    package var isRefused: Bool { refusals.contains { $0 != nil } }

    /// The names of all topics to add.
    package var topics: Set<String> { drafts.values.reduce(into: []) { $0.formUnion($1.gained) } }

    /// The writes, step by step, in the order of the devices.
    package var steps: [[Addition]] {
        var steps: [[Addition]] = []
        var topics = 0
        for (device, draft) in drafts.sorted(by: { $0.key < $1.key }) where !draft.gained.isEmpty {
            let gain = Addition(device: device, platform: draft.platform, topics: draft.gained)
            let isFull =
                steps.last.map {
                    $0.count >= Self.perWrite || topics + gain.topics.count > Self.topicsPerWrite
                } ?? true
            topics = (isFull ? 0 : topics) + gain.topics.count
            if isFull { steps.append([gain]) } else { steps[steps.count - 1].append(gain) }
        }
        return steps
    }

    /// Throws when one request would create too many topics.
    ///
    /// - Parameter count: the number of topics that do not exist yet.
    package static func checkNewTopics(_ count: Int) throws(InvalidInput) {
        guard count <= NewTopic.batchMax else {
            throw InvalidInput(
                field: "tags",
                "would make \(count) new topics, the limit for one request is \(NewTopic.batchMax); make them beforehand"
            )
        }
    }
}

/// A device that a name may stand for on one platform, as far as that is known without the database.
package enum SubscriberCandidate: Sendable {
    case device(Key<Device>, Key<Platform>)
    case token(DeviceToken, Key<Platform>)
    /// A device that another server gave this UUID.
    case imported(UUID, Key<Platform>)

    /// The candidates for a back end's name on the platforms of its application.
    package static func candidates(
        _ name: Subscription.Name, on platforms: [Platform], naming: DeviceNaming
    ) -> [SubscriberCandidate] {
        switch name {
        case .uuid(let uuid):
            guard let device = naming.device(of: uuid) else {
                return platforms.filter(\.hasImports).map { .imported(uuid, $0.key) }
            }
            return platforms.map { .device(device, $0.key) }
        case .token(let text):
            return platforms.compactMap { platform in
                (try? DeviceToken(text, for: platform.kind)).map { .token($0, platform.key) }
            }
        }
    }
}

/// Topics that a back end adds to one device of its application.
package struct Subscription: Sendable, Hashable {
    package let device: Name
    /// The normalized names.
    package let topics: Set<String>

    /// A name that a back end knows a device by.
    package enum Name: Sendable, Hashable {
        case uuid(UUID)
        /// As the app registered it. It may name a device on several platforms of the application.
        case token(String)
    }

    /// The reason why topics were not added.
    package enum Refusal: Sendable, Hashable {
        case unknownDevice
        /// The device would have this many, which is over `Registration.topicsMax`.
        case tooManyTopics(Int)
    }
}
