package import BelfryCore

extension MemoryStore {
    package func claimWalks(atMost limit: Int, lanes: [Lane], for lease: Duration) async throws -> [Walk] {
        let now = clock.now
        return transaction { contents in
            contents.dueWalks(lanes: lanes, now: now).prefix(limit).map { key in
                contents.lease(key, until: now + lease)
            }
        }
    }

    package func devices(in walk: Walk, after: Key<Device>?, limit: Int) async throws -> [Key<Device>] {
        transaction { contents in
            let members = contents.members(of: walk.audience, on: walk.platformKey)
            return Array(members.filter { device in after.map { device > $0 } ?? true }.sorted().prefix(limit))
        }
    }

    package func advance(_ step: WalkStep) async throws -> Bool {
        let now = clock.now
        let isDone = transaction { $0.advance(step, now: now) }
        if isDone { signals.fire() }
        return isDone
    }

    package func claimPages(_ claim: PageClaim) async throws -> [Page] {
        let now = clock.now
        return transaction { contents in
            contents.choose(claim, now: now).map { contents.lease($0, now: now, until: now + claim.lease) }
        }
    }

    package func load(_ page: Page) async throws -> PageLoad? {
        transaction { contents in
            guard
                let push = contents.pushes[page.pushKey]?.push, let platform = contents.platforms[page.platformKey]
            else { return nil }
            let recipients = page.ready.compactMap { contents.recipient(page.devices[$0]) }
            return PageLoad(push: push, platform: platform, recipients: recipients)
        }
    }

    package func settle(_ settlement: Settlement) async throws -> Bool {
        let now = clock.now
        let isDone = transaction { $0.settle(settlement, now: now) }
        if isDone { signals.fire() }
        return isDone
    }

    package func nextDue() async throws -> Instant? {
        transaction { contents in
            let walks = contents.walks.values.filter { !contents.isParked($0.walk.platformKey) }.map(\.lease)
            let pages = contents.pages.values.filter { !contents.isParked($0.page.platformKey) }.map(\.lease)
            return (walks + pages).compactMap(\.dueAt).min()
        }
    }
}

// MARK: Walks

extension Contents {
    /// The most urgent lane first, within a lane one for each application in turn, the oldest of each first.
    fileprivate mutating func dueWalks(lanes: [Lane], now: Instant) -> [WalkKey] {
        turn += 1
        return Set(lanes).sorted().flatMap { lane in
            let due = walks.filter { $0.value.walk.lane == lane && $0.value.lease.isDue(at: now) }.keys.sorted()
            let queues = Dictionary(grouping: due) { pushes[$0.push]?.push.applicationKey ?? Key(0) }
            return queues.sorted { $0.key < $1.key }.map(\.value).rotated(by: turn).inTurn()
        }
    }

    fileprivate mutating func lease(_ key: WalkKey, until: Instant) -> Walk {
        guard let row = walks[key] else { preconditionFailure("a due walk is in the table") }
        let walk = row.walk.with(cursor: row.walk.cursor, attempt: row.walk.attempt + 1)
        walks[key] = WalkRow(walk: walk, lease: Lease(dueAt: until, isHeld: true))
        return walk
    }

    fileprivate mutating func advance(_ step: WalkStep, now: Instant) -> Bool {
        let key = WalkKey(push: step.walk.pushKey, platform: step.walk.platformKey)
        guard let row = walks[key], row.lease.isHeld, row.walk.attempt == step.walk.attempt else { return false }
        for devices in step.pages where !devices.isEmpty { write(devices, of: row.walk, now: now) }
        let cursor = step.pages.last { !$0.isEmpty }?.last ?? row.walk.cursor
        walks[key] = WalkRow(
            walk: row.walk.with(cursor: cursor, attempt: row.walk.attempt),
            lease: Lease(dueAt: step.isLast ? nil : now))
        settleIfDone(key.push, now: now)
        return true
    }

    private mutating func write(_ devices: [Key<Device>], of walk: Walk, now: Instant) {
        let page = Page(
            key: nextKey(), pushKey: walk.pushKey, platformKey: walk.platformKey, lane: walk.lane, devices: devices,
            answers: devices.map { _ in .pending }, attempt: 0, isLapsed: false)
        pages[page.key] = PageRow(page: page, lease: Lease(dueAt: now))
        pushes[walk.pushKey]?.counts.add(devices.count, to: .pending)
    }
}

// MARK: Pages

extension Contents {
    /// Lane by lane, a fair share for each application, never over a platform's room; the longest due first.
    fileprivate mutating func choose(_ claim: PageClaim, now: Instant) -> [Key<Page>] {
        turn += 1
        var room: [Key<Platform>: Int] = [:]
        var chosen: [Key<Page>] = []
        for lane in Set(claim.lanes).sorted() {
            let queues = duePages(lane, now: now)
            let bidders = queues.keys.sorted().compactMap { platform in
                platforms[platform].map { found in
                    FairShare.Bidder(
                        application: found.applicationKey, platform: platform,
                        room: min(room[platform] ?? claim.room(on: platform), queues[platform]?.count ?? 0))
                }
            }
            let shares = FairShare.divide(claim.pagesMax - chosen.count, among: bidders, turn: turn)
            for (platform, share) in shares.sorted(by: { $0.key < $1.key }) {
                chosen += (queues[platform] ?? []).prefix(share)
                room[platform] = (room[platform] ?? claim.room(on: platform)) - share
            }
        }
        return chosen
    }

    private func duePages(_ lane: Lane, now: Instant) -> [Key<Platform>: [Key<Page>]] {
        let due = pages.values.filter { row in
            row.page.lane == lane && row.lease.isDue(at: now) && !isParked(row.page.platformKey)
        }
        return Dictionary(grouping: due, by: \.page.platformKey).mapValues { rows in
            rows.sorted { ($0.lease.dueAt ?? .zero, $0.page.key) < ($1.lease.dueAt ?? .zero, $1.page.key) }
                .map(\.page.key)
        }
    }

    fileprivate mutating func lease(_ key: Key<Page>, now: Instant, until: Instant) -> Page {
        guard let row = pages[key] else { preconditionFailure("a due page is in the table") }
        let page = row.page.with(
            answers: row.page.answers, attempt: row.page.attempt + 1, isLapsed: row.lease.isHeld,
            rests: row.rests.filter { $0.value > now })
        pages[key] = PageRow(page: page, lease: Lease(dueAt: until, isHeld: true), rests: row.rests)
        return page
    }

    fileprivate func recipient(_ key: Key<Device>) -> Recipient? {
        guard let device = devices[key], device.isActive, let token = device.token else { return nil }
        return Recipient(device: key, token: token)
    }

    fileprivate mutating func settle(_ settlement: Settlement, now: Instant) -> Bool {
        let key = settlement.page.key
        guard let row = pages[key], row.page.attempt == settlement.page.attempt else { return false }
        // Said twice, because the courier never heard the first answer.
        guard row.lease.isHeld else { return true }
        tally(from: row.page, to: settlement.answers, now: now)
        let page = row.page.with(
            answers: settlement.answers, attempt: row.page.attempt, isLapsed: row.page.isLapsed)
        pages[key] = PageRow(page: page, lease: Lease(dueAt: settlement.retryAt), rests: settlement.restEnds)
        for death in settlement.deaths { deactivate(death) }
        for move in settlement.moves { relocate(move, now: now) }
        if let halt = settlement.halt, let platform = platforms[page.platformKey],
            platform.credentialsVersion == halt.credentialsVersion
        {
            platforms[page.platformKey] = platform.with(parked: halt.parking)
        }
        settleIfDone(page.pushKey, now: now)
        return true
    }

    private mutating func tally(from page: Page, to answers: [Answer], now: Instant) {
        for (index, (before, after)) in zip(page.answers, answers).enumerated() where before != after {
            if before != .pending {
                misuses.append("page \(page.key): device \(page.devices[index]) had \(before.name), now \(after.name)")
            }
            pushes[page.pushKey]?.counts.add(-1, to: before)
            pushes[page.pushKey]?.counts.add(1, to: after)
            if after == .accepted { events.count(.sent, of: page.pushKey, on: page.platformKey, at: now) }
            if pushes[page.pushKey]?.firstAnswerAt == nil { pushes[page.pushKey]?.firstAnswerAt = now }
        }
    }
}

extension Walk {
    func with(cursor: Key<Device>?, attempt: Int64) -> Walk {
        Walk(
            pushKey: pushKey, platformKey: platformKey, lane: lane, audience: audience, cursor: cursor,
            attempt: attempt)
    }
}

extension Page {
    package func with(
        answers: [Answer], attempt: Int64, isLapsed: Bool, rests: [Int: Instant] = [:]
    ) -> Page {
        Page(
            key: key, pushKey: pushKey, platformKey: platformKey, lane: lane, devices: devices, answers: answers,
            attempt: attempt, isLapsed: isLapsed, rests: rests)
    }
}

extension Array {
    fileprivate func rotated(by turn: Int) -> Array {
        guard !isEmpty else { return self }
        return Array(self[(turn % count)...] + self[..<(turn % count)])
    }

    /// The first of each queue, then the second of each, and so on.
    fileprivate func inTurn<Item>() -> [Item] where Element == [Item] {
        (0..<(map(\.count).max() ?? 0)).flatMap { place in
            compactMap { $0.indices.contains(place) ? $0[place] : nil }
        }
    }
}
