/// What is over is forgotten after a while.
enum PostgresMigration0007 {
    static let migration = Migration(identifier: "0007 retention", sql: sql)

    /// - `push_progress.has_answers`: whether the push still has its pages, which go before it.
    /// - `audit_horizon`: lines of the audit log that are older were forgotten. It only rises, and only what is behind it can be
    ///   deleted.
    private static let sql = """
        ALTER TABLE push_progress ADD COLUMN has_answers boolean NOT NULL DEFAULT true;
        CREATE INDEX push_progress_settled ON push_progress (has_answers, settled_at_ms)
            WHERE settled_at_ms IS NOT NULL;

        CREATE TABLE audit_horizon (
            id bigint PRIMARY KEY CHECK (id = 1),
            at_ms bigint NOT NULL
        );
        CREATE FUNCTION audit_horizon_only_rises() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN
                IF NEW.at_ms < OLD.at_ms THEN
                    RAISE EXCEPTION 'the audit log is not lengthened afterwards';
                END IF;
                RETURN NEW;
            END $$;
        CREATE TRIGGER audit_horizon_only_rises BEFORE UPDATE ON audit_horizon
            FOR EACH ROW EXECUTE FUNCTION audit_horizon_only_rises();
        CREATE INDEX audit_at ON audit (at_ms);
        DROP TRIGGER audit_is_never_changed ON audit;
        CREATE TRIGGER audit_is_never_changed BEFORE UPDATE OR TRUNCATE ON audit
            EXECUTE FUNCTION audit_is_only_added_to();
        CREATE FUNCTION audit_is_forgotten_by_age_alone() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN
                IF NOT EXISTS (SELECT 1 FROM audit_horizon WHERE OLD.at_ms < at_ms) THEN
                    RAISE EXCEPTION 'the audit log is only added to';
                END IF;
                RETURN OLD;
            END $$;
        CREATE TRIGGER audit_is_forgotten_by_age_alone BEFORE DELETE ON audit
            FOR EACH ROW EXECUTE FUNCTION audit_is_forgotten_by_age_alone();
        """
}
