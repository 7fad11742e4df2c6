import FoundationEssentials
import PostgreSQL

/// A registration to write, with everything that can be computed without the database.
struct RegistrationEntry: Sendable {
    let registration: Registration
    let platform: Platform
    /// The device that the caller takes itself for, if this database or another server ever named it so.
    let named: DeviceName?
    let tokenHash: UUID
    /// The device as another server knew it; nil when the app registers it.
    let imported: DeviceImport?

    init(
        _ registration: Registration, as uuid: UUID?, on platform: Platform, _ secrets: Secrets,
        imported: DeviceImport? = nil
    ) {
        let hasImports = imported != nil || platform.hasImports
        self.registration = registration
        self.platform = platform
        named = uuid.flatMap { DeviceName($0, naming: secrets.naming, hasImports: hasImports) }
        tokenHash = secrets.hash(registration.token)
        self.imported = imported
    }

    /// Whether it has more to write than the device.
    var hasMore: Bool { !registration.detail.isEmpty || registration.mirrorCall != nil }

    /// Registrations of one device, or of one token, come one after the other.
    var exclusive: [ExclusiveName] { named.map { [.token(tokenHash), .device($0)] } ?? [.token(tokenHash)] }

    enum ExclusiveName: Hashable, Sendable {
        case token(UUID)
        case device(DeviceName)
    }
}

/// The result of a registration, or of the import of a device.
struct RegisteredDevice: Sendable {
    /// The device that has the token.
    let key: Key<Device>?
    /// nil where a device that was to be imported stayed as it was.
    let device: Device?
    let verdict: ImportVerdict

    func registered() throws -> Device {
        guard let device else { throw StoreError.unavailable("a device was registered and is missing") }
        return device
    }
}

/// Writes many registrations within a write, as if each came after the one before.
///
/// All affected rows are read and locked first. Then each registration changes them in memory, and the results are
/// written with a few statements, however many there are.
struct PostgresRegistrar {
    private let session: PostgresWriteSession
    private let entries: [RegistrationEntry]
    private var platforms: Set<Key<Platform>> = []
    /// How many topics were deleted before this.
    private var topicDeletions: Int64 = 0
    /// The rows as they were read.
    private var before: [Key<Device>: DeviceRow] = [:]
    /// The rows to write, with the names of their topics.
    private var rows: [Key<Device>: Draft] = [:]
    private var holders: [Holding: Key<Device>] = [:]
    private var importedNames: [ImportedName: Key<Device>] = [:]
    /// The devices in `rows` that a registration changes.
    private var applied: Set<Key<Device>> = []
    private var new: [(index: Int, draft: Draft)] = []
    /// Devices that their apps made active again.
    private var rejoined: Set<Key<Device>> = []
    /// Entries refused because a quota of their application is used up.
    private var refusals: [Int: StoreError] = [:]

    private struct Holding: Hashable {
        let platform: Key<Platform>
        let identity: [UInt8]

        init(platform: Key<Platform>, token: DeviceToken) {
            self.platform = platform
            identity = token.identity
        }
    }

    private struct ImportedName: Hashable {
        let platform: Key<Platform>
        let uuid: UUID
    }

    private struct Draft {
        var row: DeviceRow
        var topics: Set<String>
        var labels: Set<String> = []
        var hash: UUID?
        var application: Key<Application>
    }

    /// The result of one entry, before it is written.
    private enum RegistrationResult {
        case created
        case updated(Key<Device>)
        /// Another server's knowledge of the device that has the token is older, and changes nothing.
        case kept(Key<Device>?)
        case refused(any Error)
    }

    /// - Parameter entries: no two of one device or one token; see `TransactionQueue`.
    init(session: PostgresWriteSession, entries: [RegistrationEntry]) {
        self.session = session
        self.entries = entries
    }

    /// The results, in order.
    mutating func register() throws -> [Result<RegisteredDevice, any Error>] {
        try read()
        try checkUsers()
        try checkTopics()
        let fates = entries.indices.map { index in
            do { return try decide(index) } catch { return RegistrationResult.refused(error) }
        }
        let created = try write()
        let results: [Result<RegisteredDevice, any Error>] = fates.enumerated().map { index, fate in
            switch fate {
            case .refused(let error): .failure(error)
            case .created: Result { try registered(created[index], .new) }
            case .updated(let key):
                Result {
                    let isSame = before[key].flatMap { old in rows[key].map { $0.row.isSame(as: old) } } ?? false
                    return try registered(rows[key], isSame ? .duplicate : .updated)
                }
            case .kept(let holder): .success(RegisteredDevice(key: holder, device: nil, verdict: .duplicate))
            }
        }
        if entries.contains(where: \.hasMore) { try writeMore(results) }
        try tell(created)
        return results
    }

    private func registered(_ draft: Draft?, _ verdict: ImportVerdict) throws -> RegisteredDevice {
        guard let draft else { throw StoreError.unavailable("a device was registered and is missing") }
        let device = draft.row.device(naming: session.secrets.naming, topicNames: draft.topics.sorted())
        return RegisteredDevice(key: device.key, device: device, verdict: verdict)
    }

    /// Tells of devices that are active now and were not, and of the reverse.
    private func tell(_ created: [Int: Draft]) throws {
        guard session.listeners.wants(.deviceRegistered) || session.listeners.wants(.deviceGone) else { return }
        let joined =
            created.filter { entries[$0.key].imported == nil }.map(\.value.row)
            + rejoined.compactMap { rows[$0]?.row }
        let gone = before.values.filter { $0.reach != .inactive && rows[$0.key]?.row.reach == .inactive }
        for (kind, rows, reason) in [
            (WebhookEvent.Kind.deviceRegistered, joined, nil), (.deviceGone, gone, "replaced"),
        ] as [(WebhookEvent.Kind, [DeviceRow], String?)] {
            for (platform, rows) in Dictionary(grouping: rows, by: \.platform).sorted(by: { $0.key < $1.key }) {
                try session.tell(kind, rows.map(\.key).sorted(), on: platform, because: reason)
            }
        }
    }

    // MARK: Reading

    private mutating func read() throws {
        // All with one trip.
        let wanted = Set(entries.map(\.platform.key)).sorted()
        let platforms = try session.prepared(PlatformStatements.hold).sendReading(PostgresArray(wanted)) {
            Key<Platform>($0.integer(0))
        }
        let holding = try session.prepared(PostgresDeviceStatements.byToken).sendReading(
            PostgresArray(entries.map(\.platform.key)), PostgresArray(entries.map(\.tokenHash))
        ) { Key<Device>($0.integer(0)) }
        let importedNames = try readImportedNames()
        let topicDeletions = try session.prepared(PostgresTopicDeletionStatements.count).first { $0.integer(0) }
        self.topicDeletions = topicDeletions ?? 0
        self.platforms = Set(try platforms.all())
        for (name, key) in try importedNames?.all() ?? [] { self.importedNames[name] = key }
        let keys = Set(try holding.all() + entries.compactMap(key)).sorted()
        guard !keys.isEmpty else { return }
        let found = try session.prepared(PostgresDeviceStatements.hold).all(PostgresArray(keys), as: DeviceRow.init)
        let names = try session.livingTopics(Set(found.flatMap(\.topics)))
        let applications = Dictionary(
            entries.map { ($0.platform.key, $0.platform.applicationKey) }, uniquingKeysWith: { first, _ in first })
        for row in found {
            guard let application = applications[row.platform] else { continue }
            before[row.key] = row
            rows[row.key] = Draft(
                row: row, topics: [], hash: row.token.map(session.secrets.hash), application: application)
            for name in row.topics.lazy.compactMap({ names[$0] }) {
                if DeviceLabel.isLabel(name) {
                    rows[row.key]?.labels.insert(name)
                } else {
                    rows[row.key]?.topics.insert(name)
                }
            }
            if let token = row.token { holders[Holding(platform: row.platform, token: token)] = row.key }
        }
    }

    private func readImportedNames() throws -> PendingRows<(ImportedName, Key<Device>)>? {
        let wanted = entries.compactMap { entry in
            if case .imported(let uuid) = entry.named { (uuid, entry.platform.key) } else { nil }
        }
        guard !wanted.isEmpty else { return nil }
        return try session.prepared(PostgresDeviceStatements.byImportedUUIDs).sendReading(
            PostgresArray(wanted.map(\.0)), PostgresArray(Set(wanted.map(\.1)).sorted())
        ) { row in
            guard let uuid = row.uuid(2) else { throw StoreError.unavailable("an imported device has no UUID") }
            return (ImportedName(platform: Key(row.integer(1)), uuid: uuid), Key(row.integer(0)))
        }
    }

    /// The device that the entry names, of whichever platform.
    private func key(_ entry: RegistrationEntry) -> Key<Device>? {
        switch entry.named {
        case nil: nil
        case .own(let key): key
        case .imported(let uuid): importedNames[ImportedName(platform: entry.platform.key, uuid: uuid)]
        }
    }

    // MARK: Quotas

    /// The custom user id that devices are counted for.
    private struct User: Hashable {
        let platform: Key<Platform>
        let id: String
    }

    /// Refuses entries whose custom user id, where it is new to their device, has reached its limit of devices.
    private mutating func checkUsers() throws {
        guard let limit = session.quotaCounts.quotas[.userDevices] else { return }
        let wanted = entries.map { newUser(of: $0) }
        let users = Array(Set(wanted.compactMap(\.self)))
        guard !users.isEmpty else { return }
        var counts: [User: Int] = [:]
        try session.prepared(PostgresQuotaStatements.userDevices).each(
            PostgresArray(users.map(\.platform)), PostgresArray(users.map(\.id)), limit
        ) { counts[User(platform: Key($0.integer(0)), id: $0.text(1))] = Int($0.integer(2)) }
        for (index, user) in wanted.enumerated() {
            guard let user else { continue }
            do throws(StoreError) {
                try session.quotaCounts.quotas.check(.userDevices, use: counts[user] ?? 0)
                counts[user, default: 0] += 1
            } catch {
                refusals[index] = error
            }
        }
    }

    private func newUser(of entry: RegistrationEntry) -> User? {
        guard case .set(let id) = entry.registration.customUserID else { return nil }
        let platform = entry.platform.key
        let device = named(entry) ?? holders[Holding(platform: platform, token: entry.registration.token)]
        return device.flatMap { rows[$0]?.row.customUserID } == id ? nil : User(platform: platform, id: id)
    }

    /// Refuses entries with too many new topics.
    private mutating func checkTopics() throws {
        for (application, indices) in Dictionary(grouping: entries.indices, by: { entries[$0].platform.applicationKey })
        {
            let count = indices.reduce(0) { $0 + topicNames(of: entries[$1]).count }
            guard let room = try session.topicRoom(of: application), count > room else { continue }
            let names = indices.reduce(into: Set<TopicName>()) { names, index in
                names.formUnion(topicNames(of: entries[index]))
            }
            var there = try session.existing(names)
            var use = try session.use(QuotaAccount(.topics, of: application))
            for index in indices where refusals[index] == nil {
                let new = topicNames(of: entries[index]).subtracting(there)
                do throws(StoreError) {
                    try session.quotaCounts.quotas.check(.topics, use: use, adding: new.count)
                    there.formUnion(new)
                    use += new.count
                } catch {
                    refusals[index] = error
                }
            }
        }
    }

    private func topicNames(of entry: RegistrationEntry) -> Set<TopicName> {
        let registration = entry.registration
        return Set(
            registration.topics.wanted.union(registration.labels.names)
                .map { TopicName(application: entry.platform.applicationKey, name: $0) })
    }

    // MARK: Deciding

    private mutating func decide(_ index: Int) throws -> RegistrationResult {
        let entry = entries[index]
        let platform = entry.platform.key
        guard platforms.contains(platform) else { throw StoreError.unknown("platform \(platform)") }
        let named = self.named(entry)
        let holding = Holding(platform: platform, token: entry.registration.token)
        guard entry.imported == nil else { return try decideImport(index, named: named, holder: holders[holding]) }
        let isEdit = entry.registration.isEdit
        if isEdit, (named.flatMap { rows[$0]?.row.reach } ?? .inactive) == .inactive { throw StoreError.inactiveDevice }
        if let refusal = refusals[index] { throw refusal }
        switch RegistrationRules(named: named, holder: isEdit ? named : holders[holding]) {
        case .create: return try create(index)
        case .update(let key, let evicted): return try update(key, by: entry, evicting: evicted)
        }
    }

    private mutating func decideImport(
        _ index: Int, named: Key<Device>?, holder: Key<Device>?
    ) throws -> RegistrationResult {
        let entry = entries[index]
        let (known, holding) = (named.flatMap { rows[$0]?.row }, holder.flatMap { rows[$0]?.row })
        switch ImportRules(named: known?.importParty, holder: holding?.importParty) {
        case .create:
            try session.check(.devices, of: entry.platform.applicationKey)
            if let refusal = refusals[index] { throw refusal }
            return try create(index)
        case .update(let key, let evicted):
            if let refusal = refusals[index] { throw refusal }
            return try update(key, by: entry, evicting: evicted)
        // A device that stays as it is exceeds no quota.
        case .name(let key):
            guard case .imported(let uuid) = entry.named else { return .kept(holder) }
            rows[key]?.row.importMark = ImportMark(uuid: uuid, importedAt: session.now, stage: .seen)
            return .updated(key)
        case .keep: return .kept(holder)
        }
    }

    private mutating func create(_ index: Int) throws -> RegistrationResult {
        let entry = entries[index]
        let application = entry.platform.applicationKey
        try session.check(.devices, of: application)
        let row = DeviceRow(
            key: Key(0), platform: entry.platform.key, reach: .inactive, registeredAt: .zero, token: nil, topics: [],
            customUserID: nil, about: entry.registration.about, importMark: nil)
        new.append((index, try applied(entry, to: Draft(row: row, topics: [], application: application))))
        session.note(1, .devices, of: application)
        return .created
    }

    private mutating func update(
        _ key: Key<Device>, by entry: RegistrationEntry, evicting evicted: Key<Device>?
    ) throws -> RegistrationResult {
        guard let old = rows[key] else { preconditionFailure("one of those that were read is updated") }
        let draft = try applied(entry, to: old)
        if let evicted { evict(evicted) }
        let platform = entry.platform.key
        if let token = old.row.token { holders[Holding(platform: platform, token: token)] = nil }
        if let token = draft.row.token { holders[Holding(platform: platform, token: token)] = key }
        rows[key] = draft
        applied.insert(key)
        if entry.imported == nil, before[key]?.reach == .inactive { rejoined.insert(key) }
        return .updated(key)
    }

    private func named(_ entry: RegistrationEntry) -> Key<Device>? {
        key(entry).flatMap { rows[$0] }.flatMap { $0.row.platform == entry.platform.key ? $0.row.key : nil }
    }

    private mutating func evict(_ key: Key<Device>) {
        rows[key]?.row.token = nil
        rows[key]?.row.reach = .inactive
        rows[key]?.hash = nil
    }

    private func applied(_ entry: RegistrationEntry, to old: Draft) throws -> Draft {
        let registration = entry.registration
        var draft = old
        let isRevival = registration.isOfGateway && old.row.reach == .inactive
        draft.topics = registration.topics.applied(to: isRevival ? [] : old.topics)
        guard draft.topics.count <= Registration.topicsMax else {
            throw InvalidInput(
                field: "tags",
                "has \(draft.topics.count) topics with those before, the limit is \(Registration.topicsMax)")
        }
        draft.labels = try registration.labels.applied(to: old.labels)
        draft.row.about = registration.about.filled(from: old.row.about)
        if !registration.isEdit {
            draft.hash = entry.tokenHash
            draft.row.token = registration.token
            draft.row.registeredAt = min(entry.imported?.lastSeenAt ?? session.now, session.now)
            draft.row.reach = DeviceState(kind: entry.platform.kind, osVersion: draft.row.about.osVersion)
            draft.row.noteRegistration(entry.imported?.updating(old.row), by: entry.named, at: session.now)
        }
        switch registration.customUserID {
        case .keep where !isRevival: break
        case .keep, .clear: draft.row.customUserID = nil
        case .set(let id): draft.row.customUserID = id
        }
        return draft
    }

    // MARK: Writing

    /// The devices that are new, by the index of their entry.
    private mutating func write() throws -> [Int: Draft] {
        try nameTopics()
        var postings = PostingChanges()
        try writeChanged(&postings)
        try postings.write(in: session)
        return try insertNew()
    }

    /// Resolves the topics of all changed rows to ids. The topics of a device that was only evicted stay as they are.
    private mutating func nameTopics() throws {
        let changed = rows.filter { applied.contains($0.key) && $0.value.row.token != nil }.map(\.key)
        guard !changed.isEmpty || !new.isEmpty else { return }
        let cached = session.topicCache.topics(since: topicDeletions)
        var unknown: Set<TopicName> = []
        let now = session.now
        nameTopics(of: changed) { name, application in
            if let topic = cached[application]?[name], topic.isLiving(at: now) { return topic }
            unknown.insert(TopicName(application: application, name: name))
            return nil
        }
        guard !unknown.isEmpty else { return }
        let found = try session.intern(unknown)
        session.found = (found, topicDeletions)
        nameTopics(of: changed) { name, application in
            found[TopicName(application: application, name: name)] ?? cached[application]?[name]
        }
    }

    private mutating func nameTopics(
        of changed: [Key<Device>], _ find: (String, Key<Application>) -> Topic?
    ) {
        func ids(_ draft: Draft) -> [Int64] {
            draft.topics.union(draft.labels).compactMap { find($0, draft.application)?.key.rawValue }.sorted()
        }
        for key in changed {
            guard let draft = rows[key] else { continue }
            rows[key]?.row.topics = ids(draft)
        }
        for index in new.indices { new[index].draft.row.topics = ids(new[index].draft) }
    }

    private func writeChanged(_ postings: inout PostingChanges) throws {
        var touched: [Key<Device>] = []
        var freed: [Key<Device>] = []
        var changed: [Draft] = []
        var staleDevices: [Key<Device>] = []
        for (key, draft) in rows.sorted(by: { $0.key < $1.key }) {
            guard let old = before[key] else { continue }
            if old.token != nil, old.token != draft.row.token { freed.append(key) }
            session.count(draft.row.reach, insteadOf: old.reach, on: draft.row.platform)
            if !draft.row.isSame(as: old) {
                if draft.row.token != nil { changed.append(draft) }
                if !draft.row.hasTexts(of: old) { staleDevices.append(key) }
                postings.move(key, on: draft.row.platform, from: old.postings, to: draft.row.postings)
            } else if draft.row.registeredAt == session.now, draft.row.registeredAt != old.registeredAt {
                touched.append(key)
            } else if draft.row.registeredAt != old.registeredAt {
                changed.append(draft)
            }
        }
        try session.noteStaleDevices(staleDevices)
        if !touched.isEmpty {
            try session.prepared(PostgresDeviceStatements.touch).send(session.now, PostgresArray(touched))
        }
        if !freed.isEmpty { try session.prepared(PostgresDeviceStatements.evict).send(PostgresArray(freed)) }
        for draft in changed {
            let (row, about) = (draft.row, draft.row.about)
            try session.prepared(DeviceStatements.update).send(
                row.reach.rawValue, row.registeredAt, draft.hash, row.token?.bytes, TopicList.encode(row.topics),
                row.customUserID, about.os, about.osVersion, about.model, about.manufacturer, about.alias, row.key)
            if let mark = row.importMark, mark != before[row.key]?.importMark {
                try session.prepared(DeviceStatements.mark).send(
                    mark.uuid, mark.importedAt, mark.stage.rawValue, row.key)
            }
        }
    }

    /// Writes details and calls for an old server, in the order of the devices. Fixed lock order; avoids deadlocks.
    private func writeMore(_ results: [Result<RegisteredDevice, any Error>]) throws {
        let written = zip(entries, results).compactMap { entry, result in
            (try? result.get()).flatMap { made in made.key.map { (entry: entry, key: $0, verdict: made.verdict) } }
        }.sorted { $0.key < $1.key }
        for (entry, key, verdict) in written {
            // A device that an app registered here keeps its details, also where it gets its old UUID.
            let isFirst =
                entry.imported != nil && (verdict == .duplicate || verdict == .updated && !applied.contains(key))
            try session.set(entry.registration.detail, of: key, on: entry.platform.key, isFirst: isFirst)
        }
        // All with one trip.
        let insert = try session.prepared(MirrorStatements.insert)
        let kept = try written.compactMap { entry, key, _ in
            try entry.registration.mirrorCall.map { call in
                try insert.sendReading(
                    entry.platform.key, key, call.method.rawValue, call.body, session.now, MirrorEntry.backlogMax
                ) { _ in true }
            }
        }
        session.effects.unmirrored += try kept.count { try $0.all().isEmpty }
    }

    private func insertNew() throws -> [Int: Draft] {
        guard !new.isEmpty else { return [:] }
        // In the order of the unique index. Fixed lock order; avoids deadlocks.
        let drafts = new.sorted { entries[$0.index].tokenHash < entries[$1.index].tokenHash }
        let columns = DeviceColumns(of: drafts.map { ($0.draft.row, $0.draft.hash) })
        var keys: [UUID: [Key<Platform>: Key<Device>]] = [:]
        try session.prepared(PostgresDeviceStatements.insert).each(
            columns.platforms, columns.reaches, columns.hashes, columns.tokens, columns.topics, columns.users,
            columns.systems, columns.versions, columns.models, columns.manufacturers, columns.aliases, columns.times,
            columns.importedUUIDs, columns.importTimes, columns.importStages
        ) { row in
            if let hash = row.uuid(2) { keys[hash, default: [:]][Key(row.integer(1))] = Key(row.integer(0)) }
        }
        var created: [Int: Draft] = [:]
        for (index, var draft) in drafts {
            guard let key = draft.hash.flatMap({ keys[$0]?[draft.row.platform] }) else {
                throw PostgresError(
                    .refused, sqlState: .serializationFailure, message: "a token was registered elsewhere meanwhile")
            }
            draft.row.key = key
            created[index] = draft
        }
        return created
    }
}

/// New devices, column by column.
private struct DeviceColumns {
    let platforms: PostgresArray<Key<Platform>>
    let reaches: PostgresArray<Int64>
    let hashes: PostgresArray<UUID?>
    let tokens: PostgresArray<[UInt8]?>
    let topics: PostgresArray<[UInt8]>
    let users: PostgresArray<String?>
    let systems: PostgresArray<String?>
    let versions: PostgresArray<String?>
    let models: PostgresArray<String?>
    let manufacturers: PostgresArray<String?>
    let aliases: PostgresArray<String?>
    let times: PostgresArray<Instant>
    let importedUUIDs: PostgresArray<UUID?>
    let importTimes: PostgresArray<Instant?>
    let importStages: PostgresArray<Int64?>

    init(of devices: [(row: DeviceRow, hash: UUID?)]) {
        let rows = devices.map(\.row)
        platforms = PostgresArray(rows.map(\.platform))
        reaches = PostgresArray(rows.map(\.reach.rawValue))
        hashes = PostgresArray(devices.map(\.hash))
        tokens = PostgresArray(rows.map { $0.token?.bytes })
        topics = PostgresArray(rows.map { TopicList.encode($0.topics) })
        users = PostgresArray(rows.map(\.customUserID))
        systems = PostgresArray(rows.map(\.about.os))
        versions = PostgresArray(rows.map(\.about.osVersion))
        models = PostgresArray(rows.map(\.about.model))
        manufacturers = PostgresArray(rows.map(\.about.manufacturer))
        aliases = PostgresArray(rows.map(\.about.alias))
        times = PostgresArray(rows.map(\.registeredAt))
        // `unnest` fills what is shorter with nulls.
        let marks = rows.contains { $0.importMark != nil } ? rows.map(\.importMark) : []
        importedUUIDs = PostgresArray(marks.map { $0?.uuid })
        importTimes = PostgresArray(marks.map { $0?.importedAt })
        importStages = PostgresArray(marks.map { $0?.stage.rawValue })
    }
}
