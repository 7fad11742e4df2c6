import BelfryCore
import GRDB
import Logging
import Testing

@testable import BelfryStore

/// Hot statements scan the index they were written for, and sort nothing.
@Suite struct PlanTests {
    /// A statement, and a step of its plan.
    struct FanOut: Sendable {
        let sql: String
        let step: String

        init(_ sql: String, _ step: String) { (self.sql, self.step) = (sql, step) }

        init(_ sql: SQLText, _ step: String) { self.init(sql.sqlite, step) }
    }

    @Test(arguments: [
        FanOut(SQLiteDeviceStatements.byToken, "SEARCH device_token USING PRIMARY KEY (token_hash=?)"),
        FanOut(SQLiteDeviceStatements.byToken, "SEARCH device USING INTEGER PRIMARY KEY (rowid=?)"),
        FanOut(TokenIndexStatements.beyond, "USING INTEGER PRIMARY KEY (rowid>?)"),
        FanOut(TokenIndexStatements.insert, "USING INTEGER PRIMARY KEY (rowid=?)"),
        FanOut(SQLiteSubscriptionStatements.unmerged, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        FanOut(
            SQLitePostingStatements.active, "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        FanOut(
            SQLitePostingStatements.interactive,
            "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        FanOut(
            SQLitePostingStatements.registered,
            "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        FanOut(
            SQLitePostingStatements.customUser,
            "INDEX device_custom_user (platform_id=? AND custom_user_id=? AND rowid>?)"),
        FanOut(SQLitePostingStatements.topic, "USING PRIMARY KEY (topic_id=? AND platform_id=? AND device_id>?)"),
        FanOut(SQLitePostingBlockStatements.around, "USING PRIMARY KEY (topic_id=? AND platform_id=? AND device_id<?)"),
        FanOut(SQLitePostingStatements.unmerged, "USING INTEGER PRIMARY KEY (rowid>?)"),
        FanOut(SQLitePostingStatements.topicCount, "USING PRIMARY KEY (topic_id=? AND platform_id=?)"),
        FanOut(CustomUserStatements.behind, "INDEX device_custom_user (platform_id=? AND custom_user_id>?)"),
        FanOut(TopicListStatements.slice, "USING INDEX topic_name (application_id=?)"),
        FanOut(TopicListStatements.count, "USING INDEX topic_name (application_id=?)"),
        FanOut(TopicListStatements.behind, "USING INDEX topic_name (application_id=? AND name>?)"),
        FanOut(TopicDeletionStatements.expired, "USING INDEX topic_expiry (expires_at_ms<?)"),
        FanOut(TopicDeletionStatements.clear, "USING PRIMARY KEY (topic_id=?)"),
        FanOut(SearchIndexStatements.behind, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        FanOut(SearchIndexStatements.deletePostings, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        FanOut(TextSearchStatements.postings, "USING INTEGER PRIMARY KEY (rowid=?)"),
        FanOut(DeviceCountStatements.kept, "USING PRIMARY KEY (platform_id=?)"),
        FanOut(DeviceCountStatements.behind, "USING INTEGER PRIMARY KEY (rowid>?)"),
        FanOut(SQLiteTokenStatements.slice, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        FanOut(SQLiteClaimStatements.nextFanOutBid, "USING COVERING INDEX fan_out_due (lane=? AND platform_id>?)"),
        FanOut(SQLiteClaimStatements.dueFanOuts, "USING INDEX fan_out_due (lane=? AND platform_id=? AND due_at_ms<?)"),
        FanOut(FanOutStatements.nextDue, "USING COVERING INDEX fan_out_due (lane=? AND platform_id=?)"),
        FanOut(
            SQLiteClaimStatements.nextBatchBid,
            "USING COVERING INDEX batch_due (is_open=? AND lane=? AND platform_id>?)"),
        FanOut(
            SQLiteClaimStatements.dueBatches,
            "USING INDEX batch_due (is_open=? AND lane=? AND platform_id=? AND due_at_ms<?)"),
        FanOut(BatchStatements.nextDue, "USING COVERING INDEX batch_due (is_open=? AND lane=? AND platform_id=?)"),
        FanOut(BatchStatements.holding, "USING INDEX batch_device (push_id=? AND platform_id=? AND first_device_id<?)"),
        FanOut(DamageStatements.ofPush, "USING COVERING INDEX damaged_batch_push (push_id=?)"),
        FanOut(DamageStatements.openOfPush, "USING COVERING INDEX batch_device (push_id=?)"),
        FanOut(DamageStatements.countFanOuts, "USING INDEX fan_out_due (lane=? AND platform_id=? AND due_at_ms>?)"),
        FanOut(PushStatements.progress, "USING COVERING INDEX damaged_batch_push (push_id=?)"),
        FanOut(PushStatements.progress, "SEARCH fan_out USING PRIMARY KEY (push_id=?)"),
        FanOut(ScheduleStatements.due, "USING INDEX schedule_due (due_at_ms<?)"),
        FanOut(ScheduleStatements.nextDue, "USING INDEX schedule_due"),
        FanOut(ScheduleStatements.waiting, "USING INDEX schedule_application (application_id=? AND ended_at_ms=? AND"),
        FanOut(ScheduleStatements.ended, "USING INDEX schedule_application (application_id=? AND"),
        FanOut(
            ScheduleStatements.clear, "USING COVERING INDEX schedule_application (application_id=? AND ended_at_ms<?)"),
        FanOut(ReceiptStatements.newest, "USING INDEX push_application (application_id=? AND rowid<?)"),
        FanOut(ReceiptStatements.open, "SCAN push_progress USING INDEX push_progress_open"),
        FanOut(
            ReceiptStatements.batchHolding, "INDEX batch_device (push_id=? AND platform_id=? AND first_device_id<?)"),
        FanOut(
            ReceiptStatements.batches, "USING INDEX batch_device (push_id=? AND (platform_id,first_device_id)>(?,?))"),
        FanOut(ReceiptStatements.allAnswers, "USING INDEX batch_device (push_id=?)"),
        FanOut(PlatformDeletionStatements.anyActive, "USING COVERING INDEX device_reach (platform_id=? AND reach>?)"),
        FanOut(AdminKeyStatements.ofTenant, "USING INDEX admin_key_tenant (tenant_id=? AND rowid>?)"),
        FanOut(AdminKeyStatements.ofApplication, "USING INDEX admin_key_application (application_id=? AND rowid>?)"),
        FanOut(AuditStatements.ofTenant, "USING INDEX audit_tenant (tenant_id=? AND rowid<?)"),
        FanOut(AuditStatements.ofApplication, "USING INDEX audit_application (application_id=? AND rowid<?)"),
        FanOut(LocationStatements.listed, "USING INDEX location_application (application_id=?)"),
        FanOut(LocationStatements.geofences, "USING COVERING INDEX geofence_location_location (location_id=?)"),
        FanOut(LocationStatements.groups, "INDEX location_group_member_location (location_id=?)"),
        FanOut(LocationGroupStatements.listed, "USING INDEX location_group_application (application_id=?)"),
        FanOut(GeofenceStatements.listed, "USING INDEX geofence_application (application_id=?)"),
        FanOut(GeofenceStatements.nextDue, "USING COVERING INDEX geofence_due"),
        FanOut(GeofenceStatements.due, "USING INDEX geofence_due (due_at_ms<?)"),
        FanOut(GeofenceStatements.liveCount, "USING INDEX geofence_live (application_id=?)"),
        FanOut(GeofenceStatements.active, "USING INDEX geofence_live (application_id=?)"),
        FanOut(GeofenceStatements.changed, "USING INDEX geofence_change (application_id=? AND changed_at_ms>?)"),
        FanOut(GeofenceStatements.withdrawn, "USING INDEX geofence_change (application_id=? AND changed_at_ms>?)"),
        FanOut(GeofenceStatements.activeUsing, "USING COVERING INDEX geofence_location_location (location_id=?)"),
        FanOut(DeletionStatements.since, "USING PRIMARY KEY (application_id=? AND changed_at_ms>?)"),
        FanOut(DeletionStatements.forget, "USING COVERING INDEX geofence_deletion_expiry (expires_at_ms<?)"),
        FanOut(GeofenceUpdateStatements.due, "USING INDEX geofence_update_due (due_at_ms<?)"),
        FanOut(CountStatements.push, "(receipt_id=?)"),
        FanOut(CountStatements.ofPush, "USING PRIMARY KEY (push_id=?)"),
        FanOut(CountStatements.onPlatform, "USING PRIMARY KEY (platform_id=? AND hour>? AND hour<?)"),
        FanOut(CountStatements.ofGeofences, "USING PRIMARY KEY (application_id=?"),
        FanOut(CountStatements.heartbeats, "USING PRIMARY KEY (platform_id=? AND device_id>?)"),
        FanOut(CountStatements.forgetMarks, "USING PRIMARY KEY (day<?)"),
        FanOut(CountStatements.forgetPlatforms, "USING COVERING INDEX platform_count_hour (hour<?)"),
        FanOut(CountStatements.forgetGeofences, "USING COVERING INDEX geofence_count_last (last_at_ms<?)"),
        FanOut(CountStatements.forgetHeartbeats, "USING COVERING INDEX heartbeat_last (last_at_ms<?)"),
        FanOut(
            PlatformStatements.releaseBatches,
            "INDEX batch_due (is_open=? AND lane=? AND platform_id=? AND due_at_ms>?)"),
        FanOut(IdempotencyStatements.byName, "USING PRIMARY KEY (name=?)"),
        FanOut(SealStatements.behind(.sharedSecret), "USING INDEX sqlite_autoindex_application_1 (uuid>?)"),
        FanOut(SealStatements.behind(.credentials), "USING INDEX sqlite_autoindex_platform_1 (uuid>?)"),
        FanOut(SealStatements.behind(.answer), "USING PRIMARY KEY (name>?)"),
        FanOut(SealStatements.replace(.sharedSecret), "USING INDEX sqlite_autoindex_application_1 (uuid=?)"),
        FanOut(SealStatements.replace(.credentials), "USING INDEX sqlite_autoindex_platform_1 (uuid=?)"),
        FanOut(SealStatements.replace(.answer), "USING PRIMARY KEY (name=?)"),
        FanOut(RetentionStatements.withAnswers, "INDEX push_progress_settled (has_answers=? AND settled_at_ms<?)"),
        FanOut(RetentionStatements.withoutAnswers, "INDEX push_progress_settled (has_answers=? AND settled_at_ms<?)"),
        FanOut(RetentionStatements.forgetBatches, "INDEX batch_device (push_id=?)"),
        FanOut(RetentionStatements.forgetAudit, "USING COVERING INDEX audit_at (at_ms<?)"),
        FanOut(IdempotencyStatements.clear, "USING COVERING INDEX idempotency_created (created_at_ms<?)"),
        FanOut(QuotaStatements.devices, "USING PRIMARY KEY (platform_id=?)"),
        FanOut(QuotaStatements.devices, "USING INTEGER PRIMARY KEY (rowid>?)"),
        FanOut(SQLiteQuotaStatements.userDevices, "INDEX device_custom_user (platform_id=? AND custom_user_id=?"),
        FanOut(QuotaStatements.topics, "USING COVERING INDEX topic_name (application_id=?)"),
        FanOut(QuotaStatements.geofences, "INDEX geofence_"),
        FanOut(QuotaStatements.locations, "USING COVERING INDEX location_application (application_id=?)"),
        FanOut(QuotaStatements.locationGroups, "USING COVERING INDEX location_group_application (application_id=?)"),
        FanOut(QuotaStatements.schedules, "COVERING INDEX schedule_application (application_id=? AND ended_at_ms=?)"),
        FanOut(QuotaStatements.idempotencyKeys, "COVERING INDEX idempotency_caller (caller_kind=? AND caller_id=?)"),
    ])
    func `a hot statement scans its index`(fanOut: FanOut) async throws {
        try await withSQLiteStore { store, _ in
            let plan = try await store.pool.read { db in
                try db.prepared("EXPLAIN QUERY PLAN " + fanOut.sql).all { $0.text(3) }
            }
            #expect(plan.contains { $0.contains(fanOut.step) }, "\(plan)")
            #expect(
                !plan.contains { $0.contains("TEMP B-TREE") || $0.hasPrefix("SCAN device") || $0 == "SCAN batch" },
                "\(plan)")
        }
    }

    @Test(
        arguments: ApplicationDeletionStatements.inOrder(with: SQLiteWriteSession.clearedWithApplication)
            + SQLiteWriteSession.clearedWithPlatform + PlatformDeletionStatements.inOrder
            + [PlatformDeletionStatements.devices, PlatformDeletionStatements.endFanOuts])
    func `clearing away looks at nothing but what it clears`(sql: SQLText) async throws {
        try await withSQLiteStore { store, _ in
            let plan = try await store.pool.read { db in
                try db.prepared("EXPLAIN QUERY PLAN " + sql.sqlite).all { $0.text(3) }
            }
            #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
        }
    }
}
