import FoundationEssentials

// Devices that another server named. Where a platform has no imports, nothing is looked up.

extension Store {
    /// The device that a UUID may name on a platform; nil where it can name none.
    func name(_ uuid: UUID, on platform: Key<Platform>) async throws -> DeviceName? {
        if let key = secrets.naming.device(of: uuid) { return .own(key) }
        return try await self.platform(platform)?.hasImports == true ? .imported(uuid) : nil
    }

    /// The UUIDs that another server gave to devices, by the devices' own UUIDs.
    ///
    /// - Parameter platforms: where the devices are. Where those have no imports, nothing is looked up.
    func namesOutside(of uuids: [UUID], on platforms: Set<Key<Platform>>) async throws -> [UUID: UUID] {
        var hasImports = false
        for key in platforms where !hasImports { hasImports = try await platform(key)?.hasImports == true }
        let naming = secrets.naming
        let keys = hasImports ? uuids.compactMap(naming.device(of:)) : []
        guard !keys.isEmpty else { return [:] }
        return try await readCommitted { db in
            var names: [UUID: UUID] = [:]
            try db.prepared(DeviceStatements.namesOutside).each(
                SQLKeys(keys), ImportMark.State.renamed.rawValue
            ) { row in
                names[naming.uuid(of: Key(row.integer(0)))] = row.uuid(1)
            }
            return names
        }
    }
}

/// The device that a UUID may name, as far as that is known without the database.
enum DeviceName: Sendable, Hashable {
    /// A device of this database, by its own UUID.
    case own(Key<Device>)
    /// A UUID that another server may have given.
    case imported(UUID)

    /// - Parameter hasImports: whether the device's platform has imports.
    init?(_ uuid: UUID, naming: DeviceNaming, hasImports: Bool) {
        if let key = naming.device(of: uuid) {
            self = .own(key)
        } else if hasImports {
            self = .imported(uuid)
        } else {
            return nil
        }
    }
}

extension SQLConnection {
    /// The device behind a name, which may be none of the platform's.
    func device(_ name: DeviceName, on platform: Key<Platform>) throws -> Key<Device>? {
        switch name {
        case .own(let key): key
        case .imported(let uuid): try device(importedAs: uuid, on: [platform])
        }
    }

    /// The platforms of devices; a key without a device is left out.
    func platforms(of keys: [Key<Device>]) throws -> [Key<Device>: Key<Platform>] {
        if keys.count <= 1 {
            guard let key = keys.first else { return [:] }
            return try prepared(DeviceStatements.platform).first(key) { [key: Key<Platform>($0.integer(0))] } ?? [:]
        }
        var platformOf: [Key<Device>: Key<Platform>] = [:]
        try prepared(DeviceStatements.platforms).each(SQLKeys(keys)) { row in
            platformOf[Key(row.integer(0))] = Key(row.integer(1))
        }
        return platformOf
    }

    /// The device of one of the platforms that another server gave the UUID.
    func device(importedAs uuid: UUID, on platforms: [Key<Platform>]) throws -> Key<Device>? {
        try prepared(DeviceStatements.byImportedUUID).first(uuid, SQLKeys(platforms)) { Key<Device>($0.integer(0)) }
    }
}

extension WriteSession {
    /// Notes that the platform has imports. Comes before devices of another server are written, so that all look for their UUIDs.
    func noteImports(on platform: Platform) throws {
        guard !platform.hasImports, try prepared(PlatformStatements.noteImports).run(platform.key) > 0 else { return }
        registryChanged()
    }
}

extension PlatformStatements {
    static let noteImports: SQLText = """
        UPDATE platform /* platforms.note_imports */ SET has_imports = true WHERE id = $1 AND NOT has_imports
        """
}
