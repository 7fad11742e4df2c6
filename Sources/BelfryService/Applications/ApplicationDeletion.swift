extension SQLStore {
    /// Marks the application deleted, which hides it at once, then deletes its rows in short steps. A restart resumes
    /// an interrupted deletion.
    package func delete(_ application: Key<Application>, force: Bool) async throws {
        try await write { session in
            guard try session.prepared(ApplicationStatements.lockForUpdate).hasRow(application) else {
                throw StoreError.unknown("application \(application)")
            }
            let platforms = try session.prepared(ApplicationDeletionStatements.platformCount).count(application)
            if platforms > 0, !force { throw StoreError.hasPlatforms(platforms) }
            try session.prepared(ApplicationDeletionStatements.markDeleted).run(application)
            try session.prepared(AdminKeyStatements.revokeOfApplication).run(session.now, application)
            try session.prepared(PersonStatements.disableOfApplication).run(session.now, application)
            session.registryChanged()
        }
        while try await write({ try ApplicationDeletion(session: $0).step(application) }) {}
    }
}

/// Deletes the rows of applications that are being deleted.
struct ApplicationDeletion<Session: WriteSession> {
    let session: Session

    /// Rows of one kind deleted in one step.
    private static var stride: Int { 200 }

    func resume() throws {
        let application = try session.prepared(ApplicationDeletionStatements.beingDeleted).number()
        if let application { _ = try step(Key(application)) }
    }

    /// Deletes some rows of the first kind that has any; false when nothing is left.
    func step(_ application: Key<Application>) throws -> Bool {
        try session.awaitMerge()
        for sql in ApplicationDeletionStatements.inOrder(with: Session.clearedWithApplication) {
            if try session.prepared(sql).run(application, Self.stride) > 0 {
                session.registryChanged()
                return true
            }
        }
        return false
    }
}

enum ApplicationDeletionStatements {
    static let platformCount: SQLText = """
        SELECT count(*) /* application_deletion.platform_count */ FROM platform WHERE application_id = $1
        """

    static let markDeleted: SQLText =
        "UPDATE application /* application_deletion.mark */ SET is_being_deleted = true WHERE id = $1"

    static let beingDeleted: SQLText =
        "SELECT id /* application_deletion.being_deleted */ FROM application WHERE is_being_deleted LIMIT 1"

    /// Referring rows come before the rows they refer to, and devices before their posting lists, so that no merge
    /// brings one back.
    ///
    /// - Parameter own: tables that only one engine has.
    static func inOrder(with own: [OwnedTable]) -> [SQLText] {
        (map + counts + sending + own + base).map(\.clear) + [application]
    }

    private static let map = [
        OwnedTable("geofence_update", key: "platform_id"),
        OwnedTable("geofence_deletion", key: "application_id", "changed_at_ms"),
        OwnedTable("geofence_stamp", key: "application_id"),
        OwnedTable("geofence_location", key: "geofence_id", "position", of: "geofence", by: "geofence_id"),
        OwnedTable("geofence_group", key: "geofence_id", "position", of: "geofence", by: "geofence_id"),
        OwnedTable("geofence", key: "id"),
        OwnedTable("location_group_member", key: "group_id", "position", of: "location_group", by: "group_id"),
        OwnedTable("location_group", key: "id"),
        OwnedTable("location", key: "id"),
    ]

    private static let counts = [
        OwnedTable("push_count", key: "push_id", "platform_id", "kind", of: "push", by: "push_id"),
        OwnedTable("platform_count", key: "platform_id", "hour", "kind", of: "platform", by: "platform_id"),
        OwnedTable("geofence_count", key: "application_id", "geofence_id", "location_id", "platform_id"),
        OwnedTable("heartbeat", key: "platform_id", "device_id", of: "platform", by: "platform_id"),
        OwnedTable("device_detail", key: "platform_id", "device_id", of: "platform", by: "platform_id"),
        OwnedTable("gateway_credential", key: "id", of: "platform", by: "platform_id"),
        OwnedTable("gateway_feedback", key: "id", of: "platform", by: "platform_id"),
        OwnedTable("open_endpoint", key: "id"),
        OwnedTable("user_attribute", key: "id"),
        OwnedTable("app_user", key: "id"),
        OwnedTable("acrobits_registration", key: "id"),
        OwnedTable("carma_message", key: "id"),
        OwnedTable("carma_device", key: "id"),
        OwnedTable("carma_import", key: "id", of: "carma_app", by: "app_key"),
        OwnedTable("carma_trigger", key: "id", of: "carma_app", by: "app_key"),
        OwnedTable("carma_app", key: "id"),
        OwnedTable("acrobits_app_id", key: "app_id", "application_id", "platform_id"),
    ]

    private static let sending = [
        OwnedTable("compose_draft", key: "person_id", "application_id", "schedule_id"),
        OwnedTable("mirror_entry", key: "id"),
        OwnedTable("import_verdict", key: "job_id", "position", of: "import_job", by: "job_id"),
        OwnedTable("import_job", key: "id"),
        OwnedTable("schedule", key: "id"),
        OwnedTable("batch", key: "id", of: "push", by: "push_id"),
        OwnedTable("fan_out", key: "push_id", "platform_id", of: "push", by: "push_id"),
        OwnedTable("tally", key: "push_id", "answer", of: "push", by: "push_id"),
        OwnedTable("push_progress", key: "push_id", of: "push", by: "push_id"),
        OwnedTable("push", key: "id"),
        OwnedTable("device", key: "id", of: "platform", by: "platform_id"),
    ]

    private static let base = [
        OwnedTable("subscription", key: "topic_id", "platform_id", "device_id", of: "topic", by: "topic_id"),
        OwnedTable("topic", key: "id"),
        OwnedTable("platform", key: "id"),
        OwnedTable("application_use", key: "application_id"),
    ]

    private static let application = SQLText.deleteSome(
        "application_deletion.application", from: "application", key: "id", where: "id = $1 AND is_being_deleted")
}

/// A table with rows of applications.
struct OwnedTable: Sendable {
    private let name: String
    private let key: [String]
    /// The table that names the application, and the column that refers to that table; nil where the table itself does.
    private let owner: (table: String, column: String)?

    init(_ name: String, key: String...) { (self.name, self.key, owner) = (name, key, nil) }

    init(_ name: String, key: String..., of owner: String, by column: String) {
        (self.name, self.key, self.owner) = (name, key, (owner, column))
    }

    /// Deletes some rows of an application `$1`, up to `$2`.
    var clear: SQLText {
        SQLText.deleteSome(
            "deletion.\(name)", from: name, key: key.map { "\(name).\($0)" }.joined(separator: ", "),
            foundIn: owner.map { "\($0.table) JOIN \(name) ON \(name).\($0.column) = \($0.table).id" },
            where: "\(owner?.table ?? name).application_id = $1")
    }
}
