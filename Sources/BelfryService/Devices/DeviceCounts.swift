import GRDB

/// The number of devices of platforms, from the counts that the search index keeps for each segment.
///
/// Devices are deleted only with their platform or application, and the counts go with them.
extension Database {
    func deviceCount(on platforms: [Key<Platform>]) throws -> Int {
        let kept = try prepared(DeviceCountStatements.kept)
        let behind = try prepared(DeviceCountStatements.behind)
        return try platforms.reduce(0) { sum, platform in
            let counted = try kept.first(platform) { Int($0.integer(0)) } ?? 0
            return try sum + counted + (behind.first(platform) { Int($0.integer(0)) } ?? 0)
        }
    }

    /// The end of the last segment before a position in the list of all devices, and the number of devices before it.
    func device(of platforms: [Key<Platform>], skipping count: Int) throws -> (device: Key<Device>, skipped: Int)? {
        var segments: [Int64: Int] = [:]
        let statement = try prepared(DeviceCountStatements.bySegment)
        for platform in platforms {
            try statement.each(platform) { segments[$0.integer(0), default: 0] += Int($0.integer(1)) }
        }
        var start: (device: Key<Device>, skipped: Int)?
        for (device, size) in segments.sorted(by: { $0.key < $1.key }) {
            let skipped = (start?.skipped ?? 0) + size
            guard skipped <= count else { break }
            start = (Key(device), skipped)
        }
        return start
    }
}

enum DeviceCountStatements {
    static let insert = """
        INSERT INTO search_index_count /* device_counts.insert */ (platform_id, last_device_id, device_count)
        VALUES (?1, ?2, ?3)
        """

    static let noteStaleDevice = """
        INSERT INTO search_index_stale /* search_index.note_stale */ (device_id) VALUES (?1)
            ON CONFLICT (device_id) DO UPDATE SET changes = changes + 1
        """

    /// Scans the primary key.
    static let kept = "SELECT sum(device_count) /* device_counts.kept */ FROM search_index_count WHERE platform_id = ?1"

    /// Devices that are not indexed yet: few.
    static let behind = """
        SELECT count(*) /* device_counts.behind */ FROM device
         WHERE id > (SELECT device_id FROM search_index WHERE id = 1) AND +platform_id = ?1
        """

    /// Scans the primary key.
    static let bySegment = """
        SELECT last_device_id, device_count /* device_counts.by_segment */ FROM search_index_count
         WHERE platform_id = ?1
         ORDER BY last_device_id
        """
}

extension SQLiteWriteSession {
    func noteIndexed(_ counts: [Int64: Int], until device: Int64) throws {
        let insert = try prepared(DeviceCountStatements.insert)
        for (platform, count) in counts { try insert.run(platform, device, count) }
    }

    /// Called for a device whose row was changed.
    func noteStaleDevice(_ row: DeviceRow, insteadOf old: DeviceRow) throws {
        if !row.hasTexts(of: old) { try prepared(DeviceCountStatements.noteStaleDevice).run(row.key) }
    }
}
