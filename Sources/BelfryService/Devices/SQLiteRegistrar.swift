package import FoundationEssentials
import GRDB

/// Writes one registration, within a write.
struct SQLiteRegistrar {
    let session: SQLiteWriteSession
    let platform: Platform
    let registration: Registration
    /// The device that the caller takes itself for, if this database or another server ever named it so.
    let named: DeviceName?
    let tokenHash: Int64
    /// The device as another server knew it; nil when the app registers it.
    var imported: DeviceImport?

    func register() throws -> Device {
        guard try session.status(of: platform.key) != nil else {
            throw StoreError.unknown("platform \(platform.key)")
        }
        let named = try namedRow()
        if registration.isEdit, (named?.reach ?? .inactive) == .inactive { throw StoreError.inactiveDevice }
        let holder = registration.isEdit || named?.token == registration.token ? named : try tokenHolder()
        let device: Device
        switch RegistrationRules(named: named?.key, holder: holder?.key) {
        case .create:
            device = try create()
        case .update(let key, let evicted):
            guard let row = named?.key == key ? named : holder else { preconditionFailure("one of the two is updated") }
            device = try update(row, evicting: evicted == nil ? nil : holder).device
        }
        try session.set(registration.detail, of: device.key, on: platform.key)
        if let call = registration.mirrorCall { try session.mirror(call, of: device.key, on: platform.key) }
        return device
    }

    func namedRow() throws -> DeviceRow? {
        guard let named, let key = try session.db.device(named, on: platform.key) else { return nil }
        return try session.device(key, on: platform.key)
    }

    func tokenHolder() throws -> DeviceRow? {
        try TokenIndex(session: session).holder(of: registration.token, tokenHash, on: platform.key)
    }

    func create() throws -> Device {
        try session.check(.devices, of: platform.applicationKey)
        var row = DeviceRow(
            key: Key(0), platform: platform.key, reach: .inactive, registeredAt: .zero, token: nil, topics: [],
            customUserID: nil,
            about: registration.about, importMark: nil)
        let names = try apply(to: &row)
        try session.prepared(SQLiteDeviceStatements.insert).run(
            platform.key, row.reach.rawValue, row.registeredAt, tokenHash, registration.token.bytes,
            TopicList.encode(row.topics), row.customUserID, row.about.os, row.about.osVersion, row.about.model,
            row.about.manufacturer, row.about.alias, row.importMark == nil ? session.now : nil)
        row.key = Key<Device>(session.db.lastInsertedRowID)
        let key = row.key
        if row.importMark != nil { try session.mark(row) }
        session.note(1, .devices, of: platform.applicationKey)
        try SQLiteSubscriptionMerge(session: session).noteNew(key)
        try TokenIndex(session: session).note(tokenHash, of: key, on: platform.key)
        if imported == nil { try session.tell(.deviceRegistered, [key], on: platform.key) }
        return row.device(naming: session.secrets.naming, topicNames: names)
    }

    func update(_ old: DeviceRow, evicting evicted: DeviceRow?) throws -> (device: Device, isChanged: Bool) {
        var row = old
        let names = try apply(to: &row)
        if let evicted { try session.evict(evicted, on: platform.key) }
        let isChanged = !row.isSame(as: old)
        if row.importMark != old.importMark { try session.mark(row) }
        if !isChanged, imported == nil, !registration.isEdit, session.comebacks.take(old, at: session.now) {
            row.registeredAt = old.registeredAt
        } else if !isChanged {
            try session.prepared(SQLiteDeviceStatements.touch).run(row.registeredAt, row.key)
        } else {
            let token = row.token ?? registration.token
            let hash = registration.isEdit ? session.secrets.hash(of: token) : tokenHash
            try session.prepared(DeviceStatements.update).run(
                row.reach.rawValue, row.registeredAt, hash, token.bytes,
                TopicList.encode(row.topics), row.customUserID, row.about.os, row.about.osVersion, row.about.model,
                row.about.manufacturer, row.about.alias, row.key)
            if row.token != old.token {
                try TokenIndex(session: session).note(tokenHash, of: row.key, on: platform.key)
            }
            try session.movePostings(of: row.key, on: platform.key, from: old.postings, to: row.postings)
            try session.noteStaleDevice(row, insteadOf: old)
            session.count(row.reach, insteadOf: old.reach, on: platform.key)
            if imported == nil, old.reach == .inactive {
                try session.tell(.deviceRegistered, [row.key], on: platform.key)
            }
        }
        return (row.device(naming: session.secrets.naming, topicNames: names), isChanged)
    }

    /// Applies the registration to the row, and returns the names of its topics. A known device may repeat its values,
    /// however full the application is.
    private func apply(to row: inout DeviceRow) throws -> [String] {
        let isRevival = registration.isOfGateway && row.reach == .inactive
        row.about = registration.about.filled(from: row.about)
        if !registration.isEdit {
            row.token = registration.token
            row.registeredAt = min(imported?.lastSeenAt ?? session.now, session.now)
            row.reach = DeviceState(kind: platform.kind, osVersion: row.about.osVersion)
            row.noteRegistration(imported, by: named, at: session.now)
        }
        switch registration.customUserID {
        case .keep where !isRevival: break
        case .keep, .clear: row.customUserID = nil
        case .set(let id):
            if id != row.customUserID { try session.checkDevices(ofUser: id, on: platform.key) }
            row.customUserID = id
        }
        let names = try topicNames(after: isRevival ? [] : row.topics, at: session.now)
        // What is refused is refused before anything is written: all writes beside it would be done again.
        if !registration.labels.isEmpty { _ = try labelNames(of: row, besides: []) }
        let topics = try session.intern(names, in: platform.applicationKey, at: session.now).sorted()
        let hasLabels = !registration.labels.isEmpty || !(row.topics.isEmpty || row.topics == topics)
        row.topics = hasLabels ? try labels(of: row, beside: topics) : topics
        return names
    }

    /// The topics with the labels that the device has then.
    private func labels(of row: DeviceRow, beside topics: [Int64]) throws -> [Int64] {
        let labels = try labelNames(of: row, besides: Set(topics))
        guard !labels.isEmpty else { return topics }
        return try (topics + session.intern(labels.sorted(), in: platform.applicationKey, at: session.now)).sorted()
    }

    private func labelNames(of row: DeviceRow, besides topics: Set<Int64>) throws -> Set<String> {
        var labels: Set<String> = []
        for id in row.topics where !topics.contains(id) {
            let name = try session.topics.name(of: id, in: platform.applicationKey, at: session.now, session.db)
            if let name, DeviceLabel.isLabel(name) { labels.insert(name) }
        }
        return try registration.labels.applied(to: labels)
    }

    private func topicNames(after topics: [Int64], at now: Instant) throws -> [String] {
        var old: Set<String> = []
        if case .change = registration.topics {
            for id in topics {
                let name = try session.topics.name(of: id, in: platform.applicationKey, at: now, session.db)
                if let name, !DeviceLabel.isLabel(name) { old.insert(name) }
            }
        }
        let names = registration.topics.applied(to: old)
        guard names.count <= Registration.topicsMax else {
            throw InvalidInput(
                field: "tags", "has \(names.count) topics with those before, the limit is \(Registration.topicsMax)")
        }
        return names.sorted()
    }
}

extension SQLiteWriteSession {
    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) throws -> Device {
        try SQLiteRegistrar(
            session: self, platform: platform, registration: registration,
            named: uuid.flatMap { DeviceName($0, naming: secrets.naming, hasImports: platform.hasImports) },
            tokenHash: secrets.hash(of: registration.token)
        ).register()
    }

    func device(_ key: Key<Device>, on platform: Key<Platform>) throws -> DeviceRow? {
        try prepared(DeviceStatements.byKey).first(key, platform, as: DeviceRow.init)
    }

    /// Takes the token from a device, and removes the device from all lists. Its row stays.
    func evict(_ row: DeviceRow, on platform: Key<Platform>) throws {
        try prepared(SQLiteDeviceStatements.evict).run(row.key)
        try movePostings(of: row.key, on: platform, from: row.postings, to: [])
        count(.inactive, insteadOf: row.reach, on: platform)
        if row.reach != .inactive { try tell(.deviceGone, [row.key], on: platform, because: "replaced") }
    }

    package func deactivate(
        _ deadTokens: [Settlement.DeadToken], on platform: Key<Platform>, as loss: PlatformActivity.Figure
    ) throws {
        for deadToken in deadTokens {
            guard
                let row = try readable({ try device(deadToken.device, on: platform) }) ?? nil, row.reach != .inactive,
                deadToken.names(row.token), comebacks.lastRegistration(of: row) < deadToken.since
            else { continue }
            try deactivate(row, on: platform, as: loss)
        }
    }

    /// Removes an active device from all lists. Its row stays.
    func deactivate(_ row: DeviceRow, on platform: Key<Platform>, as loss: PlatformActivity.Figure) throws {
        try prepared(SQLiteDeviceStatements.deactivate).run(row.key)
        try movePostings(of: row.key, on: platform, from: row.postings, to: [])
        guard row.reach != .inactive else { return }
        count(loss, on: platform)
        try tell(.deviceGone, [row.key], on: platform, because: loss.reason)
    }
}

extension SQLiteStore {
    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        let named = uuid.flatMap { DeviceName($0, naming: secrets.naming, hasImports: platform.hasImports) }
        let tokenHash = secrets.hash(of: registration.token)
        return try await write { session in
            try SQLiteRegistrar(
                session: session, platform: platform, registration: registration, named: named, tokenHash: tokenHash
            ).register()
        }
    }

    package func importDevices(_ devices: [DeviceImport], on platform: Platform) async throws -> [ImportVerdict] {
        try await write { session in
            try session.noteImports(on: platform)
            return try devices.map { device in
                try SQLiteRegistrar(
                    session: session, platform: platform, registration: device.registration,
                    named: device.uuid.flatMap { DeviceName($0, naming: session.secrets.naming, hasImports: true) },
                    tokenHash: session.secrets.hash(of: device.registration.token), imported: device
                ).importDevice()
            }
        }
    }
}

enum SQLiteDeviceStatements {
    /// Finds devices by their token's hash, without those in `UnindexedTokens`.
    static let byToken = """
        SELECT \(DeviceRow.columns) /* devices.by_token */
          FROM device_token JOIN device ON id = device_id
         WHERE device_token.token_hash = ?2 AND platform_id = ?1
        """

    static let insert = """
        INSERT INTO device /* devices.insert */ (
            platform_id, reach, registered_at_ms, token_hash, token, topics, custom_user_id,
            os, os_version, model, manufacturer, alias, created_at_ms)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
        """

    /// A registration that changes nothing: updates no index.
    static let touch = "UPDATE device /* devices.touch */ SET registered_at_ms = ?1 WHERE id = ?2"

    static let evict = "UPDATE device /* devices.evict */ SET reach = 0, token = NULL, token_hash = NULL WHERE id = ?1"

    static let deactivate = "UPDATE device /* devices.deactivate */ SET reach = 0 WHERE id = ?1"
}

/// The times when devices registered again unchanged and nothing was written.
///
/// Apps register at each start. A row whose time is recent is left as it is, and the time is kept here for the one rule that needs it exactly:
/// a provider's word that a token is dead is ignored where the device has registered since. The word is of a message in flight, and a crash
/// takes that along: it is sent again, and the new answer is newer than the registration.
struct Comebacks {
    /// Milliseconds since 1970. Devices share a place; the latest time counts, so a dead token may be found one push later, and a live
    /// device is never given up.
    private var latest: [Int64] = []

    private static let placesCount = 1 << 18
    /// The most that a row's time is behind.
    static let lagMax = Duration.seconds(3_600)

    /// Notes an active device's registration; false where its row has to be written.
    mutating func take(_ row: DeviceRow, at now: Instant) -> Bool {
        guard row.registeredAt <= now, now - row.registeredAt < Self.lagMax else { return false }
        if latest.isEmpty { latest = [Int64](repeating: 0, count: Self.placesCount) }
        latest[Self.place(of: row.key)] = now.milliseconds
        return true
    }

    /// The time of the device's last registration, or a later one.
    func lastRegistration(of row: DeviceRow) -> Instant {
        guard !latest.isEmpty else { return row.registeredAt }
        return max(row.registeredAt, Instant(milliseconds: latest[Self.place(of: row.key)]))
    }

    func party(_ row: DeviceRow) -> TokenMove.Holder {
        TokenMove.Holder(
            key: row.key, token: row.token, isActive: row.reach != .inactive, registeredAt: lastRegistration(of: row))
    }

    private static func place(of device: Key<Device>) -> Int { Int(device.rawValue & Int64(placesCount - 1)) }
}
