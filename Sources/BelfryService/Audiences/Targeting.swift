import FoundationEssentials

// Resolves a target: the platforms it selects, and on each of them an audience.

extension Target {
    /// The platforms the target selects. Subscribers of a topic have tokens as well, most of them: so it gets only what names it.
    package func platforms(of all: [Platform]) -> [Platform] {
        let kinds = platforms.map { Set($0.flatMap(\.meaning)) }
        let namesTopics = devices != nil || expression?.namesTopics == true
        return all.filter { kinds?.contains($0.kind) ?? ($0.kind != .fcmTopic || namesTopics) }
    }

    /// The targets that are named one by one, where these are devices, or a few users alone.
    package var named: NamedTargets? {
        if let devices { return .devices(devices) }
        guard expression == nil, topics.isEmpty, 1...Lane.urgentTargetsMax ~= customUserIDs.count else { return nil }
        return .users(customUserIDs)
    }

    /// The selected devices, on each of the platforms.
    ///
    /// - Parameter named: the devices of the target's UUIDs that the platforms have.
    package func audience(named: [Key<Device>]) -> Audience {
        let audience = baseAudience(named: named)
        return isInteractiveOnly ? .all([audience, .list(.interactive)]) : audience
    }

    private func baseAudience(named: [Key<Device>]) -> Audience {
        if devices != nil { return .devices(named) }
        if topics.isEmpty && customUserIDs.isEmpty { return .list(.active) }
        return .any(
            Set(topics).sorted().map { .list(.topic($0)) } + Set(customUserIDs).sorted().map { .list(.customUser($0)) })
    }
}

extension AudienceExpression {
    /// Whether it names the type of platform of FCM's topics, or devices that may be topics, and not to leave them out.
    fileprivate var namesTopics: Bool {
        switch self {
        case .all(let parts), .any(let parts): parts.contains(where: \.namesTopics)
        case .term(.platforms(let kinds)): kinds.contains(.fcmTopic)
        case .term(.devices): true
        case .not, .term: false
        }
    }
}

extension Audience {
    /// Devices that were named one by one. The intersection restricts each platform to its own.
    static func devices(_ devices: some Sequence<Key<Device>>) -> Audience {
        .all([.list(.devices(Set(devices).sorted())), .list(.registered)])
    }
}

extension Target {
    /// The target that makes this audience, see `audience(named:)`; nil where none does.
    init?(_ audience: Audience, on platforms: [PlatformKind]?, naming: DeviceNaming) {
        var (audience, isInteractiveOnly) = (audience, false)
        if case .all(let parts) = audience, parts.count == 2, parts[1] == .list(.interactive) {
            (audience, isInteractiveOnly) = (parts[0], true)
        }
        var devices: [UUID]?
        var (topics, customUserIDs): ([String], [String]) = ([], [])
        if case .meant(let expression, _) = audience {
            self.init(expression, isInteractiveOnly: isInteractiveOnly)
            return
        }
        switch audience {
        case .list(.active): break
        case .all(let parts):
            guard parts.count == 2, case .list(.devices(let keys)) = parts[0], parts[1] == .list(.registered) else {
                return nil
            }
            devices = keys.map(naming.uuid(of:))
        case .any(let parts):
            for part in parts {
                switch part {
                case .list(.topic(let name)): topics.append(name)
                case .list(.customUser(let id)): customUserIDs.append(id)
                default: return nil
                }
            }
        case .list, .except, .checked, .meant: return nil
        }
        self.init(
            unchecked: devices, topics: topics, customUserIDs: customUserIDs, platforms: platforms,
            isInteractiveOnly: isInteractiveOnly)
    }
}
