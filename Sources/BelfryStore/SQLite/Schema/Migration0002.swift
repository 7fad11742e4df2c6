/// Schedules.
enum Migration0002 {
    static let identifier = "0002 schedules"

    /// - `schedule`: see `Schedule`. One that has ended stays for a while, as the answer to what became of it.
    /// - `schedule_due`: what the scheduler waits for, however many have ended.
    /// - `schedule_application`: an application's waiting ones by their due times, then its ended ones by their ends.
    static let sql = """
        CREATE TABLE schedule (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            application_id INTEGER NOT NULL REFERENCES application (id),
            due_at_ms INTEGER NOT NULL,
            version INTEGER NOT NULL DEFAULT 1 CHECK (version >= 1),
            lane INTEGER CHECK (lane IN (0, 1, 2)),
            guarantee INTEGER NOT NULL CHECK (guarantee IN (0, 1)),
            expires_at_ms INTEGER,
            content TEXT NOT NULL,
            target TEXT NOT NULL,
            created_at_ms INTEGER NOT NULL,
            ended_at_ms INTEGER,
            ending TEXT CHECK (ending IN ('sent', 'cancelled', 'expired', 'refused')),
            receipt_id BLOB CHECK (length(receipt_id) = 16),
            reason TEXT,
            CHECK ((ended_at_ms IS NULL) = (ending IS NULL)),
            CHECK ((receipt_id IS NOT NULL) = (ending IS 'sent')),
            CHECK ((reason IS NOT NULL) = (ending IS 'refused'))
        ) STRICT;
        CREATE INDEX schedule_due ON schedule (due_at_ms) WHERE ended_at_ms IS NULL;
        CREATE INDEX schedule_application ON schedule (application_id, ended_at_ms, due_at_ms);
        """
}
