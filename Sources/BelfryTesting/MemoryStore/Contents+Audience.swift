package import BelfryService

extension Contents {
    /// The devices of an audience as a plain set: the model that `AudienceScan` is compared with.
    package func members(of audience: Audience, on platform: Key<Platform>) -> Set<Key<Device>> {
        switch audience {
        case .list(let list):
            members(of: list, on: platform)
        case .any(let parts):
            parts.reduce(into: []) { $0.formUnion(members(of: $1, on: platform)) }
        case .all(let parts):
            parts.dropFirst().reduce(into: parts.first.map { members(of: $0, on: platform) } ?? []) {
                $0.formIntersection(members(of: $1, on: platform))
            }
        case .except(let whole, let part):
            members(of: whole, on: platform).subtracting(members(of: part, on: platform))
        }
    }

    private func members(of list: PostingList, on platform: Key<Platform>) -> Set<Key<Device>> {
        if case .devices(let keys) = list { return Set(keys.filter { devices[$0]?.platformKey == platform }) }
        let kind = platforms[platform]?.kind ?? .ios
        return Set(devices.values.lazy.filter { $0.platformKey == platform && list.has($0, kind: kind) }.map(\.key))
    }
}

extension PostingList {
    fileprivate func has(_ device: Device, kind: PlatformKind) -> Bool {
        switch self {
        case .active: device.isActive
        case .interactive:
            device.isActive && DeviceState(kind: kind, osVersion: device.about.osVersion) == .interactive
        case .registered: true
        case .topic(let name): device.isActive && device.topics.contains(name)
        case .customUser(let id): device.isActive && device.customUserID == id
        case .devices(let keys): keys.contains(device.key)
        }
    }
}
