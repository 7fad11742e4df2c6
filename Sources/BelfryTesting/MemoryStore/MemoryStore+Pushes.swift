package import BelfryService
package import FoundationEssentials

extension MemoryStore {
    package func accept(_ new: NewPush) async throws -> Push {
        let now = clock.now
        let push = try transaction { contents in
            let new = contents.finding(new)
            if !contents.pushes.values.contains(where: { $0.push.receiptID == new.receiptID }) {
                try contents.check(
                    quotas, .content, of: new.applicationKey,
                    adding: new.content.storedText.utf8.count + new.audience.storedText.utf8.count)
            }
            return try contents.keep(new, now: now)
        }
        signals.fire(.all)
        return push
    }

    package func receipt(_ receiptID: UUID) async throws -> Receipt? {
        transaction { contents in
            guard let row = contents.pushes.values.first(where: { $0.push.receiptID == receiptID }) else { return nil }
            return contents.receipt(of: row)
        }
    }

    package func messages(
        to device: Key<Device>, on platform: Key<Platform>, of application: Key<Application>, limit: Int
    ) async throws -> [DeviceMessage] {
        transaction { contents in
            let newest = contents.pushes.values.filter { $0.push.applicationKey == application }
                .sorted { $0.push.key > $1.push.key }.prefix(DeviceMessage.lookedThroughMax)
            let found = newest.compactMap { row -> DeviceMessage? in
                let batches = contents.batches.values.filter { $0.batch.pushKey == row.push.key }
                for found in batches where found.batch.platformKey == platform {
                    guard let place = found.batch.devices.firstIndex(of: device) else { continue }
                    let answer = found.batch.answers[place]
                    guard DeviceMessage.told.contains(answer), answer != .pending || found.batch.attempt > 0 else {
                        return nil
                    }
                    return DeviceMessage(push: row.push, badge: found.badges?[device])
                }
                return nil
            }
            return Array(found.prefix(limit))
        }
    }

    package func delivery(of device: Key<Device>, in push: Key<Push>) async throws -> DeviceDelivery? {
        transaction { contents in
            for row in contents.batches.values where row.batch.pushKey == push {
                guard let place = row.batch.devices.firstIndex(of: device) else { continue }
                let batch = row.batch.with(
                    answers: row.batch.answers, attempt: row.batch.attempt, isLapsed: false, retryTimes: row.retryTimes)
                return DeviceDelivery(
                    at: place, of: batch, history: row.history, dueAt: row.lease.dueAt ?? .zero,
                    isLeased: row.lease.isHeld, answeredAt: row.answeredAt)
            }
            return nil
        }
    }

    package func leasesEnd(of push: Key<Push>) async throws -> Instant? {
        transaction { contents in
            let leases =
                contents.batches.values.filter { $0.batch.pushKey == push }.map(\.lease)
                + contents.fanOuts.filter { $0.key.push == push }.map(\.value.lease)
            return leases.filter(\.isHeld).compactMap(\.dueAt).max()
        }
    }

    package func providerWords(of push: Key<Push>) async throws -> [String] {
        transaction { contents in
            let batches = contents.batches.values.filter { $0.batch.pushKey == push }.sorted {
                ($0.batch.platformKey, $0.batch.key) < ($1.batch.platformKey, $1.batch.key)
            }
            return AttemptNote.words(of: batches.map(\.history))
        }
    }

    package func unmatchedNames(of push: Key<Push>) async throws -> UnresolvedTargets {
        transaction { contents in
            guard let row = contents.pushes[push] else { return UnresolvedTargets() }
            var names = UnresolvedTargets(devices: row.unknownDevices)
            for list in row.push.audience.names.prefix(UnresolvedTargets.lookedUpMax)
            where !contents.platforms.values.contains(where: { platform in
                platform.applicationKey == row.push.applicationKey
                    && !contents.members(of: .list(list), on: platform.key).isEmpty
            }) {
                names.add(list)
            }
            return names
        }
    }
}

extension Contents {
    /// The push with the devices that it names.
    package func finding(_ new: NewPush) -> NewPush {
        guard !new.named.isEmpty else { return new }
        let found = new.named.map { uuid in
            new.platformKeys.compactMap { platform in device(uuid, on: platform).map { (platform, $0.key) } }.first
        }
        let unknown = zip(new.named, found).filter { $0.1 == nil }.map(\.0)
        let first = unknown.enumerated().filter { unknown.firstIndex(of: $0.element) == $0.offset }.map(\.element)
        return new.finding(
            Dictionary(grouping: found.compactMap(\.self), by: \.0).mapValues { Set($0.map(\.1)).sorted() },
            unknown: UnknownDevices(first))
    }

    mutating func keep(_ new: NewPush, now: Instant) throws -> Push {
        let new = finding(new)
        guard applications[new.applicationKey] != nil else { throw StoreError.unknown("application") }
        if let old = pushes.values.first(where: { $0.push.receiptID == new.receiptID }) { return old.push }
        let push = Push(
            key: nextKey(), receiptID: new.receiptID, applicationKey: new.applicationKey, content: new.content,
            audience: new.audience, platforms: new.platforms, lane: new.lane, guarantee: new.guarantee, acceptedAt: now,
            expiresAt: new.expiresAt)
        pushes[push.key] = PushRow(push: push)
        pushes[push.key]?.unknownDevices = new.unknownDevices
        for platform in new.platformKeys {
            let fanOut = FanOut(
                pushKey: push.key, platformKey: platform, lane: push.lane, audience: push.audience, cursor: nil,
                attempt: 0)
            if let placed = new.devices {
                if let devices = placed[platform] { write(devices, of: fanOut, now: now) }
                continue
            }
            fanOuts[FanOutKey(push: push.key, platform: platform)] = FanOutRow(fanOut: fanOut, lease: Lease(dueAt: now))
        }
        settleIfDone(push.key, now: now)
        return push
    }

    func receipt(of row: PushRow) -> Receipt {
        Receipt(
            push: row.push.head, isFannedOut: !isSpreading(row.push.key), counts: row.counts, settledAt: row.settledAt,
            firstAnswerAt: row.firstAnswerAt,
            parked: openPlatforms(of: row.push.key).compactMap { platforms[$0].flatMap { ParkedPlatform($0) } })
    }

    /// The platforms on which the push still has something to do.
    func openPlatforms(of push: Key<Push>) -> [Key<Platform>] {
        let fanningOut = fanOuts.filter { $0.key.push == push && $0.value.lease.dueAt != nil }.map(\.key.platform)
        let sending = batches.values.filter { $0.batch.pushKey == push && $0.lease.dueAt != nil }.map(
            \.batch.platformKey)
        return Set(fanningOut + sending).sorted()
    }
}
