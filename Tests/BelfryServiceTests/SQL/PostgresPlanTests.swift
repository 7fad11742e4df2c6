import PostgreSQL
import Testing

@testable import BelfryService

/// Hot statements scan the index they were written for, and sort nothing, even while the server believes all tables
/// empty.
@Suite struct PostgresPlanTests {
    /// A statement, the types of its parameters, and a step of its plan.
    struct Plan: Sendable {
        let sql: String
        let types: String
        let step: String
        var sorts = false

        init(_ sql: String, _ types: String, _ step: String, sorts: Bool = false) {
            (self.sql, self.types, self.step, self.sorts) = (sql, types, step, sorts)
        }

        init(_ sql: SQLText, _ types: String, _ step: String, sorts: Bool = false) {
            self.init(sql.postgres, types, step, sorts: sorts)
        }
    }

    private static let plans: [Plan] = [
        Plan(PostgresDeviceStatements.byToken, "bigint[], uuid[]", "using device_token"),
        Plan(PostgresDeviceStatements.hold, "bigint[]", "using device_pkey"),
        Plan(PostgresDeviceStatements.count, "bigint", "Index Only Scan using device_reach"),
        Plan(PostgresDeviceStatements.deactivateDeadTokens, "bigint, bigint[], bytea[], bigint[]", "using device_pkey"),
        Plan(
            PostingStatements.active, "bigint, bigint, bigint", "Index Only Scan using device_reach",
            sorts: true),
        Plan(PostingStatements.interactive, "bigint, bigint, bigint", "Index Only Scan using device_reach"),
        Plan(
            PostingStatements.registered, "bigint, bigint, bigint", "Index Only Scan using device_reach",
            sorts: true),
        Plan(PostingStatements.customUser, "bigint, text, bigint, bigint", "using device_custom_user"),
        Plan(
            PostgresPostingStatements.topic, "bigint, bigint, bigint, bigint", "Index Only Scan using subscription_pkey"
        ),
        Plan(PostingStatements.topicCount, "bigint, bigint", "Index Only Scan using subscription_pkey"),
        Plan(PostingStatements.topicCount, "bigint, bigint", "using subscription_block_pkey"),
        Plan(PostgresPostingStatements.blocks, "bigint, bigint, bigint, bigint", "using subscription_block_pkey"),
        Plan(PostingStatements.unmerged, "bigint, bigint", "using device_pkey"),
        Plan(PostgresSubscriptionStatements.unmerged, "bigint, bigint, bigint", "using device_pkey"),
        Plan(
            PostgresPostingBlockStatements.holding, "bigint[], bigint[], bigint[]",
            "Backward using subscription_block_pkey"),
        Plan(
            PostgresPostingBlockStatements.replace, "bigint[], bigint[], bigint[], bigint[], bytea[]",
            "using subscription_block_pkey"),
        Plan(PostgresPostingStatements.named, "bigint[], bigint, bigint, bigint", "using device_pkey"),
        Plan(PostgresPostingStatements.remove, "bigint[], bigint[], bigint[]", "using subscription_pkey"),
        Plan(PostgresBurstStatements.tokens, "bigint[]", "using device_pkey"),
        Plan(PostgresBurstStatements.pushes, "bigint[], bigint[], bigint", "using push_pkey", sorts: true),
        Plan(CustomUserStatements.beginning, "bigint, text, text, bigint", "using device_custom_user"),
        Plan(UserStatements.beginning, "bigint, text, text, bigint", "using app_user_public"),
        Plan(CustomUserStatements.behind, "bigint, text, text, bigint", "using device_custom_user"),
        Plan(PostgresTopicStatements.byNames, "bigint[], text[]", "using topic_name"),
        Plan(PostgresTopicStatements.hold, "bigint[], bigint", "using topic_pkey"),
        Plan(TopicListStatements.slice, "bigint, text, boolean, bigint, bigint, bigint, text", "using topic_name"),
        Plan(TopicListStatements.behind, "bigint, text, bigint, bigint", "using topic_name"),
        Plan(TopicDeletionStatements.expired, "bigint, bigint", "using topic_expiry"),
        Plan(TextSearchStatements.byKeys, "bigint[]", "using device_pkey"),
        Plan(
            TextSearchStatements.newest, "bigint, bigint, bigint", "Index Only Scan Backward using device_reach",
            sorts: true),
        Plan(TextSearchStatements.segments, "", "Index Only Scan using search_index_segment_pkey"),
        Plan(TextSearchStatements.postings, "bigint[]", "using search_index_posting_pkey"),
        Plan(TextSearchStatements.devices, "bigint[]", "using search_index_segment_pkey"),
        Plan(TextSearchStatements.past, "bigint, bigint, bigint", "Index Scan Backward using device_pkey"),
        Plan(TextSearchStatements.mark, "", "Index Only Scan Backward using device_pkey"),
        Plan(SearchIndexStatements.behind, "bigint, bigint, bigint", "using device_pkey"),
        Plan(SearchIndexStatements.stale, "bigint", "using search_index_stale_pkey"),
        Plan(SearchIndexStatements.deleteStale, "bigint, bigint", "using search_index_stale_pkey"),
        Plan(SearchIndexStatements.deletePostings, "bigint, bigint", "using search_index_posting_pkey"),
        Plan(PostgresClaimStatements.fanOutBids, "bigint, bigint[]", "Index Only Scan using fan_out_due", sorts: true),
        Plan(PostgresClaimStatements.fanOuts, "bigint, bigint, bigint, bigint, bigint", "using fan_out_due"),
        Plan(FanOutStatements.nextDue, "", "Index Only Scan using fan_out_due"),
        Plan(PostgresClaimStatements.batchBids, "bigint, bigint[]", "Index Only Scan using batch_due", sorts: true),
        Plan(
            PostgresClaimStatements.batches, "bigint, bigint, bigint, bigint, bigint, bigint, bigint",
            "using batch_due",
            sorts: true),
        Plan(BatchStatements.forSettling, "bigint[]", "using batch_pkey", sorts: true),
        Plan(
            BatchStatements.settle, "bytea[], bigint[], bigint[], boolean[], bigint[], bigint[]", "using batch_pkey"),
        Plan(DeviceStatements.platforms, "bigint[]", "using device_pkey"),
        Plan(PostgresBurstStatements.ofUsers, "bigint[], text[], bigint", "using device_custom_user"),
        Plan(PushStatements.whole, "bigint[]", "using batch_device"),
        Plan(CountStatements.sentOfWhole, "bigint", "using batch_device"),
        Plan(ReceiptStatements.openWhole, "bigint, bigint", "using batch_open", sorts: true),
        Plan(RetentionStatements.whole, "bigint, bigint", "using batch_settled"),
        Plan(RetentionStatements.deleteExpiredWhole, "bigint[]", "using batch_device"),
        Plan(BatchStatements.nextDue, "", "Index Only Scan using batch_due"),
        Plan(DeviceStatements.inactiveCount, "bigint, bigint", "Index Only Scan using device_reach"),
        Plan(DeliveryNoteStatements.leasesEnd, "bigint", "using batch_device"),
        Plan(DeliveryNoteStatements.delivery, "bigint, bigint", "Index Scan Backward using batch_device"),
        Plan(DamageStatements.count, "", "using batch_pkey"),
        Plan(DamageStatements.ofPush, "bigint", "using damaged_batch_push", sorts: true),
        Plan(DamageStatements.openOfPush, "bigint", "using batch_device", sorts: true),
        Plan(DamageStatements.countFanOuts, "bigint", "using fan_out_due"),
        Plan(PushStatements.progress, "bigint[], bigint", "using damaged_batch_push"),
        Plan(PushStatements.progress, "bigint[], bigint", "using fan_out_pkey"),
        Plan(PushStatements.progress, "bigint[], bigint", "using push_progress_pkey"),
        Plan(TallyStatements.all, "bigint[]", "using tally_pkey"),
        Plan(PlatformStatements.releaseBatches, "bigint, bigint, bigint", "using batch_due"),
        Plan(
            PostgresClaimStatements.allBatches, "bigint, bigint, bigint, bigint, bigint, bigint, bigint",
            "using batch_due", sorts: true),
        Plan(PlatformDeletionStatements.anyActive, "bigint", "using device_reach"),
        Plan(PlatformDeletionStatements.topics, "bigint, text, bigint", "using topic_name"),
        Plan(PlatformDeletionStatements.lockApplication, "bigint", "using application_pkey"),
        Plan(ScheduleStatements.due, "bigint, bigint", "using schedule_due"),
        Plan(ScheduleStatements.nextDue, "", "using schedule_due"),
        Plan(ScheduleStatements.waiting, "bigint, bigint, bigint, bigint", "using schedule_application"),
        Plan(
            ScheduleStatements.ended, "bigint, bigint, bigint, bigint, bigint",
            "Index Scan Backward using schedule_application"),
        Plan(ScheduleStatements.clear, "bigint, bigint, bigint", "using schedule_application"),
        Plan(ScheduleStatements.runs, "bigint, bigint", "using schedule_run_schedule"),
        Plan(ScheduleStatements.cancelChildren, "bigint, bigint", "using schedule_run_schedule", sorts: true),
        Plan(ScheduleStatements.cancelChildren, "bigint, bigint", "using schedule_pkey", sorts: true),
        Plan(ScheduleStatements.clearRuns, "bigint, bigint", "using schedule_run_schedule"),
        Plan(RetentionStatements.withAnswers, "bigint, bigint", "using push_progress_settled"),
        Plan(RetentionStatements.withoutAnswers, "bigint, bigint", "using push_progress_settled"),
        Plan(RetentionStatements.deleteExpiredBatches, "bigint, bigint", "using batch_device", sorts: true),
        Plan(RetentionStatements.deleteExpiredAudit, "bigint, bigint", "using audit_at", sorts: true),
        Plan(ReceiptStatements.newest, "bigint, bigint, bigint", "Index Scan Backward using push_application"),
        Plan(ReceiptStatements.open, "bigint, bigint", "Index Only Scan Backward using push_progress_open"),
        Plan(ReceiptStatements.batchHolding, "bigint, bigint, bigint", "Backward using batch_device"),
        Plan(ReceiptStatements.batches, "bigint, bigint, bigint, bigint", "using batch_device"),
        Plan(ReceiptStatements.ofDevice, "bigint[], bigint, bigint", "Index Scan Backward using batch_device"),
        Plan(AuditStatements.ofPush, "bigint, bigint, bigint, text", "using audit_at"),
        Plan(AdminKeyStatements.ofTenant, "bigint, bigint, bigint", "using admin_key_tenant"),
        Plan(AdminKeyStatements.ofApplication, "bigint, bigint, bigint", "using admin_key_application"),
        Plan(
            AuditStatements.ofTenant, "bigint, bigint, bigint, bigint, text, bigint",
            "Index Scan Backward using audit_tenant"),
        Plan(
            AuditStatements.ofApplication, "bigint, bigint, bigint, bigint, text, bigint",
            "Index Scan Backward using audit_application"),
        Plan(LocationStatements.listed, "bigint, bigint, text, bigint, bigint, bigint", "using location_application"),
        Plan(LocationStatements.geofences, "bigint", "Index Only Scan using geofence_location_location"),
        Plan(LocationStatements.groups, "bigint", "Index Only Scan using location_group_member_location"),
        Plan(
            LocationGroupStatements.listed, "bigint, bigint, text, bigint, bigint, bigint",
            "using location_group_application"),
        Plan(GeofenceStatements.listed, "bigint, bigint, bigint, bigint, bigint", "using geofence_application"),
        Plan(GeofenceStatements.due, "bigint, bigint", "using geofence_due"),
        Plan(GeofenceStatements.liveCount, "bigint", "using geofence_live"),
        Plan(GeofenceStatements.active, "bigint", "using geofence_live"),
        Plan(GeofenceStatements.changed, "bigint, bigint", "using geofence_change"),
        Plan(GeofenceStatements.withdrawn, "bigint, bigint", "using geofence_change"),
        Plan(DeletionStatements.since, "bigint, bigint", "using geofence_deletion_pkey"),
        Plan(GeofenceUpdateStatements.claim, "bigint, bigint, uuid, bigint", "using geofence_update_due"),
        Plan(CountStatements.push, "uuid, bigint", "using push_receipt_id_key"),
        Plan(CountStatements.ofPush, "bigint", "using push_count_pkey"),
        Plan(FollowUpStatements.ofPush, "bigint, bigint", "using follow_up_followed"),
        Plan(ReminderStatements.ofPush, "bigint", "using schedule_reminded"),
        Plan(ReminderStatements.open, "bigint", "using follow_up_followed"),
        Plan(ReminderStatements.open, "bigint", "using push_progress_pkey"),
        Plan(ReminderStatements.open, "bigint", "using batch_open"),
        Plan(ReminderStatements.reminded, "bigint", "using schedule_reminded"),
        Plan(ReminderStatements.end, "bigint, bigint", "using schedule_reminded"),
        Plan(ReminderStatements.waiting, "bigint", "using schedule_reminded"),
        Plan(ReminderStatements.waiting, "bigint", "using follow_up_followed"),
        Plan(ReminderStatements.sent, "bigint, bigint", "Backward using push_application"),
        Plan(ReminderStatements.sentOfKind, "bigint, bigint, text", "Backward using push_kind"),
        Plan(ReportStatements.ofPush, "bigint, bigint, bigint, bigint, bigint", "using push_report_pkey"),
        Plan(ReportStatements.ofGeofence, "bigint, bigint, bigint, bigint, bigint", "using geofence_report_pkey"),
        Plan(CountStatements.onPlatform, "bigint, bigint, bigint", "using platform_count_pkey"),
        Plan(OpeningStatements.ofPush, "bigint, bigint", "using push_opening_pkey"),
        Plan(OpeningStatements.batches, "bigint, bigint, bigint", "using batch_device"),
        Plan(OpeningStatements.languages, "bigint, bigint[]", "using device_detail_pkey"),
        Plan(ActivityStatements.onPlatform, "bigint, bigint, bigint", "using platform_activity_pkey"),
        Plan(ActivityStatements.recentJoins, "", "using device_pkey", sorts: true),
        Plan(CountStatements.ofGeofences, "bigint, bigint, bigint, bigint, bigint", "using geofence_count_pkey"),
        Plan(CountStatements.heartbeats, "bigint, bigint, bigint", "using heartbeat_pkey"),
        Plan(IdempotencyStatements.byName, "bytea", "using idempotency_pkey"),
        Plan(IdempotencyStatements.deleteOldest, "bigint, bigint, bigint", "using idempotency_caller"),
        Plan(IdempotencyStatements.clear, "bigint, bigint, bytea", "using idempotency_created"),
        Plan(PostgresQuotaStatements.userDevices, "bigint[], text[], bigint", "using device_custom_user"),
        Plan(QuotaStatements.topics, "bigint, bigint", "using topic_name"),
        Plan(QuotaStatements.geofences, "bigint, bigint", "using geofence_"),
        Plan(QuotaStatements.users, "bigint, bigint", "using app_user_public"),
        Plan(AcrobitsStatements.appIDsNamed, "text, bigint[]", "using acrobits_app_id_pkey"),
        Plan(AcrobitsStatements.ofSelector, "bigint, text", "using acrobits_registration_selector"),
        Plan(EncryptionKeyStatements.of, "bigint, bigint[]", "using device_pkey"),
        Plan(EncryptionKeyStatements.of, "bigint, bigint[]", "using device_detail_pkey"),
        Plan(WebPushStatements.byHash, "bytea", "using web_push_endpoint_key_hash_key"),
        Plan(WebPushStatements.byHash, "bytea", "using device_pkey"),
        Plan(WebPushStatements.ofDevice, "bigint, bigint, bigint", "using web_push_endpoint_device"),
        Plan(WebPushStatements.messages, "bigint, bigint, bigint", "using web_push_message_endpoint"),
        Plan(WebPushStatements.deleteTopic, "bigint, text", "using web_push_message_topic"),
        Plan(WebPushStatements.deleteMessagesOfDevice, "bigint, bigint", "using web_push_message_endpoint"),
        Plan(WebPushStatements.deleteMessagesOfPlatform, "bigint, bigint", "using web_push_endpoint_device"),
        Plan(WebPushStatements.deleteAllExpired, "bigint, bigint", "using web_push_message_expiry"),
        Plan(WebhookTurnStatements.unnumbered, "bigint", "using webhook_event_new"),
        Plan(WebhookTurnStatements.due, "bigint, bigint[], bigint, boolean", "using webhook_due"),
        Plan(WebhookTurnStatements.events, "bigint, bigint[]", "using webhook_event_position"),
        Plan(WebhookTurnStatements.deleteOldest, "bigint, bigint, bigint", "using webhook_event_position"),
        Plan(WebhookStatements.events, "bigint, bigint, bigint", "using webhook_event_position"),
        Plan(WebhookStatements.first, "bigint", "using webhook_event_position"),
        Plan(WebhookStatements.attempts, "bigint, bigint, bigint", "using webhook_attempt_webhook"),
        Plan(CarmaContactStatements.devices, "bigint, text", "using carma_device_contact"),
        Plan(CarmaContactStatements.messages, "bigint, text", "using carma_message_contact"),
        Plan(CarmaContactStatements.moveDevices, "text, bigint, text", "carma_device_contact"),
        Plan(CarmaContactStatements.moveMessages, "text, bigint, text", "carma_message_contact"),
        Plan(UserStatements.byID, "bigint, text", "using app_user_public"),
        Plan(UserStatements.having, "bigint, text, bytea, bigint, bigint", "using user_attribute_value"),
        Plan(UserStatements.behind, "bigint, text, text, bigint", "using app_user_public"),
        Plan(PostgresTokenHolderStatements.byToken, "bigint, uuid[]", "using device_token"),
        Plan(QuotaStatements.locations, "bigint, bigint", "using location_application"),
        Plan(QuotaStatements.locationGroups, "bigint, bigint", "using location_group_application"),
        Plan(QuotaStatements.schedules, "bigint, bigint", "using schedule_application"),
        Plan(ImportJobStatements.behind, "bigint, bigint, bigint", "using import_job_application"),
        Plan(ImportJobStatements.verdicts, "bigint, bigint, bigint", "using import_verdict_pkey"),
        Plan(ImportJobStatements.due, "bigint, bigint", "using import_job_updated"),
        Plan(QuotaStatements.idempotencyKeys, "bigint, bigint, bigint", "using idempotency_caller"),
    ]

    @Test func `hot statements scan their indexes`() async throws {
        try await Self.withFreshStore { store in
            for plan in Self.plans {
                let steps = try await store.explain(plan.sql, plan.types)
                let place = Comment(rawValue: "\(plan.sql)\n\(steps)")
                #expect(steps.contains { $0.contains(plan.step) }, place)
                #expect(!steps.contains { $0.contains("Seq Scan") || $0.contains("Hash Join") }, place)
                if !plan.sorts { #expect(!steps.contains { $0.contains("Sort") }, place) }
            }
        }
    }

    @Test func `clearing away looks at nothing but what it clears`() async throws {
        try await Self.withFreshStore { store in
            let tables = StoreTable.postgres
            let cleared =
                ApplicationDeletionStatements.inOrder(of: tables).flatMap(\.statements)
                + PlatformDeletionStatements.inOrder(of: tables) + PlatformDeletionStatements.postings(of: tables)
                + tables.compactMap { $0.delete(of: .topic) } + tables.compactMap(\.deleteExpired)
                + [PlatformDeletionStatements.devices]
            for sql in cleared.map(\.postgres) {
                let keys = sql.contains("ANY ($1)") ? "bigint[]" : "bigint"
                let types = [keys] + ["$2", "$3"].filter(sql.contains).map { _ in "bigint" }
                let steps = try await store.explain(sql, types.joined(separator: ", "))
                #expect(!steps.contains { $0.contains("Seq Scan") }, "\(sql)\n\(steps)")
            }
        }
    }

    /// In a database that was not used before: what others left in an index makes it look dear.
    private static func withFreshStore(_ body: (PostgresStore) async throws -> Void) async throws {
        try await TestDatabases.withBareDatabase { connection in
            let store = try await PostgresStore.open(
                .init(connection: connection, connectionsMax: 4), logger: .strict, migrate: true)
            let outcome: Result<Void, any Error>
            do {
                try await store.readCommitted { try $0.run(script: "ANALYZE") }
                outcome = .success(try await body(store))
            } catch {
                outcome = .failure(error)
            }
            await store.close()
            try outcome.get()
        }
    }
}

extension PostgresStore {
    /// The steps of the plan that the statement is run by, whatever its parameters are.
    fileprivate func explain(_ sql: String, _ types: String) async throws -> [String] {
        let values = types.split(separator: ", ").map { type in
            switch type {
            case "bigint": "1"
            case "text": "'x'"
            case "boolean": "true"
            case "uuid": "'00000000-0000-0000-0000-000000000000'"
            case "bytea": "'\\x00'"
            default: "'{}'"
            }
        }
        return try await readCommitted { connection in
            let head = types.isEmpty ? "" : " (\(types))"
            let arguments = values.isEmpty ? "" : " (\(values.joined(separator: ", ")))"
            try connection.run(script: "PREPARE plan\(head) AS \(sql)")
            let steps = try connection.prepared("EXPLAIN (COSTS OFF) EXECUTE plan\(arguments)").all { $0.text(0) }
            try connection.run(script: "DEALLOCATE plan")
            return steps
        }
    }
}
