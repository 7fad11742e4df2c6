package import BelfryService
package import FoundationEssentials

extension MemoryStore {
    package func accept(_ new: NewPush) async throws -> Push {
        let now = clock.now
        let push = try transaction { contents in
            try contents.keep(new, now: now)
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

}

extension Contents {
    /// The push with the devices that it names.
    package func finding(_ new: NewPush) -> NewPush {
        guard !new.named.isEmpty else { return new }
        let found = new.named.map { uuid in
            new.platformKeys.compactMap { platform in device(uuid, on: platform).map { (platform, $0.key) } }.first
        }
        return new.finding(found)
    }

    mutating func keep(_ new: NewPush, now: Instant) throws -> Push {
        let new = finding(new)
        guard applications[new.applicationKey] != nil else { throw StoreError.unknown("application") }
        if let old = pushes.values.first(where: { $0.push.receiptID == new.receiptID }) { return old.push }
        let push = new.accepted(as: nextKey(), at: now)
        pushes[push.key] = PushRow(push: push)
        pushes[push.key]?.unknownDevices = new.unknownDevices
        for (place, platform) in new.platformKeys.enumerated() {
            let fanOut = FanOut(
                pushKey: push.key, platformKey: platform, lane: push.lane, audience: push.audience, cursor: nil,
                attempt: 0, perMinute: push.content.pacing.perMinute)
            if let placed = new.devices {
                if let devices = placed[platform] { write(devices, of: fanOut, now: now) }
                continue
            }
            let start = push.content.pacing.start(of: place, among: new.platformKeys.count)
            fanOuts[FanOutKey(push: push.key, platform: platform)] = FanOutRow(
                fanOut: fanOut, lease: Lease(dueAt: now + start))
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
