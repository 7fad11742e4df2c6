import Testing

@testable import BelfryService

/// Every table has a bound on what tenants put into it: a quota, a fixed limit, or that of another table.
@Suite struct RowBoundTests {
    private enum Bound {
        case quota(Quota)
        case limit(RowLimit)
        /// So many for each row of another table.
        case perRow(String, Int)
        /// With what it is derived from.
        case derived(String)
        /// Rows are deleted at that age, and a rate limit bounds the callers that make them.
        case retention(String)
        /// Made by operators, or by the server for itself.
        case operators
    }

    private static let bounds: [String: Bound] = [
        "setting": .operators, "grdb_migrations": .operators, "belfry_migration": .operators, "tenant": .operators,
        "node": .operators,
        "command_count": .operators,
        "broker_instance": .operators, "broker_binding": .operators, "carma_account": .operators,
        "mirror_entry": .operators, "mirror_holder": .operators, "audit_horizon": .operators,
        "application": .limit(.applications), "platform": .limit(.platforms),
        "connection_fault": .perRow("platform", 1), "application_use": .derived("application"),
        "admin_key": .limit(.adminKeys), "person": .limit(.people), "invitation": .limit(.invitations),
        "recovery_code": .perRow("person", RecoveryCode.count), "person_identity": .perRow("person", 1),
        "dashboard_session": .perRow("person", DashboardSession.perPersonMax),
        "compose_draft": .perRow("person", ComposeDraft.perPersonMax),
        "open_endpoint": .limit(.openEndpoints), "gateway_credential": .perRow("platform", GatewayCredential.countMax),
        "acrobits_app_id": .perRow("application", AcrobitsAppID.countMax), "acrobits_registration": .derived("device"),
        "carma_app": .limit(.carmaApps), "carma_trigger": .limit(.carmaTriggers), "carma_device": .quota(.devices),
        "carma_message": .perRow("app_user", CarmaMessage.perContact),
        "carma_import": .perRow("carma_app", CarmaImport.perApp),
        "device": .quota(.devices), "device_token": .derived("device"), "device_horizon": .operators,
        "token_mark": .derived("device"),
        "device_detail": .perRow("device", 1), "gateway_feedback": .perRow("device", 1),
        "search_index": .derived("device"), "search_index_segment": .derived("device"),
        "search_index_posting": .derived("device"), "search_index_stale": .derived("device"),
        "search_index_count": .derived("device"),
        "topic": .quota(.topics), "subscription": .perRow("device", 1_024), "subscription_mark": .derived("device"),
        "subscription_block": .derived("device"), "topic_deletion": .operators,
        "deleted_topic": .derived("topic"),
        "app_user": .quota(.users), "user_attribute": .perRow("app_user", UserProfile.attributesMax),
        "push": .quota(.content), "push_progress": .perRow("push", 1), "tally": .derived("push"),
        "unknown_device": .perRow("push", 1), "follow_up": .perRow("push", 1), "fan_out": .derived("push"),
        "batch": .derived("push"),
        "batch_history": .perRow("batch", 1), "damaged_batch": .perRow("batch", 1),
        "schedule": .quota(.schedules), "schedule_run": .perRow("schedule", ScheduleRun.keptMax),
        "segment": .perRow("application", Segment.countMax),
        "segment_version": .perRow("segment", Segment.versionsMax), "segment_point": .perRow("segment", 730),
        "cap_use": .derived("device"), "web_push_endpoint": .perRow("device", WebPushEndpoint.perDeviceMax),
        "web_push_message": .perRow("web_push_endpoint", WebPushEndpoint.messagesMax),
        "webhook_feed": .perRow("application", 1), "webhook_event": .perRow("application", 1_000_000),
        "webhook": .perRow("application", Webhook.perApplicationMax),
        "webhook_retry": .perRow("webhook", Webhook.retriesMax),
        "webhook_attempt": .perRow("webhook", WebhookAttempt.keptMax),
        "template": .perRow("application", Template.countMax),
        "template_version": .perRow("template", Template.versionsMax),
        "campaign": .perRow("application", Campaign.countMax),
        "campaign_part": .perRow("campaign", CampaignPlan.variantsMax + 1),
        "location": .quota(.locations), "location_group": .quota(.locationGroups),
        "location_group_member": .perRow("location_group", LocationGroupPlan.locationsMax),
        "geofence": .quota(.geofences), "geofence_location": .derived("geofence"),
        "geofence_group": .derived("geofence"), "geofence_deletion": .limit(.geofenceDeletions),
        "geofence_stamp": .perRow("application", 1), "geofence_update": .derived("geofence"),
        "push_report": .derived("push"), "geofence_report": .derived("geofence"),
        "push_count": .derived("push"), "platform_count": .derived("platform"), "event_mark": .derived("device"),
        "platform_activity": .derived("platform"), "push_opening": .derived("push"),
        "geofence_count": .derived("geofence"), "heartbeat": .derived("platform"),
        "idempotency": .quota(.idempotencyKeys), "audit": .retention("retention.audit.days"),
        "import_job": .perRow("application", ImportJob.countMax), "import_verdict": .derived("import_job"),
    ]

    @Test(arguments: SchemaWalk.allCases)
    func `every table has a bound on its rows`(engine: SchemaWalk) async throws {
        let tables = try await engine.tables()
        #expect(tables.subtracting(Self.bounds.keys) == [], "no bound is stated")
        let others: Set<String> =
            switch engine {
            case .sqlite: ["belfry_migration", "device_horizon", "subscription_block", "topic_deletion"]
            case .postgres: ["grdb_migrations", "device_token", "token_mark", "search_index_count"]
            }
        #expect(Set(Self.bounds.keys).subtracting(tables) == others, "no such table")
    }

    /// Whatever leads to another table ends at a quota or a limit.
    @Test func `every bound ends at a quota or limit`() throws {
        for (table, first) in Self.bounds {
            var (bound, steps) = (first, 0)
            while let next = Self.next(bound) {
                bound = try #require(Self.bounds[next], "\(table)")
                steps += 1
                try #require(steps < 8, "\(table)")
            }
            if case .quota(let quota) = bound { #expect(Quotas.standard[quota] != nil, "\(table)") }
            if case .limit(let limit) = bound { #expect(limit.most > 0, "\(table)") }
        }
    }

    private static func next(_ bound: Bound) -> String? {
        switch bound {
        case .perRow(let table, let most): most > 0 ? table : "nowhere"
        case .derived(let table): table
        case .quota, .limit, .retention, .operators: nil
        }
    }
}
