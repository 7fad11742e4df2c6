package import BelfryService

extension MemoryStore {
    package func claimFanOuts(atMost limit: Int, lanes: [Lane], for lease: Duration) async throws -> [FanOut] {
        let now = clock.now
        return transaction { contents in
            contents.dueFanOuts(lanes: lanes, now: now).prefix(limit).map { key in
                contents.lease(key, until: now + lease)
            }
        }
    }

    package func devices(
        of audience: Audience, on platform: Key<Platform>, after: Key<Device>?, limit: Int
    ) async throws -> [Key<Device>] {
        transaction { contents in
            let members = contents.members(of: audience, on: platform)
            return Array(members.filter { device in after.map { device > $0 } ?? true }.sorted().prefix(limit))
        }
    }

    package func advance(_ step: FanOutStep) async throws -> Bool {
        let now = clock.now
        let isDone = transaction { $0.advance(step, now: now) }
        if isDone { signals.fire(.all) }
        return isDone
    }

    package func claimBursts(_ claim: BatchClaim) async throws -> [[Batch]] {
        let now = clock.now
        return transaction { contents in
            let chosen = contents.choose(claim, now: now)
            contents.takeProbes(of: chosen.flatMap(\.self), until: now + claim.lease)
            return chosen.map { $0.map { contents.lease($0, now: now, until: now + claim.lease) } }
        }
    }

    package func awaitDisk() async throws {}

    package func load(_ batches: [Batch]) async throws -> [BatchLoad?] {
        transaction { contents in batches.map { contents.load($0) } }
    }

    package func fill(_ requests: [FillingRequest]) async throws -> [[Key<Device>: PersonalizedValues.Values]?] {
        transaction { contents in requests.map { contents.fill($0) } }
    }

    package func pace(_ requests: [PacingRequest]) async throws -> [[Key<Device>: PacingVerdict]] {
        let now = clock.now
        return transaction { contents in requests.map { contents.pace($0, now: now) } }
    }

    package func settle(_ settlements: [Settlement]) async throws -> [Bool] {
        let now = clock.now
        let areDone = transaction { contents in settlements.map { contents.settle($0, now: now) } }
        if areDone.contains(true) { signals.fire(.all) }
        return areDone
    }

    package func takeProbe(of service: String, on platform: Key<Platform>, until end: Instant) async throws -> Bool {
        let now = clock.now
        return transaction { contents in
            guard let row = contents.platforms[platform], let parking = row.parkedServices[service],
                parking.isProbed(at: now)
            else { return false }
            contents.platforms[platform] = row.with(
                parked: row.parked,
                services: row.parkedServices.changing(service) { $0?.probed(until: end) })
            return true
        }
    }

    package func note(_ finding: ProbeFinding, of service: String?, on platform: Platform) async throws {
        let now = clock.now
        try transaction { try $0.note(finding, of: service, on: platform, now: now) }
        signals.fire(.all)
    }

    package func note(_ fault: ConnectionFault, on platform: Key<Platform>) async throws {
        let now = clock.now
        transaction { contents in
            guard let uuid = contents.platforms[platform]?.uuid else { return }
            contents.connectionFaults[platform] = PlatformFault(platform: uuid, fault: fault, at: now)
        }
    }

    package func nextDue() async throws -> Instant? {
        transaction { contents in
            let fanOuts = contents.fanOuts.values.filter { !contents.isParked($0.fanOut.platformKey) }.map(\.lease)
            let batches = contents.batches.values.filter { !contents.isParked($0.batch.platformKey) }.map(\.lease)
            return (fanOuts + batches).compactMap(\.dueAt).min()
        }
    }
}

// MARK: Fan-outs

extension Contents {
    /// The most urgent lane first, within a lane one for each application in turn, the oldest of each first.
    fileprivate mutating func dueFanOuts(lanes: [Lane], now: Instant) -> [FanOutKey] {
        turn += 1
        return Set(lanes).sorted().flatMap { lane in
            let due = fanOuts.filter { $0.value.fanOut.lane == lane && $0.value.lease.isDue(at: now) }.keys.sorted()
            let queues = Dictionary(grouping: due) { pushes[$0.push]?.push.applicationKey ?? Key(0) }
            return queues.sorted { $0.key < $1.key }.map(\.value).rotated(by: turn).inTurn()
        }
    }

    fileprivate mutating func lease(_ key: FanOutKey, until: Instant) -> FanOut {
        guard let row = fanOuts[key] else { preconditionFailure("a due fan-out is in the table") }
        let open = fanOuts.count { $0.key.push == key.push && $0.value.lease.dueAt != nil }
        let fanOut = row.fanOut.with(cursor: row.fanOut.cursor, attempt: row.fanOut.attempt + 1, platforms: open)
        fanOuts[key] = FanOutRow(fanOut: fanOut, lease: Lease(dueAt: until, isHeld: true))
        return fanOut
    }

    fileprivate mutating func advance(_ step: FanOutStep, now: Instant) -> Bool {
        let key = FanOutKey(push: step.fanOut.pushKey, platform: step.fanOut.platformKey)
        guard let row = fanOuts[key], row.lease.isHeld, row.fanOut.attempt == step.fanOut.attempt else { return false }
        for devices in step.batches where !devices.isEmpty { write(devices, of: row.fanOut, now: now) }
        let cursor = step.batches.last { !$0.isEmpty }?.last ?? row.fanOut.cursor
        let pause = step.fanOut.pause(behind: step.batches.reduce(0) { $0 + $1.count }) ?? .zero
        fanOuts[key] = FanOutRow(
            fanOut: row.fanOut.with(cursor: cursor, attempt: row.fanOut.attempt),
            lease: Lease(dueAt: step.isLast ? nil : now + pause))
        settleIfDone(key.push, now: now)
        return true
    }

    mutating func write(_ devices: [Key<Device>], of fanOut: FanOut, now: Instant) {
        let answer = fanOut.isCancelled ? Answer.skipped(.cancelled) : .pending
        let batch = Batch(
            key: nextKey(), pushKey: fanOut.pushKey, platformKey: fanOut.platformKey, lane: fanOut.lane,
            devices: devices,
            answers: devices.map { _ in answer }, attempt: 0, isLapsed: false)
        batches[batch.key] = BatchRow(batch: batch, lease: Lease(dueAt: fanOut.isCancelled ? nil : now))
        pushes[fanOut.pushKey]?.counts.add(devices.count, to: answer)
        if fanOut.isCancelled, pushes[fanOut.pushKey]?.firstAnswerAt == nil {
            pushes[fanOut.pushKey]?.firstAnswerAt = now
        }
    }
}

// MARK: Batches

extension Contents {
    fileprivate func load(_ batch: Batch) -> BatchLoad? {
        guard let push = pushes[batch.pushKey]?.push, let platform = platforms[batch.platformKey] else { return nil }
        return BatchLoad(
            push: push, platform: platform, recipients: batch.ready.compactMap { recipient(batch.devices[$0]) })
    }

    /// Lane by lane, a fair share for each application, never over a platform's room; the longest due first.
    fileprivate mutating func choose(_ claim: BatchClaim, now: Instant) -> [[Key<Batch>]] {
        turn += 1
        var room: [Key<Platform>: Int] = [:]
        // Refused credentials are tried again with one burst.
        for platform in platforms.keys where isParked(platform) { room[platform] = min(claim.room(on: platform), 1) }
        var chosen: [[Key<Batch>]] = []
        for lane in Set(claim.lanes).sorted() {
            let queues = dueBatches(lane, now: now).mapValues { rows in
                claim.burst.runs(of: rows.map(\.batch)).map { $0.map(\.key) }
            }
            let bidders = queues.keys.sorted().compactMap { platform in
                platforms[platform].map { found in
                    FairShare.Bidder(
                        tenant: Tenant.first, application: found.applicationKey, platform: platform,
                        room: min(room[platform] ?? claim.room(on: platform), queues[platform]?.count ?? 0))
                }
            }
            let shares = FairShare.divide(claim.burstsMax - chosen.count, among: bidders, turn: turn)
            for (platform, share) in shares.sorted(by: { $0.key < $1.key }) {
                chosen += (queues[platform] ?? []).prefix(share)
                room[platform] = (room[platform] ?? claim.room(on: platform)) - share
            }
        }
        return chosen
    }

    private func dueBatches(_ lane: Lane, now: Instant) -> [Key<Platform>: [BatchRow]] {
        let due = batches.values.filter { row in
            row.batch.lane == lane && row.lease.isDue(at: now)
                && platforms[row.batch.platformKey]?.parked?.isProbed(at: now) ?? true
        }
        return Dictionary(grouping: due, by: \.batch.platformKey).mapValues { rows in
            rows.sorted { ($0.lease.dueAt ?? .zero, $0.batch.key) < ($1.lease.dueAt ?? .zero, $1.batch.key) }
        }
    }

    fileprivate mutating func lease(_ key: Key<Batch>, now: Instant, until: Instant) -> Batch {
        guard let row = batches[key] else { preconditionFailure("a due batch is in the table") }
        let batch = row.batch.with(
            answers: row.batch.answers, attempt: row.batch.attempt + 1, isLapsed: row.lease.isHeld,
            retryTimes: row.retryTimes.filter { $0.value > now })
        batches[key]?.batch = batch
        batches[key]?.lease = Lease(dueAt: until, isHeld: true)
        return batch
    }

    fileprivate func recipient(_ key: Key<Device>) -> Recipient? {
        guard let device = devices[key], device.isActive, let token = device.token else { return nil }
        return Recipient(device: key, token: token, registeredAt: device.registeredAt)
    }

    fileprivate mutating func pace(_ request: PacingRequest, now: Instant) -> [Key<Device>: PacingVerdict] {
        let paced = request.devices.map { key in
            PacedDevice(
                key: key, userID: devices[key]?.customUserID,
                timeZones: [deviceDetails[key]?.timeZone].compactMap(\.self), quietHours: nil)
        }
        return request.verdicts(on: paced, request.quiet(paced, at: now), counting: &capUses, at: now)
    }

    fileprivate mutating func fill(_ request: FillingRequest) -> [Key<Device>: PersonalizedValues.Values]? {
        if request.badge != nil {
            guard batches[request.batch.key]?.batch.attempt == request.batch.attempt else { return nil }
            count(request)
        }
        let shown = batches[request.batch.key]?.badges
        var values: [Key<Device>: PersonalizedValues.Values] = [:]
        for key in request.devices {
            var own = PersonalizedValues.Values(badge: shown?[key] ?? deviceDetails[key]?.badge ?? 0)
            if request.needs.row, let device = devices[key] {
                (own.deviceUUID, own.otherUUID) = (device.uuid, device.ownUUID)
                own.userID = device.customUserID
                own.language = deviceDetails[key]?.language
                own.timeZone = deviceDetails[key]?.timeZone
            }
            values[key] = own
        }
        return values
    }

    /// A device counts once in a batch; a number that is set, is set each time.
    private mutating func count(_ request: FillingRequest) {
        guard let change = request.badge else { return }
        var badges = batches[request.batch.key]?.badges ?? [:]
        for device in request.devices where badges[device] == nil {
            let old = deviceDetails[device] ?? DeviceDetail()
            let badge =
                switch change {
                case .set(let number): number
                case .add(let number): old.badge + number
                }
            deviceDetails[device] = old.changed(by: DeviceDetail.Change(badge: BadgeChange.kept(badge)))
        }
        guard case .add = change else { return }
        for device in request.devices where badges[device] == nil { badges[device] = deviceDetails[device]?.badge }
        batches[request.batch.key]?.badges = badges
    }

    fileprivate mutating func settle(_ settlement: Settlement, now: Instant) -> Bool {
        let key = settlement.batch.key
        guard let row = batches[key], row.batch.attempt == settlement.batch.attempt else { return false }
        // Settled twice, because the delivery worker never got the first answer.
        guard row.lease.isHeld else { return true }
        let settlement = row.batch.isCancelled ? settlement.cancellingRetries : settlement
        tally(from: row.batch, to: settlement.answers, now: now)
        let batch = row.batch.with(
            answers: settlement.answers, attempt: row.batch.attempt, isLapsed: row.batch.isLapsed)
        batches[key]?.batch = batch
        batches[key]?.lease = Lease(dueAt: settlement.retryAt)
        batches[key]?.retryTimes = settlement.waitEnds
        batches[key]?.history += settlement.note?.line ?? ""
        if !settlement.counts.isEmpty { batches[key]?.answeredAt = row.answeredAt ?? now }
        if let parkRequest = settlement.parkRequest { park(batch.platformKey, parkRequest, now: now) }
        if platforms[batch.platformKey]?.parked?.cause != .deadTokens {
            for deadToken in settlement.deadTokens { deactivate(deadToken) }
            for move in settlement.moves { relocate(move, now: now) }
        }
        settleIfDone(batch.pushKey, now: now)
        return true
    }

    private mutating func park(_ key: Key<Platform>, _ request: Settlement.ParkRequest, now: Instant) {
        guard let platform = platforms[key], platform.credentialsVersion == request.credentialsVersion else { return }
        guard let parked = platform.parked else {
            if request.parking.cause == .credentials { refused.insert(key) }
            platforms[key] = platform.with(parked: request.parking)
            return
        }
        guard request.parking.cause == .credentials, let probe = request.probe, parked.probe?.count == probe.count
        else { return }
        platforms[key] = platform.with(parked: parked.refused(request.parking.detail, at: now))
    }

    fileprivate mutating func takeProbes(of batches: [Key<Batch>], until end: Instant) {
        for key in Set(batches.compactMap { self.batches[$0]?.batch.platformKey }) {
            guard let platform = platforms[key], let parked = platform.parked else { continue }
            platforms[key] = platform.with(parked: parked.probed(until: end))
        }
    }

    fileprivate mutating func note(
        _ finding: ProbeFinding, of service: String?, on platform: Platform, now: Instant
    ) throws {
        guard let row = platforms[platform.key], row.credentialsVersion == platform.credentialsVersion else { return }
        if let service {
            let services = row.parkedServices.changing(service) {
                finding.parking($0, seen: platform.parkedServices[service], at: now)
            }
            platforms[platform.key] = row.with(parked: row.parked, services: services)
            if finding == .accepted, services != row.parkedServices { releaseBatches(of: platform.key) }
        } else if let parked = row.parked, parked.cause == .credentials {
            switch finding {
            case .accepted: try resume(platform.key)
            case .unused: platforms[platform.key] = row.with(parked: parked.probed(until: now))
            case .refused: break
            }
        }
    }

    mutating func tally(from batch: Batch, to answers: [Answer], now: Instant) {
        for (index, (before, after)) in zip(batch.answers, answers).enumerated() where before != after {
            if before != .pending {
                misuses.append(
                    "batch \(batch.key): device \(batch.devices[index]) had \(before.name), now \(after.name)")
            }
            pushes[batch.pushKey]?.counts.add(-1, to: before)
            pushes[batch.pushKey]?.counts.add(1, to: after)
            if pushes[batch.pushKey]?.firstAnswerAt == nil { pushes[batch.pushKey]?.firstAnswerAt = now }
        }
    }
}

extension FanOut {
    func with(cursor: Key<Device>?, attempt: Int64, platforms: Int = 1) -> FanOut {
        FanOut(
            pushKey: pushKey, platformKey: platformKey, lane: lane, audience: audience, cursor: cursor,
            attempt: attempt, isCancelled: isCancelled, perMinute: perMinute, platforms: platforms)
    }
}

extension Batch {
    package func with(
        answers: [Answer], attempt: Int64, isLapsed: Bool, retryTimes: [Int: Instant] = [:],
        isCancelled: Bool? = nil
    ) -> Batch {
        Batch(
            key: key, pushKey: pushKey, platformKey: platformKey, lane: lane, devices: devices, answers: answers,
            attempt: attempt, isLapsed: isLapsed, retryTimes: retryTimes, isCancelled: isCancelled ?? self.isCancelled)
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
