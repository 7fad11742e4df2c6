extension SQLStore {
    package func delete(_ device: Device, on platform: Platform) async throws {
        try await write { session in
            let application = platform.applicationKey
            // A merge that has read the device would bring it back into a posting list.
            try session.awaitMerge()
            try session.deactivate(
                [Settlement.DeadToken(device: device.key, since: .distantFuture)], on: platform.key)
            for sql in DeviceDeletionStatements.byKey { try session.prepared(sql).run(platform.key, device.key) }
            for sql in DeviceDeletionStatements.byUUID { try session.prepared(sql).run(application, device.ownUUID) }
            try session.prepared(DeviceDeletionStatements.mirrorEntries).run(application, platform.key, device.key)
            guard try session.prepared(DeviceDeletionStatements.device).run(device.key, platform.key) > 0 else {
                return
            }
            session.note(-1, .devices, of: application)
        }
    }
}

enum DeviceDeletionStatements {
    /// Deletes rows of a device by its platform `$1` and its key `$2`.
    static let byKey: [SQLText] = [
        "DELETE FROM device_detail /* device_deletion.detail */ WHERE platform_id = $1 AND device_id = $2",
        "DELETE FROM heartbeat /* device_deletion.heartbeat */ WHERE platform_id = $1 AND device_id = $2",
        "DELETE FROM gateway_feedback /* device_deletion.feedback */ WHERE platform_id = $1 AND device_id = $2",
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
