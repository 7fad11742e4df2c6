/// Pushes, their fan-outs and batches, and schedules, which become pushes.
extension Schema {
    static let pushes = SchemaPart(
        [
            StoreTable("push", rows: .quota(.content), of: .application),
            StoreTable("push_progress", rows: .perRow("push", 1), key: "push_id", of: .push),
            StoreTable("tally", rows: .derived("push"), key: "push_id, answer", of: .push),
            StoreTable("fan_out", rows: .derived("push"), key: "push_id, platform_id", of: .push),
            StoreTable("batch", rows: .derived("push"), of: .push),
            StoreTable("damaged_batch", rows: .perRow("batch", 1), key: "batch_id"),
        ],
        sql: """
            -- The parts of a push that never change. `platforms`: the types of platform that the target named, separated by
            -- commas; NULL for every type.
            CREATE TABLE push (
                id \(.key),
                \(uuid: "receipt_id", "NOT NULL UNIQUE"),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                lane \(.bigint) NOT NULL CHECK (lane BETWEEN 0 AND 2),
                guarantee \(.bigint) NOT NULL CHECK (guarantee IN (0, 1)),
                accepted_at_ms \(.bigint) NOT NULL,
                expires_at_ms \(.bigint),
                content text NOT NULL,
                audience text NOT NULL,
                platforms text
            ) \(.byID);
            CREATE INDEX push_application ON push (application_id\(postgres: ", id"));

            -- What changes of a push, apart from its content, which may be long. A push that was accepted with all its batches has
            -- no row here, and none in `tally`, before its answers are forgotten: its batches say as much. `has_answers`: whether it still has its batches, which
            -- go before it.
            CREATE TABLE push_progress (
                push_id \(.bigint) PRIMARY KEY REFERENCES push (id),
                open_fan_out_count \(.bigint) NOT NULL CHECK (open_fan_out_count >= 0),
                open_batch_count \(.bigint) NOT NULL DEFAULT 0 CHECK (open_batch_count >= 0),
                device_count \(.bigint) NOT NULL DEFAULT 0 CHECK (device_count >= 0),
                first_answer_at_ms \(.bigint),
                settled_at_ms \(.bigint),
                \(flag: "has_answers", true),
                CHECK ((settled_at_ms IS NOT NULL) = (open_fan_out_count = 0 AND open_batch_count = 0))
            ) \(.byID)\(.roomy);
            -- Expired pushes, the oldest first.
            CREATE INDEX push_progress_settled ON push_progress (has_answers, settled_at_ms)
                WHERE settled_at_ms IS NOT NULL;
            -- Unsettled pushes, without the settled ones.
            CREATE INDEX push_progress_open ON push_progress (push_id) WHERE settled_at_ms IS NULL;

            -- The number of devices with each answer.
            CREATE TABLE tally (
                push_id \(.bigint) NOT NULL REFERENCES push (id),
                answer \(.bigint) NOT NULL CHECK (answer BETWEEN 1 AND 255),
                device_count \(.bigint) NOT NULL CHECK (device_count > 0),
                PRIMARY KEY (push_id, answer)
            ) \(.byKey)\(.roomy);

            CREATE TABLE fan_out (
                push_id \(.bigint) NOT NULL REFERENCES push (id),
                platform_id \(.bigint) NOT NULL,
                lane \(.bigint) NOT NULL CHECK (lane BETWEEN 0 AND 2),
                due_at_ms \(.bigint) NOT NULL,
                attempt \(.bigint) NOT NULL DEFAULT 0 CHECK (attempt >= 0),
                \(flag: "is_claimed", false),
                cursor \(.bigint) CHECK (cursor > 0),
                \(flag: "is_cancelled", false),
                PRIMARY KEY (push_id, platform_id)
            ) \(.byKey)\(postgres: """
                 WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500)
                """);
            CREATE INDEX fan_out_due ON fan_out (lane, platform_id, due_at_ms, push_id);

            -- See `Batch`. `due_at_ms` of one that is closed is when it was settled. `claim_count` counts the claims since a delivery
            -- worker last settled: above one, a lease lapsed. `retry_at_ms`: when the last settlement wanted the first of the pending
            -- devices tried again (`RetryTimes`); NULL once no device waits. `answered_at_ms`: when the first device got its answer.
            -- `badges`: what it shows on the icon of each device, where its push counts; see `BadgeList`.
            -- `is_whole`: its push was accepted with all its batches, so they are all that is counted of it.
            -- `is_cancelled`: its push was cancelled while it was claimed, so that it is not sent again.
            CREATE TABLE batch (
                id \(.key),
                push_id \(.bigint) NOT NULL REFERENCES push (id),
                platform_id \(.bigint) NOT NULL,
                lane \(.bigint) NOT NULL CHECK (lane BETWEEN 0 AND 2),
                first_device_id \(.bigint) NOT NULL CHECK (first_device_id > 0),
                last_device_id \(.bigint) NOT NULL CHECK (last_device_id >= first_device_id),
                \(flag: "is_open", true),
                due_at_ms \(.bigint) NOT NULL,
                attempt \(.bigint) NOT NULL DEFAULT 0 CHECK (attempt >= 0),
                claim_count \(.bigint) NOT NULL DEFAULT 0 CHECK (claim_count BETWEEN 0 AND attempt),
                devices \(.bytes) NOT NULL CHECK (length(devices) > 0),
                answers \(.bytes) NOT NULL CHECK (length(answers) > 0),
                retry_at_ms \(.bigint),
                answered_at_ms \(.bigint),
                \(flag: "is_whole", false),
                \(flag: "is_cancelled", false),
                badges \(.bytes),
                CHECK (is_open = true OR claim_count = 0)
            ) \(.byID)\(postgres: " WITH (autovacuum_vacuum_scale_factor = 0.02)");
            CREATE UNIQUE INDEX batch_device ON batch (push_id, platform_id, first_device_id);
            CREATE INDEX batch_due ON batch (
                \(sqlite: "is_open, lane, platform_id, due_at_ms", postgres: "lane, platform_id, due_at_ms, id")
            ) WHERE is_open = true;
            -- Of pushes that were accepted with all their batches: those that are open, and those that age out, the oldest first.
            CREATE INDEX batch_open ON batch (push_id) WHERE is_whole = true AND is_open = true;
            CREATE INDEX batch_settled ON batch (due_at_ms) WHERE is_whole = true AND is_open = false;

            -- Batches that a claim could not read. Of those that were mended or written off, whose batch is closed, the note says
            -- nothing any more; it goes with the batch.
            CREATE TABLE damaged_batch (
                batch_id \(.bigint) PRIMARY KEY REFERENCES batch (id) ON DELETE CASCADE,
                push_id \(.bigint) NOT NULL,
                found_at_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE INDEX damaged_batch_push ON damaged_batch (push_id);
            """)
}
