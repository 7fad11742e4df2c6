import FoundationEssentials

/// A push on its way into the database, with what can be worked out without it. A class for the same reason as `BatchLoad`.
final class PushDraft: Sendable {
    let push: NewPush
    /// Empty until the devices that the push names were looked up.
    let audience: String
    let platforms: [Key<Platform>]
    /// The devices that the push names and that are yet to be looked up, as far as their UUIDs tell.
    let named: [Key<Device>?]

    /// - Parameter named: a key for each of the push's names, nil where it has none.
    init(_ push: NewPush, named: [Key<Device>?] = []) {
        self.push = push
        self.named = named
        audience = push.named.isEmpty ? push.audience.storedText : ""
        platforms = Set(push.platformKeys).sorted()
    }

    var content: String { push.storedContent }

    /// How long it is as it is stored.
    var bytes: Int { content.utf8.count + audience.utf8.count }

    /// The draft with those of the named devices that are on its platforms.
    fileprivate func finding(_ platformOf: [Key<Device>: Key<Platform>]) -> PushDraft {
        var placed: DevicesByPlatform = [:]
        var unknown: [UUID] = []
        for (uuid, key) in zip(push.named, named) {
            if let key, let platform = platformOf[key], platforms.contains(platform) {
                if placed[platform]?.contains(key) != true { placed[platform, default: []].append(key) }
            } else if !unknown.contains(uuid) {
                unknown.append(uuid)
            }
        }
        return PushDraft(push.finding(placed.mapValues { $0.sorted() }, unknown: UnknownDevices(unknown)))
    }

    func accepted(as key: Key<Push>, at now: Instant) -> Push {
        Push(
            key: key, receiptID: push.receiptID, applicationKey: push.applicationKey, content: push.content,
            audience: push.audience, platforms: push.platforms, lane: push.lane, guarantee: push.guarantee,
            acceptedAt: now, expiresAt: push.expiresAt)
    }
}

extension SQLStore {
    /// Prepares a push as far as is possible without a write. Looks up devices that have a UUID of another server; all other UUIDs hold the
    /// device's key.
    func draft(_ push: NewPush) async throws -> PushDraft {
        let named = push.named.map(secrets.naming.device(of:))
        guard named.contains(nil) else { return PushDraft(push, named: named) }
        let found = Dictionary(
            try await places(of: push.named, on: push.platformKeys).map { ($0.uuid, $0.device) },
            uniquingKeysWith: { first, _ in first })
        return PushDraft(push, named: push.named.map { found[$0] })
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
    /// - Parameter drafts: no two with the same receipt id.
    func accept(_ drafts: [PushDraft]) throws -> [Result<Push, any Error>] {
        let (held, platformOf) = try session.hold(
            Set(drafts.flatMap(\.platforms)).sorted(),
            locating: Set(drafts.flatMap(\.named).compactMap(\.self)).sorted())
        let drafts = drafts.map { $0.named.isEmpty ? $0 : $0.finding(platformOf) }
        var refusals: [Int: any Error] = [:]
        for (index, draft) in drafts.enumerated() {
            do {
                try check(draft, held)
                session.note(draft.bytes, .content, of: draft.push.applicationKey)
            } catch let error as StoreError {
                refusals[index] = error
            }
        }
        let admitted = drafts.indices.filter { refusals[$0] == nil }
        let keys = try session.insert(admitted.map { drafts[$0] })
        var pushes: [Int: Push] = [:]
        for (index, key) in zip(admitted, keys) {
            guard let key else {
                session.note(-drafts[index].bytes, .content, of: drafts[index].push.applicationKey)
                continue
            }
            pushes[index] = drafts[index].accepted(as: key, at: session.now)
        }
        try begin(pushes.sorted { $0.key < $1.key }.map { (drafts[$0.key], $0.value) })
        return drafts.indices.map { index in
            if let push = pushes[index] { return .success(push) }
            return Result { try acceptedBefore(drafts[index].push, or: refusals[index]) }
        }
    }

    private func check(_ draft: PushDraft, _ held: Set<Key<Platform>>) throws {
        if !arePromised { try session.check(.content, of: draft.push.applicationKey, adding: draft.bytes) }
        if draft.platforms.isEmpty, try !session.exists(draft.push.applicationKey) {
            throw StoreError.unknown("application \(draft.push.applicationKey)")
        }
        for platform in draft.platforms where !held.contains(platform) {
            throw StoreError.unknown("platform \(platform)")
        }
    }

    /// The push that has the receipt id already.
    private func acceptedBefore(_ push: NewPush, or refusal: (any Error)?) throws -> Push {
        let old = try session.prepared(PushStatements.byReceipt).first(push.receiptID, as: Push.init)
        // A push that was accepted before adds no content.
        if old == nil, let refusal { throw refusal }
        guard let old, old.applicationKey == push.applicationKey else {
            throw StoreError.unknown("push \(push.receiptID.lowercased) of this application")
        }
        return old
    }

    private func begin(_ pushes: [(draft: PushDraft, push: Push)]) throws {
        guard !pushes.isEmpty else { return }
        var batches = BatchRows()
        for (draft, push) in pushes {
            session.pushes.keep(push, bytes: draft.bytes)
            try session.write(draft.push.unknownDevices, of: push.key)
            let placed = try devices(of: draft)
            let devices = placed?.filter { !$0.value.isEmpty } ?? [:]
            for (platform, keys) in devices.sorted(by: { $0.key < $1.key }) {
                batches.append(BatchDraft(keys), of: push.key, on: platform, in: push.lane)
            }
            if devices.isEmpty { try fanOut(push, on: placed == nil ? draft.platforms : []) }
        }
        try batches.write(in: session, areWhole: true)
    }

    /// nil where there are many, or a person may wait for a while.
    private func devices(of draft: PushDraft) throws -> DevicesByPlatform? {
        let push = draft.push
        if let devices = push.devices { return devices }
        guard push.lane == .urgent else { return nil }
        var placed: DevicesByPlatform = [:]
        for platform in draft.platforms {
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
        for platform in platforms {
            try session.prepared(FanOutStatements.insert).send(push.key, platform, push.lane.rawValue, session.now)
            session.effects.due.insert(.fanOuts)
        }
    }
}

/// Batches before they are written, column by column.
struct BatchRows {
    private var pushes: [Key<Push>] = []
    private var platforms: [Key<Platform>] = []
    private var lanes: [Int64] = []
    private var firsts: [Key<Device>] = []
    private var lasts: [Key<Device>] = []
    private var devices: [[UInt8]] = []
    private var answers: [[UInt8]] = []

    mutating func append(
        _ batch: BatchDraft, of push: Key<Push>, on platform: Key<Platform>, in lane: Lane
    ) {
        pushes.append(push)
        platforms.append(platform)
        lanes.append(lane.rawValue)
        firsts.append(batch.first)
        lasts.append(batch.last)
        devices.append(batch.devices)
        answers.append(batch.answers)
    }

    /// Writes the batches, which are due at once.
    func write(in session: some WriteSession, areWhole: Bool) throws {
        guard !pushes.isEmpty else { return }
        let now = session.now
        session.effects.due.insert(.batches)
        try session.prepared(BatchStatements.insert).sendEach(
            pushes, platforms, lanes, firsts, lasts, devices, answers, pushes.map { _ in now },
            pushes.map { _ in areWhole })
    }
}
