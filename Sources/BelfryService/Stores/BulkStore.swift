/// A database as rows, so that one engine can import what another holds. No server serves from either meanwhile.
package protocol BulkStore: Sendable {
    /// The secrets that the rows depend on, by name.
    func bulkSecrets() async throws -> [String: [UInt8]]
    /// Marks an empty database as being imported into, with these secrets; does nothing if it is marked already.
    ///
    /// Throws `StoreError.conflict` if it contains anything, and says what was copied into it. The store must be reopened
    /// afterwards, because it read the previous secrets.
    func beginImport(with secrets: [String: [UInt8]]) async throws
    /// Marks the import complete, so that servers may open the database.
    ///
    /// - Parameter name: of the database that was imported.
    func endImport(of name: String, at now: Instant) async throws
    /// Marks the database as copied to another, so that neither a server nor a command uses it by mistake.
    ///
    /// - Parameter name: of the other, as it was given.
    func recordMove(to name: String, at now: Instant) async throws
    /// The place to which the database was copied; nil if it was not.
    func move() async throws -> DatabaseMove?
    /// Lets the database be used again after `recordMove`.
    func forgetMove() async throws

    /// The next rows after a key, in the order of the key.
    func rows(of table: BulkTable, after key: [BulkValue]?, limit: Int) async throws -> [[BulkValue]]
    /// The key of the last row; nil when there is none.
    func lastKey(of table: BulkTable) async throws -> [BulkValue]?
    /// Appends rows, all or none, and writes what the engine derives from them.
    func write(_ rows: [[BulkValue]], to table: BulkTable) async throws
    func count(of table: BulkTable) async throws -> Int

    /// The last id that a table with an `id` ever assigned; none is assigned twice.
    func lastNumber(of table: BulkTable) async throws -> Int64
    func setLastNumber(_ number: Int64, of table: BulkTable) async throws
}

/// Marks a database into which another is being imported, so that no server serves from half of it.
package enum DatabaseImport {
    /// The name of the setting that marks it.
    package static let settingName = "takeover"
    /// The secrets that are copied with the rows.
    package static let secrets = ["naming", "token_hash"]

    /// The name of the setting that says which database was copied into this one, and when.
    package static let originSettingName = "copied_from"

    /// - Parameter origin: the value of `originSettingName`.
    package static func refused(_ origin: String?) -> StoreError {
        .conflict("the database is not empty" + (origin.map { ": all of \($0) was copied into it" } ?? ""))
    }

    package static let unfinished = StoreError.unavailable(
        "a copy into it was not finished; run `belfry database copy` again")

    /// The name of the setting that says where the database was copied to, and when.
    package static let moveSettingName = "moved_to"

    /// - Parameter database: the one that was copied away, as `belfry database reopen` is given it.
    package static func moved(_ database: String, _ move: DatabaseMove) -> StoreError {
        .unavailable(
            "\(database) was copied to \(move.text), and is not used any more: give the command the new one with \(move.option), "
                + "or name it in the settings; or go back to the old one with `belfry database reopen \(database)`")
    }
}

/// The note in a database that was copied to another.
package struct DatabaseMove: Sendable, Hashable {
    /// The other, as it was given: `sqlite:` and a path, or `postgres://…`.
    package let name: String
    package let at: String

    /// - Parameter text: the value of `moveSettingName`.
    package init(_ text: String) {
        let end = text.ranges(of: " at ").last
        name = String(text[..<(end?.lowerBound ?? text.endIndex)])
        at = end.map { String(text[$0.upperBound...]) } ?? ""
    }

    package init(to name: String, at now: Instant) { (self.name, at) = (name, now.text) }

    package var text: String { "\(name) at \(at)" }

    /// The option with which a command works on the other.
    var option: String {
        guard name.hasPrefix("sqlite:") else { return "--database \(name)" }
        let path = name.dropFirst(7)
        guard let slash = path.lastIndex(of: "/") else { return "--data-directory" }
        return "--data-directory \(path[..<slash])"
    }
}

/// A value of a row.
package enum BulkValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
}

/// A table that every engine has, with the columns that mean the same in each.
package struct BulkTable: Sendable {
    package enum Kind: Sendable {
        case integer, real, text, bytes
        /// 16 bytes; an engine may have a type of its own for it.
        case uuid
        /// 0 or 1; an engine may have a type of its own for it.
        case flag
    }

    package struct Column: Sendable {
        package let name: String
        package let kind: Kind

        package init(name: String, kind: Kind) {
            self.name = name
            self.kind = kind
        }
    }

    package let name: String
    package let columns: [Column]
    /// The number of leading key columns.
    package let keyCount: Int

    private init(_ name: String, key: Int = 1, _ columns: KeyValuePairs<String, Kind>) {
        self.name = name
        self.columns = columns.map { Column(name: $0.key, kind: $0.value) }
        keyCount = key
    }

    /// Whether rows have generated ids.
    package var isNumbered: Bool { columns[0].name == "id" }

    package func key(of row: [BulkValue]) -> [BulkValue] { Array(row.prefix(keyCount)) }
}

extension BulkTable {
    /// All tables, each after those it refers to. Posting lists and the search index are left out: each engine derives
    /// its own from the devices.
    package static let all = [
        tenant, application, platform, topic, device, push, pushProgress, tally, unknownDevices, fanOut, batch,
        batchHistory,
        damagedBatch, schedule,
        location, locationGroup, locationGroupMember, geofence, geofenceLocation, geofenceGroup, geofenceDeletion,
        geofenceStamp,
        geofenceUpdate, mirrorEntry, importJob, importVerdict, pushCount, platformCount, eventMark, geofenceCount,
        heartbeat, adminKey, audit,
        idempotency,
        brokerInstance, brokerBinding, appUser, userAttribute, openEndpoint, gatewayCredential, gatewayFeedback,
        deviceDetail,
        acrobitsAppID, acrobitsRegistration, carmaAccount, carmaApp, carmaTrigger, carmaDevice, carmaMessage,
        carmaImport, person, recoveryCode, personIdentity, invitation, composeDraft,
    ]

    private static let tenant = BulkTable(
        "tenant", ["id": .integer, "uuid": .uuid, "name": .text, "created_at_ms": .integer])

    private static let application = BulkTable(
        "application",
        [
            "id": .integer, "uuid": .uuid, "name": .text, "api_key_hash": .bytes, "shared_secret": .bytes,
            "is_being_deleted": .flag, "created_at_ms": .integer, "tenant_id": .integer, "description": .text,
            "previous_api_key_hash": .bytes, "previous_api_key_until_ms": .integer, "previous_shared_secret": .bytes,
            "previous_shared_secret_until_ms": .integer, "ignores_unknown_fields": .flag,
        ])

    private static let platform = BulkTable(
        "platform",
        [
            "id": .integer, "uuid": .uuid, "application_id": .integer, "kind": .text, "mode": .text, "name": .text,
            "secret_hash": .bytes, "credentials": .bytes, "credentials_version": .integer, "parked_cause": .text,
            "parked_detail": .text, "parked_since_ms": .integer, "created_at_ms": .integer, "is_deleted": .flag,
            "description": .text, "has_imports": .flag, "web_access": .text,
            "probe_at_ms": .integer, "probe_count": .integer, "parked_services": .text,
            "facts": .text,
        ])

    private static let topic = BulkTable(
        "topic", ["id": .integer, "application_id": .integer, "name": .text, "expires_at_ms": .integer])

    /// Without the hash by which a token is found: each engine has its own.
    package static let device = BulkTable(
        "device",
        [
            "id": .integer, "platform_id": .integer, "reach": .integer, "registered_at_ms": .integer, "token": .bytes,
            "topics": .bytes, "custom_user_id": .text, "os": .text, "os_version": .text, "model": .text,
            "manufacturer": .text, "alias": .text, "imported_uuid": .uuid, "imported_at_ms": .integer,
            "import_stage": .integer,
        ])

    private static let push = BulkTable(
        "push",
        [
            "id": .integer, "receipt_id": .uuid, "application_id": .integer, "lane": .integer, "guarantee": .integer,
            "accepted_at_ms": .integer, "expires_at_ms": .integer, "content": .text, "audience": .text,
            "platforms": .text,
        ])

    private static let pushProgress = BulkTable(
        "push_progress",
        [
            "push_id": .integer, "open_fan_out_count": .integer, "open_batch_count": .integer, "device_count": .integer,
            "first_answer_at_ms": .integer, "settled_at_ms": .integer, "has_answers": .flag,
        ])

    private static let tally = BulkTable(
        "tally", key: 2, ["push_id": .integer, "answer": .integer, "device_count": .integer])

    private static let fanOut = BulkTable(
        "fan_out", key: 2,
        [
            "push_id": .integer, "platform_id": .integer, "lane": .integer, "due_at_ms": .integer, "attempt": .integer,
            "is_claimed": .flag, "cursor": .integer, "is_cancelled": .flag,
        ])

    private static let batch = BulkTable(
        "batch",
        [
            "id": .integer, "push_id": .integer, "platform_id": .integer, "lane": .integer, "first_device_id": .integer,
            "last_device_id": .integer, "is_open": .flag, "due_at_ms": .integer, "attempt": .integer,
            "claim_count": .integer, "devices": .bytes, "answers": .bytes, "retry_at_ms": .integer,
            "answered_at_ms": .integer, "is_whole": .flag, "badges": .bytes, "is_cancelled": .flag,
        ])

    private static let batchHistory = BulkTable("batch_history", ["batch_id": .integer, "attempts": .text])

    private static let unknownDevices = BulkTable(
        "unknown_device", ["push_id": .integer, "uuids": .text, "device_count": .integer])

    private static let damagedBatch = BulkTable(
        "damaged_batch", ["batch_id": .integer, "push_id": .integer, "found_at_ms": .integer])

    private static let schedule = BulkTable(
        "schedule",
        [
            "id": .integer, "application_id": .integer, "due_at_ms": .integer, "version": .integer, "lane": .integer,
            "guarantee": .integer, "expires_at_ms": .integer, "content": .text, "target": .text,
            "created_at_ms": .integer, "ended_at_ms": .integer, "ending": .text, "receipt_id": .uuid, "reason": .text,
        ])

    private static let location = BulkTable(
        "location",
        [
            "id": .integer, "application_id": .integer, "name": .text, "search": .text, "latitude": .real,
            "longitude": .real, "radius": .real, "created_at_ms": .integer, "updated_at_ms": .integer,
        ])

    private static let locationGroup = BulkTable(
        "location_group",
        [
            "id": .integer, "application_id": .integer, "name": .text, "summary": .text, "search": .text,
            "created_at_ms": .integer, "updated_at_ms": .integer,
        ])

    private static let locationGroupMember = BulkTable(
        "location_group_member", key: 2, ["group_id": .integer, "position": .integer, "location_id": .integer])

    private static let geofence = BulkTable(
        "geofence",
        [
            "id": .integer, "application_id": .integer, "trigger_type": .text, "platform": .text, "tags": .text,
            "data": .text, "starts_at_ms": .integer, "expires_at_ms": .integer, "phase": .integer,
            "due_at_ms": .integer, "changed_at_ms": .integer, "created_at_ms": .integer, "updated_at_ms": .integer,
        ])

    private static let geofenceLocation = BulkTable(
        "geofence_location", key: 2, ["geofence_id": .integer, "position": .integer, "location_id": .integer])

    /// Sessions stay behind: people log in again.
    private static let person = BulkTable(
        "person",
        [
            "id": .integer, "email": .text, "name": .text, "scope": .text, "tenant_id": .integer,
            "application_id": .integer, "password_hash": .text, "created_at_ms": .integer,
            "last_login_at_ms": .integer, "disabled_at_ms": .integer, "two_factor_secret": .bytes,
            "two_factor_step": .integer,
        ])

    private static let recoveryCode = BulkTable(
        "recovery_code", key: 2, ["person_id": .integer, "code_hash": .bytes])

    private static let composeDraft = BulkTable(
        "compose_draft", key: 3,
        [
            "person_id": .integer, "application_id": .integer, "schedule_id": .integer, "form": .text,
            "saved_at_ms": .integer,
        ])

    private static let personIdentity = BulkTable(
        "person_identity", key: 2, ["issuer": .text, "subject": .text, "person_id": .integer])

    private static let invitation = BulkTable(
        "invitation",
        [
            "id": .integer, "token_hash": .bytes, "email": .text, "person_id": .integer, "scope": .text,
            "tenant_id": .integer, "application_id": .integer, "expires_at_ms": .integer, "author_id": .integer,
        ])

    private static let brokerInstance = BulkTable(
        "broker_instance",
        [
            "id": .integer, "public_id": .text, "plan": .text, "request": .text, "application_uuid": .uuid,
            "tenant_uuid": .uuid, "created_at_ms": .integer,
        ])

    private static let brokerBinding = BulkTable(
        "broker_binding",
        [
            "id": .integer, "instance_id": .integer, "public_id": .text, "request": .text, "nonce": .bytes,
            "api_key_hash": .bytes, "created_at_ms": .integer,
        ])

    private static let appUser = BulkTable(
        "app_user",
        [
            "id": .integer, "application_id": .integer, "public_id": .text, "language": .text, "time_zone": .text,
            "attributes": .text, "created_at_ms": .integer, "updated_at_ms": .integer,
        ])

    private static let userAttribute = BulkTable(
        "user_attribute",
        ["id": .integer, "application_id": .integer, "user_id": .integer, "name": .text, "value": .bytes])

    private static let openEndpoint = BulkTable(
        "open_endpoint",
        [
            "id": .integer, "application_id": .integer, "kind": .text, "key_hash": .bytes, "allowed": .text,
            "options": .text, "created_at_ms": .integer, "is_plain": .flag,
        ])

    private static let gatewayCredential = BulkTable(
        "gateway_credential",
        [
            "id": .integer, "platform_id": .integer, "fingerprint": .bytes, "expires_at_ms": .integer,
            "created_at_ms": .integer,
        ])

    private static let gatewayFeedback = BulkTable(
        "gateway_feedback", ["id": .integer, "platform_id": .integer, "device_id": .integer, "since_ms": .integer])

    private static let deviceDetail = BulkTable(
        "device_detail", key: 2,
        [
            "platform_id": .integer, "device_id": .integer, "badge": .integer, "spelling": .text, "language": .text,
            "time_zone": .text,
        ])

    private static let acrobitsAppID = BulkTable(
        "acrobits_app_id", key: 3,
        ["app_id": .text, "application_id": .integer, "platform_id": .integer, "payload": .text])

    private static let acrobitsRegistration = BulkTable(
        "acrobits_registration",
        [
            "id": .integer, "application_id": .integer, "selector": .text, "app_id": .text, "token": .text,
            "platform_id": .integer, "device_uuid": .uuid, "account": .text, "seen_at_ms": .integer,
        ])

    private static let carmaAccount = BulkTable(
        "carma_account",
        [
            "id": .integer, "customer_id": .integer, "user_name": .text, "password_hash": .bytes, "token_hash": .bytes,
            "created_at_ms": .integer,
        ])

    private static let carmaApp = BulkTable(
        "carma_app", ["id": .integer, "customer_id": .integer, "app_id": .text, "application_id": .integer])

    private static let carmaTrigger = BulkTable(
        "carma_trigger", ["id": .integer, "app_key": .integer, "template": .text])

    private static let carmaDevice = BulkTable(
        "carma_device",
        [
            "id": .integer, "application_id": .integer, "contact": .text, "token": .text, "platform_id": .integer,
            "device_uuid": .uuid, "country": .text, "invalidation": .integer, "invalidated_at_ms": .integer,
        ])

    private static let carmaMessage = BulkTable(
        "carma_message",
        [
            "id": .integer, "application_id": .integer, "trigger_id": .integer, "contact": .text, "name": .text,
            "html": .text, "page_hash": .bytes, "receipt_id": .uuid, "schedule_id": .integer, "sent_at_ms": .integer,
            "read_at_ms": .integer,
        ])

    private static let carmaImport = BulkTable(
        "carma_import",
        [
            "id": .integer, "app_key": .integer, "import_uuid": .uuid, "settings": .text, "state": .integer,
            "taken_count": .integer, "refused_count": .integer, "reason": .text, "created_at_ms": .integer,
        ])

    private static let geofenceGroup = BulkTable(
        "geofence_group", key: 2, ["geofence_id": .integer, "position": .integer, "group_id": .integer])

    private static let geofenceDeletion = BulkTable(
        "geofence_deletion", key: 2,
        ["application_id": .integer, "changed_at_ms": .integer, "geofence_id": .integer, "expires_at_ms": .integer])

    private static let geofenceStamp = BulkTable(
        "geofence_stamp", ["application_id": .integer, "changed_at_ms": .integer])

    private static let geofenceUpdate = BulkTable(
        "geofence_update",
        [
            "platform_id": .integer, "application_id": .integer, "change_count": .integer,
            "first_change_at_ms": .integer, "due_at_ms": .integer,
        ])

    private static let mirrorEntry = BulkTable(
        "mirror_entry",
        [
            "id": .integer, "application_id": .integer, "platform_id": .integer, "device_id": .integer, "method": .text,
            "body": .bytes, "created_at_ms": .integer,
        ])

    private static let importJob = BulkTable(
        "import_job",
        [
            "id": .integer, "uuid": .uuid, "application_id": .integer, "format": .text, "mapping": .text,
            "platform_uuid": .uuid, "is_dry_run": .flag, "key_id": .text, "state": .integer, "reason": .text,
            "position": .integer,
            "new_count": .integer, "updated_count": .integer, "duplicate_count": .integer, "refused_count": .integer,
            "verdict_rows": .integer, "verdict_bytes": .integer, "attempt": .integer, "created_at_ms": .integer,
            "updated_at_ms": .integer, "ended_at_ms": .integer,
        ])

    private static let importVerdict = BulkTable(
        "import_verdict", key: 2, ["job_id": .integer, "position": .integer, "lines": .bytes])

    private static let pushCount = BulkTable(
        "push_count", key: 3,
        ["push_id": .integer, "platform_id": .integer, "kind": .integer, "event_count": .integer])

    private static let platformCount = BulkTable(
        "platform_count", key: 3,
        ["platform_id": .integer, "hour": .integer, "kind": .integer, "event_count": .integer])

    private static let eventMark = BulkTable("event_mark", key: 2, ["day": .integer, "hash": .integer])

    private static let geofenceCount = BulkTable(
        "geofence_count", key: 4,
        [
            "application_id": .integer, "geofence_id": .integer, "location_id": .integer, "platform_id": .integer,
            "event_count": .integer, "last_at_ms": .integer,
        ])

    private static let heartbeat = BulkTable(
        "heartbeat", key: 2,
        [
            "platform_id": .integer, "device_id": .integer, "event_count": .integer, "last_at_ms": .integer,
            "latency_ms": .integer,
        ])

    private static let adminKey = BulkTable(
        "admin_key",
        [
            "id": .integer, "public_id": .text, "name": .text, "scope": .text, "tenant_id": .integer,
            "application_id": .integer, "secret_hash": .bytes, "previous_hash": .bytes, "previous_until_ms": .integer,
            "created_at_ms": .integer, "last_used_at_ms": .integer, "revoked_at_ms": .integer, "author_id": .integer,
        ])

    private static let audit = BulkTable(
        "audit",
        [
            "id": .integer, "at_ms": .integer, "key_id": .text, "address": .text, "action": .text, "subject": .text,
            "tenant_id": .integer, "application_id": .integer, "details": .text,
        ])

    private static let idempotency = BulkTable(
        "idempotency",
        [
            "name": .bytes, "request": .bytes, "idempotent_id": .uuid, "created_at_ms": .integer,
            "held_until_ms": .integer,
            "status": .integer, "content": .bytes, "caller_kind": .integer, "caller_id": .integer,
        ])
}

extension BulkTable {
    /// The index of a column that the table has.
    package func place(of column: String) -> Int {
        guard let place = columns.firstIndex(where: { $0.name == column }) else {
            preconditionFailure("\(name) has no column \(column)")
        }
        return place
    }

    /// The column list for statements.
    package var columnNames: String { columns.map(\.name).joined(separator: ", ") }
    package var keyNames: String { columns.prefix(keyCount).map(\.name).joined(separator: ", ") }
}

/// The purpose for which a store is opened.
package enum StoreUse: Sendable {
    case serving
    /// The store is not changed meanwhile; not even due work is done.
    case copyingFrom, copyingTo
}
