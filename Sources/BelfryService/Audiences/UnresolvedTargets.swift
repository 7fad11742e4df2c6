package import FoundationEssentials

/// The names in a push's target that no device has.
package struct UnresolvedTargets: Sendable, Hashable {
    package var devices: UnknownDevices
    package var topics: [String]
    package var customUserIDs: [String]

    /// The most topics and users that are looked up for a receipt.
    package static let lookedUpMax = 64

    package init(devices: UnknownDevices = UnknownDevices(), topics: [String] = [], customUserIDs: [String] = []) {
        self.devices = devices
        self.topics = topics
        self.customUserIDs = customUserIDs
    }

    package var isEmpty: Bool { devices.count == 0 && topics.isEmpty && customUserIDs.isEmpty }
}

/// UUIDs of a target that no device had when the push was accepted.
package struct UnknownDevices: Sendable, Hashable {
    package let count: Int
    /// The first of them.
    package let uuids: [UUID]

    package static let namedMax = 20

    package init(count: Int = 0, uuids: [UUID] = []) {
        self.count = count
        self.uuids = uuids
    }

    package init(_ unknown: [UUID]) { self.init(count: unknown.count, uuids: Array(unknown.prefix(Self.namedMax))) }

    /// Decodes the stored form: the UUIDs, separated by commas.
    package init(count: Int, stored text: String) {
        self.init(count: count, uuids: text.split(separator: ",").compactMap { UUID(uuidString: String($0)) })
    }

    package var storedText: String { uuids.map(\.lowercased).joined(separator: ",") }
}

extension Audience {
    /// The topics and users that are named in it.
    package var names: [PostingList] {
        switch self {
        case .list(let list):
            switch list {
            case .topic, .customUser: [list]
            case .active, .interactive, .registered, .devices: []
            }
        case .any(let parts), .all(let parts): parts.flatMap(\.names)
        case .except(let first, _): first.names
        }
    }
}

extension UnresolvedTargets {
    /// Adds a topic or a user without devices.
    package mutating func add(_ list: PostingList) {
        switch list {
        case .topic(let name): topics.append(name)
        case .customUser(let id): customUserIDs.append(id)
        case .active, .interactive, .registered, .devices: break
        }
    }
}
