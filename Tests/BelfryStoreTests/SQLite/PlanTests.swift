import BelfryCore
import GRDB
import Logging
import Testing

@testable import BelfryStoreSQLite

/// Hot statements walk the index they were written for, and sort nothing.
@Suite struct PlanTests {
    @Test(arguments: [
        (DeviceStatements.byToken, "SEARCH device_token USING PRIMARY KEY (token_hash=?)"),
        (DeviceStatements.byToken, "SEARCH device USING INTEGER PRIMARY KEY (rowid=?)"),
        (TokenIndexStatements.beyond, "USING INTEGER PRIMARY KEY (rowid>?)"),
        (TokenIndexStatements.insert, "USING INTEGER PRIMARY KEY (rowid=?)"),
        (SubscriptionStatements.unswept, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        (PostingStatements.active, "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        (PostingStatements.interactive, "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        (PostingStatements.registered, "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        (PostingStatements.customUser, "INDEX device_custom_user (platform_id=? AND custom_user_id=? AND rowid>?)"),
        (PostingStatements.topic, "USING PRIMARY KEY (topic_id=? AND platform_id=? AND device_id>?)"),
        (StretchStatements.around, "USING PRIMARY KEY (topic_id=? AND platform_id=? AND device_id<?)"),
        (PostingStatements.unswept, "USING INTEGER PRIMARY KEY (rowid>?)"),
        (PostingStatements.topicCount, "USING PRIMARY KEY (topic_id=? AND platform_id=?)"),
        (CustomUserStatements.behind, "INDEX device_custom_user (platform_id=? AND custom_user_id>?)"),
        (TopicListStatements.stretch, "USING INDEX sqlite_autoindex_topic_1 (application_id=?)"),
        (TopicListStatements.count, "USING INDEX sqlite_autoindex_topic_1 (application_id=?)"),
        (TopicListStatements.behind, "USING INDEX sqlite_autoindex_topic_1 (application_id=? AND name>?)"),
        (BurialStatements.expired, "USING COVERING INDEX topic_expiry (expires_at_ms<?)"),
        (BurialStatements.clear, "USING PRIMARY KEY (topic_id=?)"),
        (CatalogueStatements.behind, "USING INTEGER PRIMARY KEY (rowid>?)"),
        (CatalogueStatements.deleteCards, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        (TextSearchStatements.drawer, "USING INTEGER PRIMARY KEY (rowid=?)"),
        (DeviceCountStatements.kept, "USING PRIMARY KEY (platform_id=?)"),
        (DeviceCountStatements.behind, "USING INTEGER PRIMARY KEY (rowid>?)"),
        (TokenStatements.stretch, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        (WalkStatements.nextBidder, "USING COVERING INDEX walk_due (lane=? AND platform_id>?)"),
        (WalkStatements.due, "USING COVERING INDEX walk_due (lane=? AND platform_id=? AND due_at_ms<?)"),
        (WalkStatements.nextDue, "USING COVERING INDEX walk_due (lane=? AND platform_id=?)"),
        (PageStatements.nextBidder, "USING COVERING INDEX page_due (is_open=? AND lane=? AND platform_id>?)"),
        (PageStatements.due, "USING INDEX page_due (is_open=? AND lane=? AND platform_id=? AND due_at_ms<?)"),
        (PageStatements.nextDue, "USING COVERING INDEX page_due (is_open=? AND lane=? AND platform_id=?)"),
        (PageStatements.holding, "USING INDEX page_device (push_id=? AND platform_id=? AND first_device_id<?)"),
        (DamageStatements.ofPush, "USING COVERING INDEX damaged_page_push (push_id=?)"),
        (DamageStatements.openOfPush, "USING INDEX page_device (push_id=?)"),
        (DamageStatements.countWalks, "USING INDEX walk_due (lane=? AND platform_id=? AND due_at_ms>?)"),
        (PushStatements.progress, "USING COVERING INDEX damaged_page_push (push_id=?)"),
        (PushStatements.progress, "SEARCH walk USING PRIMARY KEY (push_id=?)"),
        (ScheduleStatements.due, "USING INDEX schedule_due (due_at_ms<?)"),
        (ScheduleStatements.nextDue, "USING INDEX schedule_due"),
        (ScheduleStatements.waiting, "USING INDEX schedule_application (application_id=? AND ended_at_ms=? AND"),
        (ScheduleStatements.ended, "USING INDEX schedule_application (application_id=? AND"),
        (ScheduleStatements.clear, "USING COVERING INDEX schedule_application (application_id=? AND ended_at_ms<?)"),
        (ReceiptStatements.newest, "USING INDEX push_application (application_id=? AND rowid<?)"),
        (ReceiptStatements.open, "SCAN push_progress USING INDEX push_progress_open"),
        (ReceiptStatements.pageHolding, "INDEX page_device (push_id=? AND platform_id=? AND first_device_id<?)"),
        (ReceiptStatements.pages, "USING INDEX page_device (push_id=? AND (platform_id,first_device_id)>(?,?))"),
        (ReceiptStatements.allAnswers, "USING INDEX page_device (push_id=?)"),
        (RetirementStatements.anyActive, "USING COVERING INDEX device_reach (platform_id=? AND reach>?)"),
        (AdminKeyStatements.ofTenant, "USING INDEX admin_key_tenant (tenant_id=? AND rowid>?)"),
        (AdminKeyStatements.ofApplication, "USING INDEX admin_key_application (application_id=? AND rowid>?)"),
        (AuditStatements.ofTenant, "USING INDEX audit_tenant (tenant_id=? AND rowid<?)"),
        (AuditStatements.ofApplication, "USING INDEX audit_application (application_id=? AND rowid<?)"),
        (LocationStatements.page, "USING INDEX location_application (application_id=?)"),
        (LocationStatements.geofences, "USING COVERING INDEX geofence_location_location (location_id=?)"),
        (LocationStatements.groups, "INDEX location_group_member_location (location_id=?)"),
        (LocationGroupStatements.page, "USING INDEX location_group_application (application_id=?)"),
        (GeofenceStatements.page, "USING INDEX geofence_application (application_id=?)"),
        (GeofenceStatements.nextDue, "USING COVERING INDEX geofence_due"),
        (GeofenceStatements.due, "USING INDEX geofence_due (due_at_ms<?)"),
        (GeofenceStatements.liveCount, "USING INDEX geofence_live (application_id=?)"),
        (GeofenceStatements.active, "USING INDEX geofence_live (application_id=?)"),
        (GeofenceStatements.changed, "USING INDEX geofence_change (application_id=? AND changed_at_ms>?)"),
        (GeofenceStatements.withdrawn, "USING INDEX geofence_change (application_id=? AND changed_at_ms>?)"),
        (GeofenceStatements.activeUsing, "USING COVERING INDEX geofence_location_location (location_id=?)"),
        (DeletionStatements.since, "USING PRIMARY KEY (application_id=? AND changed_at_ms>?)"),
        (DeletionStatements.forget, "USING COVERING INDEX geofence_deletion_expiry (expires_at_ms<?)"),
        (NoticeStatements.due, "USING INDEX geofence_notice_due (due_at_ms<?)"),
        (CountStatements.push, "(receipt_id=?)"),
        (CountStatements.ofPush, "USING PRIMARY KEY (push_id=?)"),
        (CountStatements.onPlatform, "USING PRIMARY KEY (platform_id=? AND hour>? AND hour<?)"),
        (CountStatements.ofGeofences, "USING PRIMARY KEY (application_id=?"),
        (CountStatements.heartbeats, "USING PRIMARY KEY (platform_id=? AND device_id>?)"),
        (CountStatements.forgetMarks, "USING PRIMARY KEY (day<?)"),
        (CountStatements.forgetPlatforms, "USING COVERING INDEX platform_count_hour (hour<?)"),
        (CountStatements.forgetGeofences, "USING COVERING INDEX geofence_count_last (last_at_ms<?)"),
        (CountStatements.forgetHeartbeats, "USING COVERING INDEX heartbeat_last (last_at_ms<?)"),
        (PlatformStatements.releasePages, "INDEX page_due (is_open=? AND lane=? AND platform_id=? AND due_at_ms>?)"),
        (IdempotencyStatements.byName, "USING PRIMARY KEY (name=?)"),
        (SealStatements.behind(.sharedSecret), "USING INDEX sqlite_autoindex_application_1 (uuid>?)"),
        (SealStatements.behind(.credentials), "USING INDEX sqlite_autoindex_platform_1 (uuid>?)"),
        (SealStatements.behind(.answer), "USING PRIMARY KEY (name>?)"),
        (SealStatements.replace(.sharedSecret), "USING INDEX sqlite_autoindex_application_1 (uuid=?)"),
        (SealStatements.replace(.credentials), "USING INDEX sqlite_autoindex_platform_1 (uuid=?)"),
        (SealStatements.replace(.answer), "USING PRIMARY KEY (name=?)"),
        (RetentionStatements.withAnswers, "INDEX push_progress_settled (has_answers=? AND settled_at_ms<?)"),
        (RetentionStatements.withoutAnswers, "INDEX push_progress_settled (has_answers=? AND settled_at_ms<?)"),
        (RetentionStatements.forgetPages, "INDEX page_device (push_id=?)"),
        (RetentionStatements.forgetAudit, "USING COVERING INDEX audit_at (at_ms<?)"),
        (IdempotencyStatements.clear, "USING COVERING INDEX idempotency_created (created_at_ms<?)"),
        (QuotaStatements.catalogued, "USING PRIMARY KEY (platform_id=?)"),
        (QuotaStatements.uncatalogued, "USING INTEGER PRIMARY KEY (rowid>?)"),
        (QuotaStatements.userDevices, "INDEX device_custom_user (platform_id=? AND custom_user_id=?"),
        (QuotaStatements.topics, "USING COVERING INDEX sqlite_autoindex_topic_1 (application_id=?)"),
        (QuotaStatements.geofences, "INDEX geofence_"),
        (QuotaStatements.locations, "USING COVERING INDEX location_application (application_id=?)"),
        (QuotaStatements.locationGroups, "USING COVERING INDEX location_group_application (application_id=?)"),
        (QuotaStatements.schedules, "COVERING INDEX schedule_application (application_id=? AND ended_at_ms=?)"),
        (QuotaStatements.idempotencyKeys, "COVERING INDEX idempotency_caller (caller_kind=? AND caller_id=?)"),
    ])
    func `a hot statement walks its index`(sql: String, step: String) async throws {
        try await withSQLiteStore { store, _ in
            let plan = try await store.pool.read { db in
                try db.prepared("EXPLAIN QUERY PLAN " + sql).all { $0.text(3) }
            }
            #expect(plan.contains { $0.contains(step) }, "\(plan)")
            #expect(
                !plan.contains { $0.contains("TEMP B-TREE") || $0.hasPrefix("SCAN device") || $0 == "SCAN page" },
                "\(plan)")
        }
    }

    @Test(arguments: DemolitionStatements.inOrder + RetirementStatements.inOrder)
    func `clearing away looks at nothing but what it clears`(sql: String) async throws {
        try await withSQLiteStore { store, _ in
            let plan = try await store.pool.read { db in
                try db.prepared("EXPLAIN QUERY PLAN " + sql).all { $0.text(3) }
            }
            #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
        }
    }
}
