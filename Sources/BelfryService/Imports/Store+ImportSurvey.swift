import FoundationEssentials

extension Store {
    /// Storage for a dry run of an import, which ends with the value.
    package func importScratch() async throws -> any ImportScratch {
        do { return try ImportScratchFile() } catch { throw error.asStoreError }
    }

    /// Looks up the devices and topics that an import of the devices would meet.
    ///
    /// - Parameter devices: at most `DeviceImport.perWrite`.
    package func importSurvey(of devices: [DeviceImport], on platform: Platform) async throws -> ImportSurvey {
        let holders = try await holders(of: devices.map(\.registration.token), on: platform.key)
        // Where a platform has no imports, no device goes by the UUID of another server.
        let hasImports = try await self.platform(platform.key)?.hasImports == true
        let naming = secrets.naming
        let names = devices.map { $0.uuid.flatMap { DeviceName($0, naming: naming, hasImports: hasImports) } }
        let userLimit = quotaCounts.quotas[.userDevices]
        let now = clock.now
        return try await readCommitted { db in
            let named = try names.map { try $0.flatMap { try db.device($0, on: platform.key) } }
            let keys = Set(named.compactMap(\.self) + holders.values.map(\.device)).sorted()
            let found = try db.devices(keys, on: platform.key, naming: naming, at: now)
            let users = Set(devices.compactMap(\.user)).sorted()
            let counts = try userLimit.map { try db.deviceCounts(ofUsers: users, on: platform.key, atMost: $0) } ?? [:]
            let parties = zip(devices, named).map { device, named in
                let owner = named.flatMap { found[$0] }
                let holder = holders[device.registration.token].flatMap { found[$0.device] }
                return ImportSurvey.Parties(
                    named: owner?.device, holder: holder?.device,
                    isForeign: device.uuid.map { naming.device(of: $0) == nil } ?? false,
                    userDevices: device.user.flatMap { counts[$0] } ?? 0,
                    ownerLabels: owner?.labels ?? [], holderLabels: holder?.labels ?? [])
            }
            let topics = devices.reduce(into: Set<String>()) { $0.formUnion($1.topicNames) }
            return ImportSurvey(
                parties: parties, topics: try db.livingTopics(topics, of: platform.applicationKey, at: now))
        }
    }
}

extension SQLConnection {
    /// The given devices with their labels, without those that are on another platform.
    fileprivate func devices(
        _ keys: [Key<Device>], on platform: Key<Platform>, naming: DeviceNaming, at now: Instant
    ) throws -> [Key<Device>: (device: Device, labels: Set<String>)] {
        guard !keys.isEmpty else { return [:] }
        let rows = try prepared(DirectoryStatements.byKeys).all(SQLKeys(keys), as: DeviceRow.init)
        var devices: [Key<Device>: (device: Device, labels: Set<String>)] = [:]
        for row in rows where row.platform == platform {
            let names = try topicNames(row.topics, at: now)
            // Most devices have no labels, and cost no look-up.
            let known = try names.count == row.topics.count ? [] : labels(row.topics)
            devices[row.key] = (device: row.device(naming: naming, topicNames: names), labels: Set(known))
        }
        return devices
    }
}

/// The devices and topics that an import would find in the database, read and not changed.
package struct ImportSurvey: Sendable, Hashable {
    /// For each device of the import, in order.
    package let parties: [Parties]
    /// The topics of the devices that exist already.
    package let topics: Set<String>

    package struct Parties: Sendable, Hashable {
        /// The device that has the row's UUID.
        package let named: Device?
        /// The device that has the row's token.
        package let holder: Device?
        /// Whether this server never issued the row's UUID, so that a device may use it.
        package let isForeign: Bool
        /// The active devices of the row's custom user id on the platform, counted up to their quota; 0 without one.
        package let userDevices: Int
        /// The labels of the device that has the row's UUID, and of the one that has its token.
        package let ownerLabels: Set<String>
        package let holderLabels: Set<String>
    }
}
