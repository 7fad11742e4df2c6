// Who a target is: the platforms it means, and on each of them an audience.

extension Target {
    /// Those of an application's platforms whose devices are meant.
    package func platforms(of all: [Platform]) -> [Platform] {
        guard let platforms else { return all }
        var kinds = Set(platforms)
        // Old senders know `android` only, and mean the Android devices of the application whatever carries to them.
        if kinds.contains(.android), !all.contains(where: { $0.kind == .android }) { kinds.insert(.androidFCM) }
        return all.filter { kinds.contains($0.kind) }
    }

    /// The devices meant, on each of the platforms.
    ///
    /// - Parameter named: the devices behind the target's UUIDs, as far as the platforms have them.
    package func audience(named: [Key<Device>]) -> Audience {
        let audience = everybody(named: named)
        return isInteractiveOnly ? .all([audience, .list(.interactive)]) : audience
    }

    private func everybody(named: [Key<Device>]) -> Audience {
        // The intersection leaves to each platform its own.
        if devices != nil { return .all([.list(.devices(Set(named).sorted())), .list(.registered)]) }
        if topics.isEmpty && customUserIDs.isEmpty { return .list(.active) }
        return .any(
            Set(topics).sorted().map { .list(.topic($0)) } + Set(customUserIDs).sorted().map { .list(.customUser($0)) })
    }
}
