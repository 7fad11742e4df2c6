import FoundationEssentials

extension Store {
    /// Finds the keys of a push's named devices, as far as is possible without a write. Looks up devices that have a UUID of another server;
    /// all other UUIDs hold the device's key.
    func locating(_ push: NewPush) async throws -> NewPush {
        guard !push.named.isEmpty else { return push }
        let keys = push.named.map(secrets.naming.device(of:))
        guard keys.contains(nil) else { return push.locating(keys) }
        let found = Dictionary(
            try await places(of: push.named, on: push.platformKeys).map { ($0.uuid, $0.device) },
            uniquingKeysWith: { first, _ in first })
        return push.locating(push.named.map { found[$0] })
    }
}

/// Keeps pushes, within a write.
///
/// A push whose devices are known, or few, is *whole*: it is written with all its batches, each due at once, and has no other rows. Its
/// counts are read from its batches. Any other push gets a row of counters, and a fan-out for each platform.
struct PushInserter<Session: WriteSession> {
    let session: Session
    /// Whether the pushes were promised before, so that their content is not checked against its quota now.
    var arePromised = false

    /// Writes pushes, and returns the result of each, in order. A push that is refused changes nothing.
    ///
    /// - Parameter given: no two with the same receipt id.
    func accept(_ given: [NewPush]) throws -> [Result<Push, any Error>] {
        let (held, platformOf) = try session.hold(
            Set(given.flatMap(\.platformKeys)).sorted(),
            locating: Set(given.flatMap(\.namedKeys).compactMap(\.self)).sorted())
        let given = given.map { ($0.named.isEmpty ? $0 : finding($0, platformOf)).on(held) }
        var refusals: [Int: any Error] = [:]
        for (index, new) in given.enumerated() {
            do {
                try check(new, held)
                session.note(new.bytes, .content, of: new.applicationKey)
            } catch let error as StoreError {
                refusals[index] = error
            }
        }
        let admitted = given.indices.filter { refusals[$0] == nil }
        let keys = try session.insert(admitted.map { given[$0] })
        var pushes: [Int: Push] = [:]
        for (index, key) in zip(admitted, keys) {
            guard let key else {
                session.note(-given[index].bytes, .content, of: given[index].applicationKey)
                continue
            }
            pushes[index] = given[index].accepted(as: key, at: session.now)
        }
        try begin(pushes.sorted { $0.key < $1.key }.map { (given[$0.key], $0.value) })
        return given.indices.map { index in
            if let push = pushes[index] { return .success(push) }
            return Result { try acceptedBefore(given[index], or: refusals[index]) }
        }
    }

    /// The push with those of its named devices that are on its platforms.
    private func finding(_ new: NewPush, _ platformOf: [Key<Device>: Key<Platform>]) -> NewPush {
        new.finding(
            new.namedKeys.map { key in
                guard let key, let platform = platformOf[key], new.platformKeys.contains(platform) else { return nil }
                return (platform, key)
            })
    }

    private func check(_ new: NewPush, _ held: Set<Key<Platform>>) throws {
        if !arePromised {
            try session.check(.content, of: new.applicationKey, adding: new.bytesOfAll)
            if new.reminders != nil { try session.check(.schedules, of: new.applicationKey) }
        }
        if new.platformKeys.isEmpty, try !session.exists(new.applicationKey) {
            throw StoreError.unknown("application \(new.applicationKey)")
        }
        for platform in new.platformKeys where !held.contains(platform) {
            throw StoreError.unknown("platform \(platform)")
        }
    }

    /// The push that has the receipt id already.
    private func acceptedBefore(_ new: NewPush, or refusal: (any Error)?) throws -> Push {
        let old = try session.prepared(PushStatements.byReceipt).first(new.receiptID, as: Push.init)
        // A push that was accepted before adds no content.
        if old == nil, let refusal { throw refusal }
        guard let old, old.applicationKey == new.applicationKey else {
            throw StoreError.unknown("push \(new.receiptID.lowercased) of this application")
        }
        return old
    }

    private func begin(_ pushes: [(new: NewPush, push: Push)]) throws {
        var batches: [NewBatch] = []
        for (new, push) in pushes {
            session.pushes.keep(push, bytes: new.bytes)
            try session.write(new.unknownDevices, of: push.key)
            try session.write(new.content.follows, of: push.key)
            if let reminders = new.reminders { try session.remind(reminders, of: push) }
            let placed = try devices(of: new)
            let devices = placed?.filter { !$0.value.isEmpty } ?? [:]
            for (platform, keys) in devices.sorted(by: { $0.key < $1.key }) {
                batches.append(NewBatch(keys, of: push.key, on: platform, in: push.lane))
            }
            if devices.isEmpty { try fanOut(push, on: placed == nil ? new.platformKeys : []) }
        }
        try session.insert(batches, areWhole: true)
    }

    /// The platforms whose devices are found by the writer: for each it looks at all devices that no list has yet.
    private static var platformsAtOnce: Int { 4 }

    /// nil where there are many, or a person may wait for a while.
    private func devices(of push: NewPush) throws -> DevicesByPlatform? {
        if let devices = push.devices { return devices }
        guard push.lane == .urgent, push.content.pacing.perMinute == nil else { return nil }
        guard push.audience.isReadAtOnce, push.platformKeys.count <= Self.platformsAtOnce else { return nil }
        var placed: DevicesByPlatform = [:]
        for platform in push.platformKeys {
            let postings = session.db.postings(of: platform, application: push.applicationKey, now: session.now)
            let scan = AudienceScan(push.audience, reader: postings)
            placed[platform] = try scan.devices(after: nil, limit: Batch.devicesMax + 1)
            guard placed.isShort else { return nil }
        }
        return placed
    }

    /// A push without platforms, or without devices on any, ends with its acceptance.
    private func fanOut(_ push: Push, on platforms: [Key<Platform>]) throws {
        try session.prepared(PushStatements.insertProgress).send(
            push.key, platforms.count, platforms.isEmpty ? session.now : nil)
        if platforms.isEmpty { session.noteSettled(push.key) }
        for (place, platform) in platforms.enumerated() {
            let due = session.now + push.content.pacing.start(of: place, among: platforms.count)
            try session.prepared(FanOutStatements.insert).send(
                push.key, platform, push.lane.rawValue, due, due > session.now)
            session.effects.due.insert(.fanOuts)
        }
    }
}
