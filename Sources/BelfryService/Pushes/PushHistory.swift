import FoundationEssentials

/// Pushes that went to some devices, the newest first: one page of them.
struct PushHistory: Sendable {
    struct Entry: Sendable {
        let push: PushHead
        let device: Device
        let answer: Answer
    }

    private(set) var entries: [Entry] = []
    private(set) var summaries: [Key<Push>: String] = [:]
    /// The push after which the next page begins; nil at the end.
    private(set) var next: Key<Push>?

    /// The most pushes that one page looks through, and those that are looked up together.
    private static let (lookedThroughMax, atOnce) = (1_000, 250)

    /// Looks through the pushes of an application before `before`. It may find fewer than `limit`, or none, and still have a `next`.
    init(
        of devices: [Device], in application: Application, before: Key<Push>?, limit: Int = 25, _ store: any Store
    ) async throws {
        guard !devices.isEmpty else { return }
        next = before
        for _ in 0..<Self.lookedThroughMax / Self.atOnce {
            let pushes = try await store.pushes(of: application.key, before: next, limit: Self.atOnce)
            let answers = try await store.answers(of: devices, in: pushes.map(\.key))
            for push in pushes where entries.count < limit {
                next = push.key
                entries += devices.compactMap { device in
                    answers[push.key]?[device.key].map { Entry(push: push, device: device, answer: $0) }
                }
            }
            if entries.count >= limit { break }
            if pushes.count < Self.atOnce {
                next = nil
                break
            }
        }
        summaries = try await store.contents(of: entries.map(\.push.key)) { $0.summary }
    }

    /// Adds the page that follows.
    mutating func add(_ page: PushHistory) {
        entries += page.entries
        summaries.merge(page.summaries) { first, _ in first }
        next = page.next
    }

    /// Leaves out pushes to other users, who had a device before or after this one.
    mutating func keep(pushesTo user: String, _ store: any Store) async throws {
        var others: Set<Key<Push>> = []
        for some in Set(entries.map(\.push.key)).sorted().chunks(of: 250) {
            others.formUnion(try await store.pushes(Set(some), toOthersThan: user))
        }
        entries.removeAll { others.contains($0.push.key) }
    }

    /// - Parameter page: the address of the page, and its query.
    func table(_ application: Application, showsDevice: Bool, _ page: String, _ query: [(String, String)] = []) -> Table
    {
        var table = Table(
            "Pushes", ["Time", "Push"] + (showsDevice ? ["Device"] : []) + ["Answer"],
            entries.map { entry in
                let push = Address.of(application, "pushes", entry.push.receiptID.lowercased)
                let device = Address.of(application, "devices", entry.device.uuid.lowercased)
                return [
                    [.time(entry.push.acceptedAt)], [.link(summaries[entry.push.key] ?? "[damaged]", push)],
                ] + (showsDevice ? [[.link(entry.device.label, device)]] : [])
                    + [entry.answer.values(Address.answer(of: entry.device.uuid, to: entry.push, application))]
            },
            empty: next == nil ? "None." : "No match so far. Go on to look through the rest.")
        table.next = next.map { Address.query(page, query + [("before", String($0.rawValue))]) }
        return table
    }
}

extension Store {
    /// The pushes among these whose targets name users alone, and not this one. One push at a time is in memory.
    fileprivate func pushes(_ pushes: Set<Key<Push>>, toOthersThan user: String) async throws -> Set<Key<Push>> {
        let naming = secrets.naming
        return try await readCommitted { [damagedRows] db in
            try pushes.filter { key in
                let push = try damagedRows.readable("push \(key)") {
                    try db.prepared(PushStatements.byKey).first(key, as: Push.init)
                }
                guard let push = push ?? nil else { return false }
                let target = Target(push.audience, on: push.platforms, naming: naming)
                let users: [String] =
                    if case .term(.users(let ids))? = target?.expression { ids } else {
                        target?.topics.isEmpty == true ? target?.customUserIDs ?? [] : []
                    }
                return !users.isEmpty && !users.contains(user)
            }
        }
    }
}

extension Address {
    /// The page on the answer of a device to a push.
    static func answer(of device: UUID, to push: PushHead, _ application: Application) -> String {
        of(application, "pushes", push.receiptID.lowercased, "devices", device.lowercased)
    }
}
