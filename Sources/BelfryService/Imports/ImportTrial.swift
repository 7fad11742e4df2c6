import FoundationEssentials

/// Judges the rows of a list as an import would, and writes nothing to the database.
///
/// A row may repeat a token or a UUID of any earlier row. So the changes of earlier rows are kept in a scratch file, and memory stays
/// flat.
actor ImportTrial {
    private let scratch: any ImportScratch
    private var state: ImportTrialState

    /// - Parameter quotas: the application's use of its quotas before the first row.
    init(scratch: any ImportScratch, quotas: [QuotaUse]) {
        self.scratch = scratch
        state = ImportTrialState(quotas: quotas)
    }

    /// The verdicts, in order. Called for each part of a list in turn.
    func verdicts(on rows: [ImportTrialRow]) async throws -> [ImportVerdict] {
        var state = state
        state.begin(try await scratch.values(of: Array(Set(rows.flatMap(state.names)))))
        state.add(try await scratch.values(of: Array(Set(rows.flatMap(state.devices)))))
        state.add(try await scratch.values(of: Array(Set(rows.flatMap(state.users)))))
        let verdicts = rows.map { state.judge($0) }
        try await scratch.set(state.changes)
        self.state = state
        return verdicts
    }
}

/// A row of a dry run, and the devices and topics that it meets.
struct ImportTrialRow: Sendable {
    let platform: Platform
    let device: DeviceImport
    let parties: ImportSurvey.Parties
    /// The topics and labels of the device that the application does not have yet.
    let newTopics: Set<String>
}

/// The changes that the rows of a list would have made so far.
///
/// Devices are compared by 64-bit hashes of their fields: two that differ are taken for equal once in 10^19 times.
struct ImportTrialState: Sendable {
    private let quotas: Quotas
    private var deviceCount: Int
    private var topicCount: Int
    /// Devices that the list would create have keys below zero.
    private var lastKey: Int64 = 0
    private let hash: SipHash
    /// The values that earlier rows left for the current rows, by hash.
    private var values: [UInt64: [UInt64]] = [:]
    private(set) var changes: [UInt64: [UInt64]] = [:]

    init(quotas: [QuotaUse]) {
        var limits: [Quota: Int] = [:]
        for use in quotas { limits[use.quota] = use.limit }
        self.quotas = Quotas(limits)
        deviceCount = quotas.first { $0.quota == .devices }?.use ?? 0
        topicCount = quotas.first { $0.quota == .topics }?.use ?? 0
        hash = SipHash(key0: .random(in: 0...UInt64.max), key1: .random(in: 0...UInt64.max))
    }

    mutating func begin(_ values: [UInt64: [UInt64]]) {
        self.values = values
        changes = [:]
    }

    mutating func add(_ values: [UInt64: [UInt64]]) { self.values.merge(values) { old, _ in old } }

    // MARK: What is kept, and where

    private enum Subject: UInt64 {
        case token, uuid, device, topic, user
    }

    private func place(_ subject: Subject, _ owner: Int64, _ name: UInt64) -> UInt64 {
        hash.hash(hash.hash(hash.hash(subject.rawValue) ^ UInt64(bitPattern: owner)) ^ name)
    }

    private func token(of row: ImportTrialRow) -> UInt64 { hash.hash(row.device.registration.token.identity) }

    private func tokenPlace(_ row: ImportTrialRow) -> UInt64 {
        place(.token, row.platform.key.rawValue, token(of: row))
    }

    private func uuidPlace(_ row: ImportTrialRow) -> UInt64? {
        guard row.parties.isForeign, let words = row.device.uuid?.words else { return nil }
        return place(.uuid, row.platform.key.rawValue, hash.hash(hash.hash(words.0) ^ words.1))
    }

    private func userPlace(_ user: UInt64, _ row: ImportTrialRow) -> UInt64 {
        place(.user, row.platform.key.rawValue, user)
    }

    private func topicPlace(_ name: String, _ row: ImportTrialRow) -> UInt64 {
        place(.topic, row.platform.applicationKey.rawValue, hash.hash(text: name))
    }

    private func devicePlace(_ key: Int64) -> UInt64 { place(.device, 0, UInt64(bitPattern: key)) }

    /// The places at which the names of a row may lead to devices.
    func names(of row: ImportTrialRow) -> [UInt64] {
        [tokenPlace(row)] + (uuidPlace(row).map { [$0] } ?? []) + row.newTopics.map { topicPlace($0, row) }
    }

    /// The places of the devices that a row may meet.
    func devices(of row: ImportTrialRow) -> [UInt64] {
        let named = [tokenPlace(row), uuidPlace(row)].compactMap { $0.flatMap(key(at:)) }
        let found = [row.parties.named, row.parties.holder].compactMap { $0?.key.rawValue }
        return (named + found).map(devicePlace)
    }

    /// The places of the device counts of users, where the row adds a device or takes one away.
    func users(of row: ImportTrialRow) -> [UInt64] {
        let met = [
            device(uuidPlace(row).flatMap(key(at:)), row.parties.named),
            device(key(at: tokenPlace(row)), row.parties.holder),
        ]
        let users = met.compactMap { $0?.user } + [row.device.user.map(hash.hash(text:)) ?? 0]
        return users.filter { $0 != 0 }.map { userPlace($0, row) }
    }

    private func key(at place: UInt64) -> Int64? { values[place]?.first.map(Int64.init(bitPattern:)) }

    private mutating func set(_ value: [UInt64], at place: UInt64) {
        values[place] = value
        changes[place] = value
    }

    // MARK: Judging

    mutating func judge(_ row: ImportTrialRow) -> ImportVerdict {
        let named = device(uuidPlace(row).flatMap(key(at:)), row.parties.named)
        let token = token(of: row)
        let holder = device(key(at: tokenPlace(row)), row.parties.holder).flatMap { $0.token == token ? $0 : nil }
        do {
            switch ImportRules(named: named?.party, holder: holder?.party) {
            case .create:
                try quotas.check(.devices, use: deviceCount)
                try check(row, against: nil)
                deviceCount += 1
                lastKey -= 1
                _ = take(row, as: lastKey, insteadOf: nil)
                return .new
            case .update(let key, let evicted):
                let old = named?.key == key.rawValue ? named : holder
                try check(row, against: old)
                if evicted != nil, let holder {
                    count(-1, holder, row)
                    set(holder.evicted.words, at: devicePlace(holder.key))
                }
                return take(row, as: key.rawValue, insteadOf: old) ? .updated : .duplicate
            case .name(let key):
                guard let place = uuidPlace(row), var seen = holder else { return .duplicate }
                seen.mark = ImportMark(uuid: row.device.uuid, importedAt: .zero, stage: .seen)
                set(seen.words, at: devicePlace(key.rawValue))
                set([UInt64(bitPattern: key.rawValue)], at: place)
                return .updated
            case .keep: return .duplicate
            }
        } catch {
            return .refused("\(error)")
        }
    }

    /// The device as earlier rows left it, or as it is in the database.
    private func device(_ key: Int64?, _ found: Device?) -> TrialDevice? {
        guard let key = key ?? found?.key.rawValue else { return nil }
        if let words = values[devicePlace(key)] { return TrialDevice(key: key, words) }
        return found.map { TrialDevice($0, hash) }
    }

    /// Throws where the row would exceed a quota, or give the device too many labels. Those of earlier rows are not known.
    private func check(_ row: ImportTrialRow, against old: TrialDevice?) throws {
        let parties = row.parties
        let met = [(parties.named, parties.ownerLabels), (parties.holder, parties.holderLabels)]
        let labels = met.first { device, _ in device?.key.rawValue == old?.key }?.1 ?? []
        _ = try row.device.registration.labels.applied(to: labels)
        if let user = row.device.user.map(hash.hash(text:)), old?.user != user {
            let change = Int64(bitPattern: values[userPlace(user, row)]?.first ?? 0)
            try quotas.check(.userDevices, use: row.parties.userDevices + Int(change))
        }
        try quotas.check(.topics, use: topicCount, adding: newTopics(of: row).count)
    }

    private func newTopics(of row: ImportTrialRow) -> [String] {
        row.newTopics.filter { values[topicPlace($0, row)] == nil }
    }

    /// Counts an active device for its user.
    private mutating func count(_ change: Int64, _ device: TrialDevice, _ row: ImportTrialRow) {
        guard device.isActive, device.user != 0 else { return }
        let place = userPlace(device.user, row)
        set([UInt64(bitPattern: Int64(bitPattern: values[place]?.first ?? 0) + change)], at: place)
    }

    /// Gives the device the values of the row; returns whether it had others.
    private mutating func take(_ row: ImportTrialRow, as key: Int64, insteadOf old: TrialDevice?) -> Bool {
        for name in newTopics(of: row) {
            topicCount += 1
            set([], at: topicPlace(name, row))
        }
        let place = uuidPlace(row)
        let given = place == nil ? nil : row.device.uuid
        let uuid = old?.mark?.uuid ?? given
        let new = TrialDevice(
            key: key, row.device, mark: ImportMark(uuid: uuid, importedAt: .zero), filledFrom: old, hash)
        if let old { count(-1, old, row) }
        count(1, new, row)
        set(new.words, at: devicePlace(key))
        set([UInt64(bitPattern: key)], at: tokenPlace(row))
        if let place, uuid == given { set([UInt64(bitPattern: key)], at: place) }
        return new != old
    }
}

/// A device as a dry run compares it: each field by its hash, 0 for none.
private struct TrialDevice: Sendable, Hashable {
    let key: Int64
    var token: UInt64
    var isActive: Bool
    var mark: ImportMark?
    var user: UInt64
    var about: [UInt64]
    var topics: Set<UInt64>

    init(_ device: Device, _ hash: SipHash) {
        key = device.key.rawValue
        token = device.token.map { hash.hash($0.identity) } ?? 0
        isActive = device.isActive
        mark = device.importMark.map { ImportMark(uuid: $0.uuid, importedAt: .zero, stage: $0.stage) }
        topics = Set(device.topics.map(hash.hash(text:)))
        user = device.customUserID.map(hash.hash(text:)) ?? 0
        about = device.about.texts.map { $0.map(hash.hash(text:)) ?? 0 }
    }

    init(key: Int64, _ device: DeviceImport, mark: ImportMark, filledFrom old: TrialDevice?, _ hash: SipHash) {
        self.key = key
        self.mark = mark
        token = hash.hash(device.registration.token.identity)
        // As `DeviceImport.updating`.
        isActive = device.isActive && (old.map { $0.isActive || $0.token == 0 } ?? true)
        topics = Set(device.registration.topics.wanted.map(hash.hash(text:)))
        if case .change = device.registration.topics { topics.formUnion(old?.topics ?? []) }
        user =
            switch device.registration.customUserID {
            case .keep: old?.user ?? 0
            case .clear: 0
            case .set(let id): hash.hash(text: id)
            }
        about = device.registration.about.texts.enumerated().map { place, text in
            text.map(hash.hash(text:)) ?? old?.about[place] ?? 0
        }
    }

    init(key: Int64, _ words: [UInt64]) {
        self.key = key
        (token, isActive, user) = (words[0], words[1] == 1, words[5])
        mark = ImportMark.State(rawValue: Int64(bitPattern: words[2])).map { stage in
            ImportMark(
                uuid: words[3] | words[4] == 0 ? nil : UUID(words: words[3], words[4]), importedAt: .zero, stage: stage)
        }
        let rest = words[6...]
        about = Array(rest.prefix(Device.About.textsCount))
        topics = Set(rest.dropFirst(Device.About.textsCount))
    }

    var words: [UInt64] {
        let uuid = mark?.uuid?.words ?? (0, 0)
        let own: [UInt64] = [
            token, isActive ? 1 : 0, UInt64(bitPattern: mark?.stage.rawValue ?? -1), uuid.0, uuid.1, user,
        ]
        return own + about + topics
    }

    /// The device without its token, which another device has from now on.
    var evicted: TrialDevice {
        var device = self
        (device.token, device.isActive) = (0, false)
        return device
    }

    var party: ImportRules.Party { ImportRules.Party(key: Key(key), mark: mark) }
}

extension Device.About {
    fileprivate var texts: [String?] { [os, osVersion, model, manufacturer, alias] }

    fileprivate static let textsCount = 5
}

extension SipHash {
    /// Never 0.
    fileprivate func hash(text: String) -> UInt64 { hash(Array(text.utf8)) | 1 }
}
