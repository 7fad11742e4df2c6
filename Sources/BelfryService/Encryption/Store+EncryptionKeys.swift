import FoundationEssentials

/// A device that messages can be encrypted for.
struct KeyedDevice: Sendable {
    let uuid: UUID
    let platform: Platform
    let keys: EncryptionKeys

    /// A position in the devices of an audience, by platform and then by key.
    struct Place: Sendable {
        let platform: Key<Platform>
        let device: Key<Device>
    }

    struct Slice: Sendable {
        var devices: [KeyedDevice] = []
        /// The position up to which the audience was read; nil where it has ended.
        var end: Place?
    }
}

extension Store {
    /// The next devices of an audience that have keys. It looks at a bounded number of devices, so it may find few or none before the end.
    func encryptionKeys(
        of draft: AudienceDraft, after place: KeyedDevice.Place?, limit: Int
    ) async throws -> KeyedDevice.Slice {
        let platforms = draft.platforms.filter(\.kind.takesEncryption).sorted { $0.key < $1.key }
            .drop { $0.key < place?.platform ?? Key(0) }
        var page = KeyedDevice.Slice()
        var left = Self.keyedLookMax
        for platform in platforms {
            var after = platform.key == place?.platform ? place?.device : nil
            repeat {
                guard left > 0, page.devices.count < limit else {
                    page.end = KeyedDevice.Place(platform: platform.key, device: after ?? Key(0))
                    return page
                }
                let slice = try await slice(
                    of: draft.audience, on: platform.key, after: after, limit: Self.keyedStep)
                left -= Self.keyedStep
                let found = try await keyed(slice.devices, on: platform)
                let room = limit - page.devices.count
                page.devices += found.prefix(room).map(\.device)
                guard found.count <= room else {
                    page.end = KeyedDevice.Place(platform: platform.key, device: found[room - 1].key)
                    return page
                }
                after = slice.end
            } while after != nil
        }
        return page
    }

    private func keyed(
        _ devices: [Key<Device>], on platform: Platform
    ) async throws -> [(key: Key<Device>, device: KeyedDevice)] {
        guard !devices.isEmpty else { return [] }
        return try await readCommitted { [secrets] db in
            try db.prepared(EncryptionKeyStatements.of).all(platform.key, SQLKeys(devices)) { row in
                let key = Key<Device>(row.integer(0))
                guard let keys = row.blobIfAny(4).flatMap(EncryptionKeys.init(stored:)) else { return nil }
                let own = secrets.naming.uuid(of: key)
                let uuid = try ImportMark(row, from: 1)?.name(own: own) ?? own
                return (key, KeyedDevice(uuid: uuid, platform: platform, keys: keys))
            }.compactMap(\.self)
        }
    }

    private static var keyedStep: Int { 512 }
    /// The devices that one page looks at.
    private static var keyedLookMax: Int { 4_096 }
}

enum EncryptionKeyStatements {
    /// Looks the details of each device up by their key, and then the device by its own. A condition on the device's platform would let
    /// PostgreSQL scan all its devices.
    static let of: SQLText = """
        SELECT device.id, imported_uuid, imported_at_ms, import_stage, encryption_keys /* encryption_keys.of */
          FROM device_detail JOIN device ON device.id = device_detail.device_id
         WHERE device_detail.platform_id = $1 AND device_detail.device_id \(among: "$2") AND device.reach > 0
         ORDER BY device_detail.device_id
        """
}
