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
        let holder = named?.token == registration.token ? named : try tokenHolder()
        switch RegistrationRules(named: named?.key, holder: holder?.key) {
        case .create:
            return try create()
        case .update(let key, let evicted):
            guard let row = named?.key == key ? named : holder else { preconditionFailure("one of the two is updated") }
            return try update(row, evicting: evicted == nil ? nil : holder).device
        }
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
            row.about.manufacturer, row.about.alias)
        row.key = Key<Device>(session.db.lastInsertedRowID)
        let key = row.key
        if row.importMark != nil { try session.mark(row) }
        session.note(1, .devices, of: platform.applicationKey)
        try SQLiteSubscriptionMerge(session: session).noteNew(key)
        try TokenIndex(session: session).note(tokenHash, of: key, on: platform.key)
        return row.device(naming: session.secrets.naming, topicNames: names)
    }

    func update(_ old: DeviceRow, evicting evicted: DeviceRow?) throws -> (device: Device, isChanged: Bool) {
        var row = old
        let names = try apply(to: &row)
        if let evicted { try session.evict(evicted, on: platform.key) }
        let isChanged = !row.isSame(as: old)
        if row.importMark != old.importMark { try session.mark(row) }
        if !isChanged {
            try session.prepared(SQLiteDeviceStatements.touch).run(row.registeredAt, row.key)
        } else {
            try session.prepared(DeviceStatements.update).run(
                row.reach.rawValue, row.registeredAt, tokenHash, registration.token.bytes,
                TopicList.encode(row.topics), row.customUserID, row.about.os, row.about.osVersion, row.about.model,
                row.about.manufacturer, row.about.alias, row.key)
            if row.token != old.token {
                try TokenIndex(session: session).note(tokenHash, of: row.key, on: platform.key)
            }
            try session.movePostings(of: row.key, on: platform.key, from: old.postings, to: row.postings)
            try session.noteStaleDevice(row, insteadOf: old)
        }
        return (row.device(naming: session.secrets.naming, topicNames: names), isChanged)
    }

    /// Applies the registration to the row, and returns the names of its topics. A known device may repeat its values,
    /// however full the application is.
    private func apply(to row: inout DeviceRow) throws -> [String] {
        row.token = registration.token
        row.registeredAt = min(imported?.lastSeenAt ?? session.now, session.now)
        row.about = registration.about.filled(from: row.about)
        row.reach = DeviceState(kind: platform.kind, osVersion: row.about.osVersion)
        row.noteRegistration(imported, by: named, at: session.now)
        switch registration.customUserID {
        case .keep: break
        case .clear: row.customUserID = nil
        case .set(let id):
            if id != row.customUserID { try session.checkDevices(ofUser: id, on: platform.key) }
            row.customUserID = id
        }
        let names = try topicNames(after: row.topics, at: session.now)
        row.topics = try session.intern(names, in: platform.applicationKey, at: session.now).sorted()
        return names
    }

    private func topicNames(after topics: [Int64], at now: Instant) throws -> [String] {
        var old: Set<String> = []
        if case .change = registration.topics {
            for id in topics {
                let name = try session.topics.name(of: id, in: platform.applicationKey, at: now, session.db)
                if let name { old.insert(name) }
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
    func device(_ key: Key<Device>, on platform: Key<Platform>) throws -> DeviceRow? {
        try prepared(DeviceStatements.byKey).first(key, platform, as: DeviceRow.init)
    }

    /// Takes the token from a device, and removes the device from all lists. Its row stays.
    func evict(_ row: DeviceRow, on platform: Key<Platform>) throws {
        try prepared(SQLiteDeviceStatements.evict).run(row.key)
        try movePostings(of: row.key, on: platform, from: row.postings, to: [])
    }

    func deactivate(_ deadTokens: [Settlement.DeadToken], on platform: Key<Platform>) throws {
        for deadToken in deadTokens {
            guard
                let row = try device(deadToken.device, on: platform), row.reach != .inactive,
                row.registeredAt < deadToken.since
            else { continue }
            try deactivate(row, on: platform)
        }
    }

    /// Removes an active device from all lists. Its row stays.
    func deactivate(_ row: DeviceRow, on platform: Key<Platform>) throws {
        try prepared(SQLiteDeviceStatements.deactivate).run(row.key)
        try movePostings(of: row.key, on: platform, from: row.postings, to: [])
    }
}
