import GRDB
import Logging
import Testing

@testable import BelfryStoreSQLite

/// Hot statements walk the index they were written for, and sort nothing.
@Suite struct PlanTests {
    @Test(arguments: [
        (DeviceStatements.byToken, "USING INDEX device_token (platform_id=? AND token_hash=?)"),
        (DeviceStatements.count, "USING COVERING INDEX device_reach (platform_id=?)"),
        (SubscriptionStatements.unswept, "USING INTEGER PRIMARY KEY (rowid>?)"),
        (PostingStatements.active, "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        (PostingStatements.interactive, "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        (PostingStatements.registered, "USING COVERING INDEX device_reach (platform_id=? AND reach=? AND rowid>?)"),
        (PostingStatements.customUser, "INDEX device_custom_user (platform_id=? AND custom_user_id=? AND rowid>?)"),
        (PostingStatements.topic, "USING PRIMARY KEY (topic_id=? AND platform_id=? AND device_id>?)"),
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
        (TextSearchStatements.stretch, "USING INTEGER PRIMARY KEY (rowid>?)"),
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
        (ScheduleStatements.due, "USING INDEX schedule_due (due_at_ms<?)"),
        (ScheduleStatements.nextDue, "USING INDEX schedule_due"),
        (ScheduleStatements.waiting, "USING INDEX schedule_application (application_id=? AND ended_at_ms=? AND"),
        (ScheduleStatements.ended, "USING INDEX schedule_application (application_id=? AND"),
        (ScheduleStatements.clear, "USING COVERING INDEX schedule_application (application_id=? AND ended_at_ms<?)"),
        (PlatformStatements.releasePages, "INDEX page_due (is_open=? AND lane=? AND platform_id=? AND due_at_ms>?)"),
    ])
    func `a hot statement walks its index`(sql: String, step: String) async throws {
        try await withSQLiteStore { store, _ in
            let plan = try await store.pool.read { db in
                try db.prepared("EXPLAIN QUERY PLAN " + sql).all { $0.text(3) }
            }
            #expect(plan.contains { $0.contains(step) }, "\(plan)")
            #expect(!plan.contains { $0.contains("TEMP B-TREE") || $0.hasPrefix("SCAN device") || $0 == "SCAN page" })
        }
    }

    @Test(arguments: DemolitionStatements.inOrder)
    func `clearing away looks at nothing but what it clears`(sql: String) async throws {
        try await withSQLiteStore { store, _ in
            let plan = try await store.pool.read { db in
                try db.prepared("EXPLAIN QUERY PLAN " + sql).all { $0.text(3) }
            }
            #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
        }
    }
}
