import BelfryCore
import GRDB
import Logging
import Testing

@testable import BelfryStore

/// Hot statements walk the index they were written for, and sort nothing.
@Suite struct PlanTests {
    /// A statement, and a step of its plan.
    struct Walk: Sendable {
        let sql: String
        let step: String

        init(_ sql: String, _ step: String) { (self.sql, self.step) = (sql, step) }

        init(_ sql: SQLText, _ step: String) { self.init(sql.sqlite, step) }
    }

    @Test(arguments: [
        Walk(SQLiteDeviceStatements.byToken, "SEARCH device_token USING PRIMARY KEY (token_hash=?)"),
        Walk(SQLiteDeviceStatements.byToken, "SEARCH device USING INTEGER PRIMARY KEY (rowid=?)"),
        Walk(TokenIndexStatements.beyond, "USING INTEGER PRIMARY KEY (rowid>?)"),
        Walk(TokenIndexStatements.insert, "USING INTEGER PRIMARY KEY (rowid=?)"),
        Walk(SQLiteSubscriptionStatements.unswept, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        Walk(
            SQLitePostingStatements.active, "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        Walk(
            SQLitePostingStatements.interactive,
            "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        Walk(
            SQLitePostingStatements.registered,
            "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        Walk(
            SQLitePostingStatements.customUser,
            "INDEX device_custom_user (platform_id=? AND custom_user_id=? AND rowid>?)"),
        Walk(SQLitePostingStatements.topic, "USING PRIMARY KEY (topic_id=? AND platform_id=? AND device_id>?)"),
        Walk(SQLiteStretchStatements.around, "USING PRIMARY KEY (topic_id=? AND platform_id=? AND device_id<?)"),
        Walk(SQLitePostingStatements.unswept, "USING INTEGER PRIMARY KEY (rowid>?)"),
        Walk(SQLitePostingStatements.topicCount, "USING PRIMARY KEY (topic_id=? AND platform_id=?)"),
        Walk(CustomUserStatements.behind, "INDEX device_custom_user (platform_id=? AND custom_user_id>?)"),
        Walk(TopicListStatements.stretch, "USING INDEX topic_name (application_id=?)"),
        Walk(TopicListStatements.count, "USING INDEX topic_name (application_id=?)"),
        Walk(TopicListStatements.behind, "USING INDEX topic_name (application_id=? AND name>?)"),
        Walk(BurialStatements.expired, "USING INDEX topic_expiry (expires_at_ms<?)"),
        Walk(BurialStatements.clear, "USING PRIMARY KEY (topic_id=?)"),
        Walk(CatalogueStatements.behind, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        Walk(CatalogueStatements.deleteCards, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        Walk(TextSearchStatements.cards, "USING INTEGER PRIMARY KEY (rowid=?)"),
        Walk(DeviceCountStatements.kept, "USING PRIMARY KEY (platform_id=?)"),
        Walk(DeviceCountStatements.behind, "USING INTEGER PRIMARY KEY (rowid>?)"),
        Walk(SQLiteTokenStatements.stretch, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        Walk(SQLiteClaimStatements.nextWalkBid, "USING COVERING INDEX walk_due (lane=? AND platform_id>?)"),
        Walk(SQLiteClaimStatements.dueWalks, "USING INDEX walk_due (lane=? AND platform_id=? AND due_at_ms<?)"),
        Walk(WalkStatements.nextDue, "USING COVERING INDEX walk_due (lane=? AND platform_id=?)"),
        Walk(
            SQLiteClaimStatements.nextPageBid, "USING COVERING INDEX page_due (is_open=? AND lane=? AND platform_id>?)"),
        Walk(
            SQLiteClaimStatements.duePages,
            "USING INDEX page_due (is_open=? AND lane=? AND platform_id=? AND due_at_ms<?)"),
        Walk(PageStatements.nextDue, "USING COVERING INDEX page_due (is_open=? AND lane=? AND platform_id=?)"),
        Walk(PageStatements.holding, "USING INDEX page_device (push_id=? AND platform_id=? AND first_device_id<?)"),
        Walk(DamageStatements.ofPush, "USING COVERING INDEX damaged_page_push (push_id=?)"),
        Walk(DamageStatements.openOfPush, "USING COVERING INDEX page_device (push_id=?)"),
        Walk(DamageStatements.countWalks, "USING INDEX walk_due (lane=? AND platform_id=? AND due_at_ms>?)"),
        Walk(PushStatements.progress, "USING COVERING INDEX damaged_page_push (push_id=?)"),
        Walk(PushStatements.progress, "SEARCH walk USING PRIMARY KEY (push_id=?)"),
        Walk(ScheduleStatements.due, "USING INDEX schedule_due (due_at_ms<?)"),
        Walk(ScheduleStatements.nextDue, "USING INDEX schedule_due"),
        Walk(ScheduleStatements.waiting, "USING INDEX schedule_application (application_id=? AND ended_at_ms=? AND"),
        Walk(ScheduleStatements.ended, "USING INDEX schedule_application (application_id=? AND"),
        Walk(
            ScheduleStatements.clear, "USING COVERING INDEX schedule_application (application_id=? AND ended_at_ms<?)"),
        Walk(ReceiptStatements.newest, "USING INDEX push_application (application_id=? AND rowid<?)"),
        Walk(ReceiptStatements.open, "SCAN push_progress USING INDEX push_progress_open"),
        Walk(ReceiptStatements.pageHolding, "INDEX page_device (push_id=? AND platform_id=? AND first_device_id<?)"),
        Walk(ReceiptStatements.pages, "USING INDEX page_device (push_id=? AND (platform_id,first_device_id)>(?,?))"),
        Walk(ReceiptStatements.allAnswers, "USING INDEX page_device (push_id=?)"),
        Walk(RetirementStatements.anyActive, "USING COVERING INDEX device_reach (platform_id=? AND reach>?)"),
        Walk(AdminKeyStatements.ofTenant, "USING INDEX admin_key_tenant (tenant_id=? AND rowid>?)"),
        Walk(AdminKeyStatements.ofApplication, "USING INDEX admin_key_application (application_id=? AND rowid>?)"),
        Walk(AuditStatements.ofTenant, "USING INDEX audit_tenant (tenant_id=? AND rowid<?)"),
        Walk(AuditStatements.ofApplication, "USING INDEX audit_application (application_id=? AND rowid<?)"),
        Walk(LocationStatements.page, "USING INDEX location_application (application_id=?)"),
        Walk(LocationStatements.geofences, "USING COVERING INDEX geofence_location_location (location_id=?)"),
        Walk(LocationStatements.groups, "INDEX location_group_member_location (location_id=?)"),
        Walk(LocationGroupStatements.page, "USING INDEX location_group_application (application_id=?)"),
        Walk(GeofenceStatements.page, "USING INDEX geofence_application (application_id=?)"),
        Walk(GeofenceStatements.nextDue, "USING COVERING INDEX geofence_due"),
        Walk(GeofenceStatements.due, "USING INDEX geofence_due (due_at_ms<?)"),
        Walk(GeofenceStatements.liveCount, "USING INDEX geofence_live (application_id=?)"),
        Walk(GeofenceStatements.active, "USING INDEX geofence_live (application_id=?)"),
        Walk(GeofenceStatements.changed, "USING INDEX geofence_change (application_id=? AND changed_at_ms>?)"),
        Walk(GeofenceStatements.withdrawn, "USING INDEX geofence_change (application_id=? AND changed_at_ms>?)"),
        Walk(GeofenceStatements.activeUsing, "USING COVERING INDEX geofence_location_location (location_id=?)"),
        Walk(DeletionStatements.since, "USING PRIMARY KEY (application_id=? AND changed_at_ms>?)"),
        Walk(DeletionStatements.forget, "USING COVERING INDEX geofence_deletion_expiry (expires_at_ms<?)"),
        Walk(NoticeStatements.due, "USING INDEX geofence_notice_due (due_at_ms<?)"),
        Walk(CountStatements.push, "(receipt_id=?)"),
        Walk(CountStatements.ofPush, "USING PRIMARY KEY (push_id=?)"),
        Walk(CountStatements.onPlatform, "USING PRIMARY KEY (platform_id=? AND hour>? AND hour<?)"),
        Walk(CountStatements.ofGeofences, "USING PRIMARY KEY (application_id=?"),
        Walk(CountStatements.heartbeats, "USING PRIMARY KEY (platform_id=? AND device_id>?)"),
        Walk(CountStatements.forgetMarks, "USING PRIMARY KEY (day<?)"),
        Walk(CountStatements.forgetPlatforms, "USING COVERING INDEX platform_count_hour (hour<?)"),
        Walk(CountStatements.forgetGeofences, "USING COVERING INDEX geofence_count_last (last_at_ms<?)"),
        Walk(CountStatements.forgetHeartbeats, "USING COVERING INDEX heartbeat_last (last_at_ms<?)"),
        Walk(
            PlatformStatements.releasePages, "INDEX page_due (is_open=? AND lane=? AND platform_id=? AND due_at_ms>?)"),
        Walk(IdempotencyStatements.byName, "USING PRIMARY KEY (name=?)"),
        Walk(SealStatements.behind(.sharedSecret), "USING INDEX sqlite_autoindex_application_1 (uuid>?)"),
        Walk(SealStatements.behind(.credentials), "USING INDEX sqlite_autoindex_platform_1 (uuid>?)"),
        Walk(SealStatements.behind(.answer), "USING PRIMARY KEY (name>?)"),
        Walk(SealStatements.replace(.sharedSecret), "USING INDEX sqlite_autoindex_application_1 (uuid=?)"),
        Walk(SealStatements.replace(.credentials), "USING INDEX sqlite_autoindex_platform_1 (uuid=?)"),
        Walk(SealStatements.replace(.answer), "USING PRIMARY KEY (name=?)"),
        Walk(RetentionStatements.withAnswers, "INDEX push_progress_settled (has_answers=? AND settled_at_ms<?)"),
        Walk(RetentionStatements.withoutAnswers, "INDEX push_progress_settled (has_answers=? AND settled_at_ms<?)"),
        Walk(RetentionStatements.forgetPages, "INDEX page_device (push_id=?)"),
        Walk(RetentionStatements.forgetAudit, "USING COVERING INDEX audit_at (at_ms<?)"),
        Walk(IdempotencyStatements.clear, "USING COVERING INDEX idempotency_created (created_at_ms<?)"),
        Walk(QuotaStatements.devices, "USING PRIMARY KEY (platform_id=?)"),
        Walk(QuotaStatements.devices, "USING INTEGER PRIMARY KEY (rowid>?)"),
        Walk(SQLiteQuotaStatements.userDevices, "INDEX device_custom_user (platform_id=? AND custom_user_id=?"),
        Walk(QuotaStatements.topics, "USING COVERING INDEX topic_name (application_id=?)"),
        Walk(QuotaStatements.geofences, "INDEX geofence_"),
        Walk(QuotaStatements.locations, "USING COVERING INDEX location_application (application_id=?)"),
        Walk(QuotaStatements.locationGroups, "USING COVERING INDEX location_group_application (application_id=?)"),
        Walk(QuotaStatements.schedules, "COVERING INDEX schedule_application (application_id=? AND ended_at_ms=?)"),
        Walk(QuotaStatements.idempotencyKeys, "COVERING INDEX idempotency_caller (caller_kind=? AND caller_id=?)"),
    ])
    func `a hot statement walks its index`(walk: Walk) async throws {
        try await withSQLiteStore { store, _ in
            let plan = try await store.pool.read { db in
                try db.prepared("EXPLAIN QUERY PLAN " + walk.sql).all { $0.text(3) }
            }
            #expect(plan.contains { $0.contains(walk.step) }, "\(plan)")
            #expect(
                !plan.contains { $0.contains("TEMP B-TREE") || $0.hasPrefix("SCAN device") || $0 == "SCAN page" },
                "\(plan)")
        }
    }

    @Test(
        arguments: DemolitionStatements.inOrder(with: SQLiteWriteSession.clearedWithApplication)
            + SQLiteWriteSession.clearedWithPlatform + RetirementStatements.inOrder
            + [RetirementStatements.devices, RetirementStatements.endWalks])
    func `clearing away looks at nothing but what it clears`(sql: SQLText) async throws {
        try await withSQLiteStore { store, _ in
            let plan = try await store.pool.read { db in
                try db.prepared("EXPLAIN QUERY PLAN " + sql.sqlite).all { $0.text(3) }
            }
            #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
        }
    }
}
