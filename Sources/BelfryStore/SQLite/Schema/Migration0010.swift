/// What is over is forgotten after a while.
///
/// Whoever changes it writes the next migration; this one has landed.
enum Migration0010 {
    static let identifier = "0010 retention"

    /// - `push_progress.has_answers`: whether the push still has its pages, which go before it.
    /// - `audit_horizon`: lines of the audit log that are older were forgotten. It only rises, and only what is behind it can be
    ///   deleted.
    static let sql = """
        ALTER TABLE push_progress ADD COLUMN has_answers INTEGER NOT NULL DEFAULT 1 CHECK (has_answers IN (0, 1));
        CREATE INDEX push_progress_settled ON push_progress (has_answers, settled_at_ms)
            WHERE settled_at_ms IS NOT NULL;

        CREATE TABLE audit_horizon (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE TRIGGER audit_horizon_only_rises BEFORE UPDATE ON audit_horizon WHEN NEW.at_ms < OLD.at_ms
            BEGIN SELECT RAISE(ABORT, 'the audit log is not lengthened afterwards'); END;
        CREATE INDEX audit_at ON audit (at_ms);
        DROP TRIGGER audit_is_never_shortened;
        CREATE TRIGGER audit_is_forgotten_by_age_alone BEFORE DELETE ON audit
            WHEN NOT EXISTS (SELECT 1 FROM audit_horizon WHERE OLD.at_ms < at_ms)
            BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
        """
}
