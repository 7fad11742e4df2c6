import GRDB
import Logging
import Testing

@testable import BelfryService

/// Hot statements scan the index they were written for, and sort nothing.
@Suite struct PlanTests {
    /// A statement, and a step of its plan.
    struct Plan: Sendable {
        let sql: String
        let step: String

        init(_ sql: String, _ step: String) { (self.sql, self.step) = (sql, step) }

        init(_ sql: SQLText, _ step: String) { self.init(sql.sqlite, step) }
    }

    @Test(arguments: [
        Plan(SQLiteDeviceStatements.byToken, "SEARCH device_token USING PRIMARY KEY (token_hash=?)"),
        Plan(SQLiteDeviceStatements.byToken, "SEARCH device USING INTEGER PRIMARY KEY (rowid=?)"),
        Plan(TokenIndexStatements.beyond, "USING INTEGER PRIMARY KEY (rowid>?)"),
        Plan(TokenIndexStatements.insert, "USING INTEGER PRIMARY KEY (rowid=?)"),
        Plan(SQLiteSubscriptionStatements.unmerged, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        Plan(
            PostingStatements.active, "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        Plan(
            PostingStatements.interactive,
            "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        Plan(
            PostingStatements.registered,
            "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        Plan(
            PostingStatements.customUser,
            "INDEX device_custom_user (platform_id=? AND custom_user_id=? AND rowid>?)"),
        Plan(SQLitePostingStatements.topic, "USING PRIMARY KEY (topic_id=? AND platform_id=? AND device_id>?)"),
        Plan(SQLitePostingBlockStatements.around, "USING PRIMARY KEY (topic_id=? AND platform_id=? AND device_id<?)"),
        Plan(PostingStatements.unmerged, "USING INTEGER PRIMARY KEY (rowid>?)"),
        Plan(PostingStatements.topicCount, "USING PRIMARY KEY (topic_id=? AND platform_id=?)"),
        Plan(
            CustomUserStatements.beginning,
            "INDEX device_custom_user (platform_id=? AND custom_user_id>? AND custom_user_id<?)"),
        Plan(
            UserStatements.beginning, "USING INDEX app_user_public (application_id=? AND public_id>? AND public_id<?)"),
        Plan(CustomUserStatements.behind, "INDEX device_custom_user (platform_id=? AND custom_user_id>?)"),
        Plan(TopicListStatements.slice, "USING INDEX topic_name (application_id=? AND name>?)"),
        Plan(TopicListStatements.count, "USING INDEX topic_name (application_id=? AND name>?)"),
        Plan(TopicListStatements.behind, "USING INDEX topic_name (application_id=? AND name>?)"),
        Plan(LabelStatements.names, "USING COVERING INDEX topic_name (application_id=? AND name>? AND name<?)"),
        Plan(LabelStatements.ids, "USING COVERING INDEX topic_name (application_id=? AND name>? AND name<?)"),
        Plan(LabelStatements.checked, "USING INTEGER PRIMARY KEY (rowid=?)"),
        Plan(ReportStatements.ofPush, "USING PRIMARY KEY (push_id=? AND kind=? AND platform_id=? AND block>?)"),
        Plan(
            ReportStatements.ofGeofence,
            "USING PRIMARY KEY (application_id=? AND geofence_id=? AND platform_id=? AND block>?)"),
        Plan(ReportStatements.deleteExpired, "USING PRIMARY KEY (push_id=?)"),
        Plan(ReportStatements.counts, "USING PRIMARY KEY (push_id=?)"),
        Plan(PacingStatements.uses, "USING PRIMARY KEY (application_id=? AND holder=?)"),
        Plan(SegmentStatements.list, "USING INDEX segment_name (application_id=?)"),
        Plan(FollowUpStatements.ofPush, "USING INDEX follow_up_followed (followed_push_id=?)"),
        Plan(ReminderStatements.ofPush, "INDEX schedule_reminded (reminded_push_id=?)"),
        Plan(ReminderStatements.open, "USING INDEX follow_up_followed (followed_push_id=?)"),
        Plan(ReminderStatements.open, "INDEX batch_open (push_id=?)"),
        Plan(ReminderStatements.reminded, "INDEX schedule_reminded (reminded_push_id=?)"),
        Plan(ReminderStatements.end, "INDEX schedule_reminded (reminded_push_id=?)"),
        Plan(ReminderStatements.waiting, "INDEX schedule_reminded (reminded_push_id=?)"),
        Plan(ReminderStatements.waiting, "USING COVERING INDEX follow_up_followed (followed_push_id=?)"),
        Plan(ReminderStatements.sent, "INDEX push_application (application_id=?)"),
        Plan(ReminderStatements.sentOfKind, "INDEX push_kind (application_id=? AND kind=?)"),
        Plan(TemplateStatements.list, "USING INDEX template_name (application_id=?)"),
        Plan(CampaignStatements.list, "USING INDEX campaign_application (application_id=?)"),
        Plan(CampaignStatements.parts, "USING PRIMARY KEY (campaign_id=?)"),
        Plan(CampaignStatements.ofPush, "SEARCH campaign_part USING PRIMARY KEY (campaign_id=?)"),
        Plan(CampaignStatements.ofSchedule, "SEARCH campaign_part USING PRIMARY KEY (campaign_id=?)"),
        Plan(TopicDeletionStatements.expired, "USING INDEX topic_expiry (expires_at_ms<?)"),
        Plan(SearchIndexStatements.behind, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        Plan(SearchIndexStatements.deletePostings, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        Plan(
            TextSearchStatements.newest, "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid<?)"),
        Plan(TextSearchStatements.past, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        Plan(TextSearchStatements.postings, "USING INTEGER PRIMARY KEY (rowid=?)"),
        Plan(DeviceCountStatements.kept, "USING PRIMARY KEY (platform_id=?)"),
        Plan(DeviceCountStatements.behind, "USING INTEGER PRIMARY KEY (rowid>?)"),
        Plan(SQLiteTokenStatements.slice, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        Plan(SQLiteClaimStatements.nextFanOutBid, "USING COVERING INDEX fan_out_due (lane=? AND platform_id>?)"),
        Plan(SQLiteClaimStatements.dueFanOuts, "USING INDEX fan_out_due (lane=? AND platform_id=? AND due_at_ms<?)"),
        Plan(FanOutStatements.nextDue, "USING COVERING INDEX fan_out_due (lane=? AND platform_id=?)"),
        Plan(
            SQLiteClaimStatements.nextBatchBid,
            "USING COVERING INDEX batch_due (is_open=? AND lane=? AND platform_id>?)"),
        Plan(
            SQLiteClaimStatements.dueBatches,
            "USING INDEX batch_due (is_open=? AND lane=? AND platform_id=? AND due_at_ms<?)"),
        Plan(BatchStatements.nextDue, "USING COVERING INDEX batch_due (is_open=? AND lane=? AND platform_id=?)"),
        Plan(
            DeliveryNoteStatements.delivery,
            "USING INDEX batch_device (push_id=? AND platform_id=? AND first_device_id<?)"),
        Plan(DeviceStatements.inactiveCount, "USING COVERING INDEX device_reach (platform_id=? AND reach=?)"),
        Plan(DeliveryNoteStatements.leasesEnd, "USING INDEX batch_device (push_id=?)"),
        Plan(DeliveryNoteStatements.leasesEnd, "SEARCH fan_out USING PRIMARY KEY (push_id=?)"),
        Plan(DamageStatements.ofPush, "USING COVERING INDEX damaged_batch_push (push_id=?)"),
        Plan(DamageStatements.openOfPush, "USING COVERING INDEX batch_device (push_id=?)"),
        Plan(
            PushCancellationStatements.batches,
            "USING COVERING INDEX batch_device (push_id=? AND (platform_id,first_device_id)>(?,?))"),
        Plan(PushCancellationStatements.cancelFanOuts, "SEARCH fan_out USING PRIMARY KEY (push_id=?)"),
        Plan(
            PushCancellationStatements.closeFound,
            "USING INDEX batch_device (push_id=? AND platform_id=? AND first_device_id>?)"),
        Plan(DamageStatements.countFanOuts, "USING INDEX fan_out_due (lane=? AND platform_id=? AND due_at_ms>?)"),
        Plan(PushStatements.progress, "USING COVERING INDEX damaged_batch_push (push_id=?)"),
        Plan(PushStatements.progress, "SEARCH fan_out USING PRIMARY KEY (push_id=?)"),
        Plan(ScheduleStatements.due, "USING INDEX schedule_due (due_at_ms<?)"),
        Plan(ScheduleStatements.nextDue, "USING INDEX schedule_due"),
        Plan(ScheduleStatements.waiting, "USING INDEX schedule_application (application_id=? AND ended_at_ms=? AND"),
        Plan(ScheduleStatements.ended, "USING INDEX schedule_application (application_id=? AND"),
        Plan(
            ScheduleStatements.clear, "USING COVERING INDEX schedule_application (application_id=? AND ended_at_ms<?)"),
        Plan(ScheduleStatements.runs, "USING INDEX schedule_run_schedule (schedule_id=?)"),
        Plan(ScheduleStatements.cancelChildren, "USING INDEX schedule_run_schedule (schedule_id=?)"),
        Plan(ScheduleStatements.cancelChildren, "SEARCH schedule USING INTEGER PRIMARY KEY (rowid=?)"),
        Plan(ScheduleStatements.clearRuns, "USING COVERING INDEX schedule_run_schedule (schedule_id=?)"),
        Plan(ReceiptStatements.newest, "USING INDEX push_application (application_id=? AND rowid<?)"),
        Plan(ReceiptStatements.open, "SEARCH push_progress USING INDEX push_progress_open (push_id>?)"),
        Plan(
            ReceiptStatements.batchHolding, "INDEX batch_device (push_id=? AND platform_id=? AND first_device_id<?)"),
        Plan(
            ReceiptStatements.batches, "USING INDEX batch_device (push_id=? AND (platform_id,first_device_id)>(?,?))"),
        Plan(ReceiptStatements.allAnswers, "USING INDEX batch_device (push_id=?)"),
        Plan(
            ReceiptStatements.ofDevice, "INDEX batch_device (push_id=? AND platform_id=? AND first_device_id<?)"),
        Plan(AuditStatements.ofPush, "USING INDEX audit_at (at_ms>? AND at_ms<?)"),
        Plan(PlatformDeletionStatements.anyActive, "USING COVERING INDEX device_reach (platform_id=? AND reach>?)"),
        Plan(AdminKeyStatements.ofTenant, "USING INDEX admin_key_tenant (tenant_id=? AND rowid>?)"),
        Plan(AdminKeyStatements.ofApplication, "USING INDEX admin_key_application (application_id=? AND rowid>?)"),
        Plan(ApplicationStatements.ofTenant, "USING INDEX application_tenant (tenant_id=? AND rowid>?)"),
        Plan(AuditStatements.ofTenant, "USING INDEX audit_tenant (tenant_id=? AND rowid<?)"),
        Plan(AuditStatements.ofApplication, "USING INDEX audit_application (application_id=? AND rowid<?)"),
        Plan(LocationStatements.listed, "USING INDEX location_application (application_id=? AND rowid>?)"),
        Plan(LocationStatements.geofences, "USING COVERING INDEX geofence_location_location (location_id=?)"),
        Plan(LocationStatements.groups, "INDEX location_group_member_location (location_id=?)"),
        Plan(
            LocationGroupStatements.listed, "USING INDEX location_group_application (application_id=? AND rowid>?)"),
        Plan(GeofenceStatements.listed, "USING INDEX geofence_application (application_id=? AND rowid>?)"),
        Plan(GeofenceStatements.nextDue, "USING COVERING INDEX geofence_due"),
        Plan(GeofenceStatements.due, "USING INDEX geofence_due (due_at_ms<?)"),
        Plan(GeofenceStatements.liveCount, "USING INDEX geofence_live (application_id=?)"),
        Plan(GeofenceStatements.active, "USING INDEX geofence_live (application_id=?)"),
        Plan(GeofenceStatements.changed, "USING INDEX geofence_change (application_id=? AND changed_at_ms>?)"),
        Plan(GeofenceStatements.withdrawn, "USING INDEX geofence_change (application_id=? AND changed_at_ms>?)"),
        Plan(GeofenceStatements.activeUsing, "USING COVERING INDEX geofence_location_location (location_id=?)"),
        Plan(DeletionStatements.since, "USING PRIMARY KEY (application_id=? AND changed_at_ms>?)"),
        Plan(GeofenceUpdateStatements.claim, "USING INDEX geofence_update_due (due_at_ms<?)"),
        Plan(CountStatements.push, "(receipt_id=?)"),
        Plan(CountStatements.ofPush, "USING PRIMARY KEY (push_id=?)"),
        Plan(CountStatements.onPlatform, "USING PRIMARY KEY (platform_id=? AND hour>? AND hour<?)"),
        Plan(OpeningStatements.ofPush, "USING PRIMARY KEY (push_id=?)"),
        Plan(OpeningStatements.batches, "USING INDEX batch_device (push_id=?)"),
        Plan(OpeningStatements.languages, "USING PRIMARY KEY (platform_id=? AND device_id=?)"),
        Plan(ActivityStatements.onPlatform, "USING PRIMARY KEY (platform_id=? AND hour>? AND hour<?)"),
        Plan(CountStatements.ofGeofences, "USING PRIMARY KEY (application_id=?"),
        Plan(CountStatements.heartbeats, "USING PRIMARY KEY (platform_id=? AND device_id>?)"),
        Plan(
            PlatformStatements.releaseBatches,
            "INDEX batch_due (is_open=? AND lane=? AND platform_id=? AND due_at_ms>?)"),
        Plan(IdempotencyStatements.byName, "USING PRIMARY KEY (name=?)"),
        Plan(SealStatements.behind(.sharedSecret), "USING INDEX sqlite_autoindex_application_1 (uuid>?)"),
        Plan(SealStatements.behind(.credentials), "USING INDEX sqlite_autoindex_platform_1 (uuid>?)"),
        Plan(SealStatements.behind(.answer), "USING PRIMARY KEY (name>?)"),
        Plan(SealStatements.replace(.sharedSecret), "USING INDEX sqlite_autoindex_application_1 (uuid=?)"),
        Plan(SealStatements.replace(.credentials), "USING INDEX sqlite_autoindex_platform_1 (uuid=?)"),
        Plan(SealStatements.replace(.answer), "USING PRIMARY KEY (name=?)"),
        Plan(RetentionStatements.withAnswers, "INDEX push_progress_settled (has_answers=? AND settled_at_ms<?)"),
        Plan(RetentionStatements.withoutAnswers, "INDEX push_progress_settled (has_answers=? AND settled_at_ms<?)"),
        Plan(RetentionStatements.whole, "USING INDEX batch_settled (due_at_ms<?)"),
        Plan(RetentionStatements.deleteExpiredWhole, "INDEX batch_device (push_id=?)"),
        Plan(PushStatements.whole, "USING INDEX batch_device (push_id=?)"),
        Plan(CountStatements.sentOfWhole, "USING INDEX batch_device (push_id=?)"),
        Plan(ReceiptStatements.openWhole, "INDEX batch_open"),
        Plan(RetentionStatements.deleteExpiredBatches, "INDEX batch_device (push_id=?)"),
        Plan(RetentionStatements.deleteExpiredAudit, "USING COVERING INDEX audit_at (at_ms<?)"),
        Plan(IdempotencyStatements.deleteOldest, "COVERING INDEX idempotency_caller (caller_kind=? AND caller_id=?)"),
        Plan(IdempotencyStatements.clear, "USING COVERING INDEX idempotency_created (created_at_ms<?)"),
        Plan(QuotaStatements.devices, "USING PRIMARY KEY (platform_id=?)"),
        Plan(QuotaStatements.devices, "USING INTEGER PRIMARY KEY (rowid>?)"),
        Plan(SQLiteQuotaStatements.userDevices, "INDEX device_custom_user (platform_id=? AND custom_user_id=?"),
        Plan(QuotaStatements.topics, "USING COVERING INDEX topic_name (application_id=?)"),
        Plan(QuotaStatements.geofences, "INDEX geofence_"),
        Plan(QuotaStatements.users, "USING COVERING INDEX app_user_public (application_id=?)"),
        Plan(AcrobitsStatements.appIDsNamed, "USING PRIMARY KEY (app_id=? AND application_id=?)"),
        Plan(AcrobitsStatements.ofSelector, "INDEX acrobits_registration_selector (application_id=? AND selector=?)"),
        Plan(EncryptionKeyStatements.of, "SEARCH device USING INTEGER PRIMARY KEY (rowid=?)"),
        Plan(EncryptionKeyStatements.of, "SEARCH device_detail USING PRIMARY KEY (platform_id=? AND device_id=?)"),
        Plan(WebPushStatements.byHash, "INDEX sqlite_autoindex_web_push_endpoint_1 (key_hash=?)"),
        Plan(WebPushStatements.byHash, "SEARCH device USING INTEGER PRIMARY KEY (rowid=?)"),
        Plan(WebPushStatements.ofDevice, "INDEX web_push_endpoint_device (platform_id=? AND device_id=?)"),
        Plan(WebPushStatements.messages, "INDEX web_push_message_endpoint (endpoint_id=?)"),
        Plan(WebPushStatements.deleteTopic, "INDEX web_push_message_topic (endpoint_id=? AND topic=?)"),
        Plan(WebPushStatements.deleteMessagesOfDevice, "INDEX web_push_message_endpoint (endpoint_id=?)"),
        Plan(WebPushStatements.deleteMessagesOfPlatform, "INDEX web_push_endpoint_device (platform_id=?)"),
        Plan(WebPushStatements.deleteAllExpired, "INDEX web_push_message_expiry (expires_at_ms<?)"),
        Plan(WebhookTurnStatements.hasWork, "INDEX webhook_event_new"),
        Plan(WebhookTurnStatements.hasWork, "INDEX webhook_due"),
        Plan(WebhookTurnStatements.unnumbered, "INDEX webhook_event_new"),
        Plan(WebhookTurnStatements.due, "USING INDEX webhook_due (due_at_ms<?)"),
        Plan(WebhookTurnStatements.retries, "USING PRIMARY KEY (webhook_id=?)"),
        Plan(WebhookTurnStatements.events, "INDEX webhook_event_position (application_id=? AND position=?)"),
        Plan(WebhookTurnStatements.deleteOldest, "INDEX webhook_event_position (application_id=? AND position<?)"),
        Plan(WebhookTurnStatements.forgetAttempts, "INDEX webhook_attempt_webhook (webhook_id=?)"),
        Plan(WebhookStatements.events, "INDEX webhook_event_position (application_id=? AND position>?)"),
        Plan(WebhookStatements.replay, "SEARCH webhook_event USING INTEGER PRIMARY KEY (rowid=?)"),
        Plan(WebhookStatements.first, "INDEX webhook_event_position (application_id=? AND position>?)"),
        Plan(WebhookStatements.attempts, "INDEX webhook_attempt_webhook (webhook_id=? AND rowid<?)"),
        Plan(WebhookStatements.wanted, "INDEX webhook_feed_wanted"),
        Plan(CarmaAppStatements.byAppID, "INDEX carma_app_app_id (app_id=? AND customer_id=?)"),
        Plan(CarmaImportStatements.byUUID, "USING INDEX sqlite_autoindex_carma_import_1 (import_uuid=?)"),
        Plan(CarmaContactStatements.devices, "INDEX carma_device_contact (application_id=? AND contact=?)"),
        Plan(CarmaContactStatements.takeFromOthers, "INDEX carma_device_"),
        Plan(CarmaContactStatements.moveDevices, "INDEX carma_device_contact (application_id=? AND contact=?)"),
        Plan(CarmaContactStatements.moveMessages, "INDEX carma_message_contact (application_id=? AND contact=?)"),
        Plan(CarmaContactStatements.messages, "INDEX carma_message_contact (application_id=? AND contact=?)"),
        Plan(UserStatements.byID, "USING INDEX app_user_public (application_id=? AND public_id=?)"),
        Plan(
            UserStatements.having,
            "USING COVERING INDEX user_attribute_value (application_id=? AND name=? AND value=? AND user_id>?)"),
        Plan(UserStatements.behind, "USING INDEX app_user_public (application_id=? AND public_id>?)"),
        Plan(QuotaStatements.locations, "USING COVERING INDEX location_application (application_id=?)"),
        Plan(QuotaStatements.locationGroups, "USING COVERING INDEX location_group_application (application_id=?)"),
        Plan(QuotaStatements.schedules, "COVERING INDEX schedule_application (application_id=? AND ended_at_ms=?)"),
        Plan(ImportJobStatements.behind, "INDEX import_job_application (application_id=? AND rowid<?)"),
        Plan(ImportJobStatements.verdicts, "INDEX sqlite_autoindex_import_verdict_1 (job_id=? AND position>?)"),
        Plan(ImportJobStatements.due, "INDEX import_job_updated (updated_at_ms<?)"),
        Plan(QuotaStatements.idempotencyKeys, "COVERING INDEX idempotency_caller (caller_kind=? AND caller_id=?)"),
    ])
    func `a hot statement scans its index`(plan expected: Plan) async throws {
        try await withSQLiteStore { store, _ in
            let plan = try await store.pool.read { db in
                try db.prepared("EXPLAIN QUERY PLAN " + expected.sql).all { $0.text(3) }
            }
            #expect(plan.contains { $0.contains(expected.step) }, "\(plan)")
            #expect(
                !plan.contains { $0.contains("TEMP B-TREE") || $0.hasPrefix("SCAN device") || $0 == "SCAN batch" },
                "\(plan)")
        }
    }

    /// It groups what it found, which is a segment at most.
    @Test func `new devices are counted from the mark`() async throws {
        try await withSQLiteStore { store, _ in
            let plan = try await store.pool.read { db in
                try db.prepared("EXPLAIN QUERY PLAN " + ActivityStatements.recentJoins.sqlite).all { $0.text(3) }
            }
            #expect(plan.contains { $0.contains("SEARCH device USING INTEGER PRIMARY KEY (rowid>?)") }, "\(plan)")
        }
    }

    @Test(
        arguments: ApplicationDeletionStatements.inOrder(of: StoreTable.sqlite).flatMap(\.statements)
            + PlatformDeletionStatements.inOrder(of: StoreTable.sqlite)
            + PlatformDeletionStatements.postings(of: StoreTable.sqlite) + [PlatformDeletionStatements.topics]
            + StoreTable.sqlite.compactMap { $0.delete(of: .topic) } + StoreTable.sqlite.compactMap(\.deleteExpired)
            + [PlatformDeletionStatements.devices, PlatformDeletionStatements.endFanOuts])
    func `clearing away looks at nothing but what it clears`(sql: SQLText) async throws {
        try await withSQLiteStore { store, _ in
            let plan = try await store.pool.read { db in
                try db.prepared("EXPLAIN QUERY PLAN " + sql.sqlite).all { $0.text(3) }
            }
            #expect(!plan.contains { $0.hasPrefix("SCAN") && !$0.hasPrefix("SCAN json_each") }, "\(plan)")
        }
    }
}
