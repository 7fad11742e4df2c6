import FoundationEssentials

/// The rows that an expression needs to become lists.
struct AudienceWorld {
    /// All platforms of the application.
    let platforms: [Platform]
    /// The devices of the lists of UUIDs that the expression has; unknown ones are missing.
    let devices: [[UUID]: [Key<Device>]]
    /// The pushes of the receipts that the expression names; unknown ones are missing.
    var pushes: [UUID: Key<Push>] = [:]
    /// The push that the one to this audience follows; nil for none.
    var followed: FollowedPush?
    let now: Instant
}

extension AudienceExpression {
    /// The active devices that it means, as lists. What a condition excludes is never listed by itself.
    func audience(in world: AudienceWorld) -> Audience {
        switch compiled(world) {
        case .lists(let audience): audience
        case .others(let audience): audience == .any([]) ? .list(.active) : .except(.list(.active), audience)
        case .check(let check): .checked(.list(.active), [check])
        }
    }

    private enum Compiled {
        case lists(Audience)
        /// Every active device but these.
        case others(Audience)
        case check(DeviceCheck)
    }

    private func compiled(_ world: AudienceWorld) -> Compiled {
        switch self {
        case .term(let term): Self.compiled(term, world)
        case .not(let part):
            switch part.compiled(world) {
            case .lists(let audience): .others(audience)
            case .others(let audience): .lists(audience)
            case .check(let check): .check(check.negated)
            }
        case .all(let parts): Self.all(parts.map { $0.compiled(world) })
        case .any(let parts): Self.any(parts.map { $0.compiled(world) })
        }
    }

    private static func all(_ parts: [Compiled]) -> Compiled {
        var (lists, others, checks): ([Audience], [Audience], [DeviceCheck]) = ([], [], [])
        for part in parts {
            switch part {
            case .lists(let audience): lists.append(audience)
            case .others(let audience): if audience != .any([]) { others.append(audience) }
            case .check(let check): checks.append(check)
            }
        }
        if lists.isEmpty, checks.isEmpty { return .others(union(others)) }
        var base: Audience = lists.isEmpty ? .list(.active) : lists.count == 1 ? lists[0] : .all(lists)
        if !others.isEmpty { base = .except(base, union(others)) }
        return .lists(checks.isEmpty ? base : .checked(base, checks))
    }

    private static func any(_ parts: [Compiled]) -> Compiled {
        var (lists, others): ([Audience], [Audience]) = ([], [])
        for part in parts {
            switch part {
            case .lists(let audience): lists.append(audience)
            case .others(let audience): others.append(audience)
            case .check(let check): lists.append(.checked(.list(.active), [check]))
            }
        }
        guard !others.isEmpty else { return .lists(union(lists)) }
        let excluded: Audience = others.count == 1 ? others[0] : .all(others)
        return .others(lists.isEmpty || excluded == .any([]) ? excluded : .except(excluded, union(lists)))
    }

    private static func union(_ lists: [Audience]) -> Audience { lists.count == 1 ? lists[0] : .any(lists) }

    private static func compiled(_ term: AudienceTerm, _ world: AudienceWorld) -> Compiled {
        switch term {
        case .everyone: return .others(.any([]))
        case .topics(let names): return .lists(union(names.map { .list(.topic($0)) }))
        case .users(let ids): return .lists(union(ids.map { .list(.customUser($0)) }))
        case .devices(let uuids):
            let keys = Set(world.devices[uuids] ?? []).sorted()
            return .lists(.all([.list(.devices(keys)), .list(.active)]))
        case .sent(let receipts):
            let sent = receipts.compactMap { receipt in
                let part = receipt == world.followed?.receiptID ? world.followed?.part : nil
                return world.pushes[receipt].map { Audience.list(.sent($0, part ?? .all)) }
            }
            return .lists(.all([union(sent), .list(.active)]))
        case .reported(let report, let receipts):
            let reported = receipts.compactMap { world.pushes[$0] }.map { Audience.list(.reported(report, $0)) }
            return .lists(.all([union(reported), .list(.active)]))
        case .geofences(let keys):
            return .lists(.all([union(keys.map { .list(.geofence($0)) }), .list(.active)]))
        case .platforms(let kinds):
            let meant = Set(kinds.flatMap(\.meaning))
            return .lists(.list(.platforms(world.platforms.filter { meant.contains($0.kind) }.map(\.key).sorted())))
        case .imported: return .check(DeviceCheck(.imported))
        case .share(let share): return .check(DeviceCheck(.share(share)))
        case .segment, .campaign: return .lists(.any([]))
        case .property(let property, let test):
            if let lists = LabelRange.lists(of: property, test) { return .lists(union(lists.map(Audience.list))) }
            // What was meant by a time span stays what it was when the push was made.
            if case .within(let span) = test {
                let since = max(.zero, world.now + .milliseconds(-span.milliseconds))
                return .check(DeviceCheck(.property(property, .compare(.atLeast, .time(since)))))
            }
            return .check(DeviceCheck(.property(property, test)))
        }
    }
}
