package import FoundationEssentials
import GRDB

/// One installation of an app: a token of its platform's provider, and what the app reported about itself.
package struct Device: Sendable, Hashable {
    /// Stops counting inactive devices of a platform here, and those that were imported and not seen since.
    package static let (inactiveCountMax, unseenCountMax) = (10_000, 1_000_000)

    package let key: Key<Device>
    /// The public UUID: an imported one until its app uses `ownUUID`.
    package let uuid: UUID
    /// The UUID that this server assigned; it stays valid beside an imported one.
    package let ownUUID: UUID
    package let platformKey: Key<Platform>
    /// nil when another registration took over the token.
    package let token: DeviceToken?
    package let isActive: Bool
    package let about: About
    package let customUserID: String?
    /// The names of its topics, sorted.
    package let topics: [String]
    /// When the app or the provider last reported this token, by our clock. A provider's verdict older than this does
    /// not count.
    package let registeredAt: Instant
    /// nil unless it was brought over from another server.
    package let importMark: ImportMark?

    /// The app's report on the machine it runs on. Only `osVersion` is ever interpreted.
    package struct About: Sendable, Hashable {
        package var os: String?
        package var osVersion: String?
        package var model: String?
        package var manufacturer: String?
        package var alias: String?

        package init(
            os: String? = nil, osVersion: String? = nil, model: String? = nil, manufacturer: String? = nil,
            alias: String? = nil
        ) {
            self.os = os
            self.osVersion = osVersion
            self.model = model
            self.manufacturer = manufacturer
            self.alias = alias
        }

        /// These values, with missing ones taken from `older`.
        package func filled(from older: About) -> About {
            About(
                os: os ?? older.os, osVersion: osVersion ?? older.osVersion, model: model ?? older.model,
                manufacturer: manufacturer ?? older.manufacturer,
                // An alias that was taken away is stored empty.
                alias: alias ?? older.alias.flatMap { $0.isEmpty ? nil : $0 })
        }
    }

    package init(
        key: Key<Device>, uuid: UUID, platformKey: Key<Platform>, token: DeviceToken?, isActive: Bool, about: About,
        customUserID: String?, topics: [String], registeredAt: Instant, importMark: ImportMark? = nil,
        ownUUID: UUID? = nil
    ) {
        self.key = key
        self.uuid = uuid
        self.platformKey = platformKey
        self.token = token
        self.isActive = isActive
        self.about = about
        self.customUserID = customUserID
        self.topics = topics
        self.registeredAt = registeredAt
        self.importMark = importMark
        self.ownUUID = ownUUID ?? uuid
    }
}

/// Whether a device is inactive, active, or active with support for notification buttons. Ordered by capability.
package enum DeviceState: Int64, Sendable, Hashable, CaseIterable {
    case inactive = 0
    case active = 1
    /// Active, and its system shows notifications with buttons: iOS 8, Android 4.1 or later.
    case interactive = 2
}

extension DeviceState {
    /// The reach of an active device, from its report on its system.
    ///
    /// Source: PCF Push API, `interactive-only`: iOS 8 and later, Android 4.1 and later.
    package init(kind: PlatformKind, osVersion: String?) {
        guard let version = osVersion.flatMap(OSVersion.init), let least = kind.traits.interactiveSince else {
            self = .active
            return
        }
        self = version < least ? .active : .interactive
    }
}

/// The first two numbers of a version, such as 8.1 of "8.1.3".
struct OSVersion: Comparable, Sendable {
    let major: Int
    let minor: Int

    init(_ major: Int, _ minor: Int) {
        self.major = major
        self.minor = minor
    }

    init?(_ text: String) {
        let first = text.utf8.prefix { $0 != UInt8(ascii: ".") }
        guard let major = Int(Substring(first)) else { return nil }
        let second = text.utf8[first.endIndex...].dropFirst().prefix { $0 != UInt8(ascii: ".") }
        self.init(major, Int(Substring(second)) ?? 0)
    }

    static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }
}

extension PostgresStore {
    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        let entry = RegistrationEntry(registration, as: uuid, on: platform, secrets)
        return try await registrations.submit(entry, in: self).registered()
    }

    package func importDevices(_ devices: [DeviceImport], on platform: Platform) async throws -> [ImportVerdict] {
        if !platform.hasImports { try await write { try $0.noteImports(on: platform) } }
        return try await withThrowingTaskGroup(of: (Int, ImportVerdict).self) { group in
            for (index, device) in devices.enumerated() {
                group.addTask { (index, try await self.verdict(on: device, platform)) }
            }
            var verdicts = [ImportVerdict](repeating: .duplicate, count: devices.count)
            for try await (index, verdict) in group { verdicts[index] = verdict }
            return verdicts
        }
    }

    private func verdict(on device: DeviceImport, _ platform: Platform) async throws -> ImportVerdict {
        let entry = RegistrationEntry(
            device.registration, as: device.uuid, on: platform, secrets, imported: device)
        do {
            return try await registrations.submit(entry, in: self).verdict
        } catch StoreError.quotaExceeded(let excess) {
            return .refused(excess.description)
        } catch let error as InvalidInput {
            return .refused(error.description)
        }
    }
}

extension PostgresWriteSession {
    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) throws -> Device {
        let entry = RegistrationEntry(registration, as: uuid, on: platform, secrets)
        var registrar = PostgresRegistrar(session: self, entries: [entry])
        return try registrar.register()[0].get().registered()
    }
}

extension Store {
    /// Deletes the device with all its rows. Pushes that have not reached it skip it; its UUID is never given again.
    ///
    /// - Parameter verdictAt: the device stays where it registered at this time or later.
    package func delete(
        _ device: Device, on platform: Platform, verdictAt: Instant = .distantFuture
    ) async throws {
        try await write { session in
            let application = platform.applicationKey
            // A merge that has read the device would bring it back into a posting list.
            try session.awaitMerge()
            try session.unregister(device.key, on: platform.key, since: verdictAt)
            if verdictAt < .distantFuture, try session.isActive(device.key, on: platform.key) { return }
            try session.holdEndpoints(of: device.key, on: platform.key)
            _ = try session.deleteMessages(WebPushStatements.deleteMessagesOfDevice, platform.key, device.key)
            for sql in DeviceDeletionStatements.byKey { try session.prepared(sql).run(platform.key, device.key) }
            for sql in DeviceDeletionStatements.byUUID { try session.prepared(sql).run(application, device.ownUUID) }
            try session.prepared(DeviceDeletionStatements.mirrorEntries).run(application, platform.key, device.key)
            guard try session.prepared(DeviceDeletionStatements.device).run(device.key, platform.key) > 0 else {
                return
            }
            if let session = session as? SQLiteWriteSession { try session.uncount(device.key, on: platform.key) }
            session.note(-1, .devices, of: application)
        }
    }
}

extension SQLiteWriteSession {
    /// Takes a device that is deleted out of the count of its segment of the search index.
    fileprivate func uncount(_ device: Key<Device>, on platform: Key<Platform>) throws {
        var counted = try prepared(DeviceCountStatements.uncount).run(platform, device)
        if counted == 0 { counted = try prepared(DeviceCountStatements.uncountLast).run(platform, device) }
        if counted == 0 { hasErasedUncounted = true }
    }
}

enum DeviceDeletionStatements {
    /// Deletes rows of a device by its platform `$1` and its key `$2`.
    static let byKey: [SQLText] = [
        "DELETE FROM device_detail /* device_deletion.detail */ WHERE platform_id = $1 AND device_id = $2",
        "DELETE FROM heartbeat /* device_deletion.heartbeat */ WHERE platform_id = $1 AND device_id = $2",
        "DELETE FROM gateway_feedback /* device_deletion.feedback */ WHERE platform_id = $1 AND device_id = $2",
        "DELETE FROM web_push_endpoint /* device_deletion.web_push */ WHERE platform_id = $1 AND device_id = $2",
    ]

    /// Deletes rows of a device by its application `$1` and its UUID `$2`.
    static let byUUID: [SQLText] = [
        "DELETE FROM acrobits_registration /* device_deletion.acrobits */ WHERE application_id = $1 AND device_uuid = $2",
        "DELETE FROM carma_device /* device_deletion.carma */ WHERE application_id = $1 AND device_uuid = $2",
    ]

    /// Deletes changes of the device that an old server has yet to get during a dual run.
    static let mirrorEntries: SQLText = """
        DELETE FROM mirror_entry /* device_deletion.mirror */
         WHERE application_id = $1 AND platform_id = $2 AND device_id = $3
        """

    static let device: SQLText = "DELETE FROM device /* device_deletion.device */ WHERE id = $1 AND platform_id = $2"
}

/// The number of devices of platforms, from the counts that the search index keeps for each segment.
///
/// With a platform or an application its counts go too; a single device is taken out of the count of its segment.
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

    /// The segment that holds a device `?2` of a platform `?1`, where it is indexed.
    private static let itsSegment = """
        platform_id = ?1 AND last_device_id = (
               SELECT min(last_device_id) FROM search_index_count WHERE platform_id = ?1 AND last_device_id >= ?2)
           AND ?2 <= (SELECT device_id FROM search_index WHERE id = 1)
        """

    static let uncount = """
        UPDATE search_index_count /* device_counts.uncount */ SET device_count = device_count - 1
         WHERE \(itsSegment) AND device_count > 1
        """

    static let uncountLast = """
        DELETE FROM search_index_count /* device_counts.uncount_last */ WHERE \(itsSegment) AND device_count = 1
        """

    /// Scans the primary key.
    static let kept = "SELECT sum(device_count) /* device_counts.kept */ FROM search_index_count WHERE platform_id = ?1"

    /// Devices that are not indexed yet, up to `?1`.
    static let next = """
        SELECT platform_id, count(*) /* device_counts.next */ FROM device
         WHERE id > (SELECT device_id FROM search_index WHERE id = 1) AND id <= ?1
         GROUP BY platform_id
        """

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
    package func noteIndexed(_ counts: [Int64: Int], until device: Int64) throws {
        var counts = counts
        if hasErasedUncounted {
            counts.removeAll()
            try prepared(DeviceCountStatements.next).each(device) { counts[$0.integer(0)] = Int($0.integer(1)) }
            hasErasedUncounted = false
        }
        let insert = try prepared(DeviceCountStatements.insert)
        for (platform, count) in counts { try insert.run(platform, device, count) }
    }

    /// Called for a device whose row was changed.
    func noteStaleDevice(_ row: DeviceRow, insteadOf old: DeviceRow) throws {
        if !row.hasTexts(of: old) { try prepared(DeviceCountStatements.noteStaleDevice).run(row.key) }
    }
}
