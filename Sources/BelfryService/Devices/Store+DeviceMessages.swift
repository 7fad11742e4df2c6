extension Store {
    /// The pushes that a device was sent, or may have been, the newest first. It searches the application's newest
    /// `DeviceMessage.lookedThroughMax` pushes, and leaves out unreadable ones.
    package func messages(
        to device: Key<Device>, on platform: Key<Platform>, of application: Key<Application>, limit: Int
    ) async throws -> [DeviceMessage] {
        try await search(for: application, isShort: true) { [pushes, damagedRows] db, _ in
            let find = try db.prepared(DeviceMessageStatements.newest)
            var found: [DeviceMessage] = []
            var before = Key<Push>(.max)
            var left = DeviceMessage.lookedThroughMax
            while left > 0, found.count < limit {
                let count = min(left, DeviceMessageStatements.sliceMax)
                var last = before
                let keys = try find.all(application, before, count, platform, device) { row in
                    last = Key<Push>(row.integer(0))
                    return try damagedRows.readable("batch of push \(row.integer(0))") {
                        try FoundMessage(row, of: device)
                    } ?? nil
                }
                for case let message? in keys where found.count < limit {
                    let push = try damagedRows.readable("push \(message.push)") {
                        try pushes.push(message.push, in: db)
                    }
                    if let push = push ?? nil { found.append(DeviceMessage(push: push, badge: message.badge)) }
                }
                guard last != before, keys.count == count else { break }
                before = last
                left -= count
            }
            return found
        }
    }
}

/// A push to a device, which may have been sent.
private struct FoundMessage {
    let push: Key<Push>
    let badge: Int64?

    /// From the columns of `DeviceMessageStatements.newest`; nil where the batch does not hold the device, or the device was not notified.
    init?(_ row: some SQLRow, of device: Key<Device>) throws {
        guard !row.isNull(1) else { return nil }
        guard let devices = row.withBlob(1, { DeviceList.decode($0) }) else {
            throw StoreError.damaged("batch of push \(row.integer(0))")
        }
        guard let place = devices.firstIndex(of: device) else { return nil }
        let answers = try row.withBlob(2) { try [Answer](codes: $0, count: devices.count) }
        guard DeviceMessage.told.contains(answers[place]), answers[place] != .pending || row.integer(4) > 0 else {
            return nil
        }
        push = Key(row.integer(0))
        badge = row.blobIfAny(3).flatMap { BadgeList.decode($0, count: devices.count)?[place] }
    }
}

enum DeviceMessageStatements {
    static let sliceMax = 100

    /// Scans `push_application` backwards, and for each push takes one step through `batch_device`.
    static let newest: SQLText = """
        SELECT newest.id, devices, answers, badges, attempt /* device_messages.newest */
          FROM (SELECT id FROM push WHERE application_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3) AS newest
          LEFT JOIN batch
            ON batch.id = (SELECT holding.id FROM batch AS holding
                            WHERE holding.push_id = newest.id AND holding.platform_id = $4
                              AND holding.first_device_id <= $5
                            ORDER BY holding.first_device_id DESC LIMIT 1)
           AND last_device_id >= $5
         ORDER BY newest.id DESC
        """
}

/// A push as it was sent to one of its devices.
package struct DeviceMessage: Sendable, Hashable {
    package let push: Push
    /// The number that it showed on the app's icon; nil unless it counted.
    package let badge: Int64?

    /// The most of an application's newest pushes that are searched for those of a device.
    package static let lookedThroughMax = 1_000
    /// The most messages that a device gets at once.
    package static let countMax = 20
    /// The answers of a device that may have been notified.
    package static let told: Set<Answer> = [.accepted, .pending, .unknown]
}
