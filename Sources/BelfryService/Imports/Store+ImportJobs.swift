package import FoundationEssentials

extension Store {
    /// Begins an import. Throws `StoreError.taken` where there is one of that UUID, perhaps another application's, and
    /// `ImportJob.tooMany` where the application has that many.
    ///
    /// - Parameter position: the number of rows that are skipped.
    package func createImport(
        _ uuid: UUID, of application: Key<Application>, from source: ImportJob.Source, position: Int, by keyID: String?
    ) async throws -> ImportJob {
        try await write { session in
            try session.checkAlone(application)
            guard try session.prepared(ImportJobStatements.count).count(application) < ImportJob.countMax else {
                throw ImportJob.tooMany
            }
            let now = session.now
            let key = try session.prepared(ImportJobStatements.insert).number(
                uuid, application, source.format.rawValue, source.mapping, source.platform, source.isDryRun,
                position, now, keyID)
            guard let key else { throw StoreError.taken("this import") }
            return ImportJob(
                key: Key(key), uuid: uuid, applicationKey: application, source: source, keyID: keyID,
                position: position, createdAt: now, updatedAt: now)
        }
    }

    package func importJob(_ uuid: UUID, of application: Key<Application>) async throws -> ImportJob? {
        try await read { try $0.prepared(ImportJobStatements.byUUID).first(uuid, application, as: ImportJob.init) }
    }

    /// The newest first, behind one of them.
    package func importJobs(
        of application: Key<Application>, after: Key<ImportJob>?, limit: Int
    ) async throws -> [ImportJob] {
        try await read { [damagedRows] db in
            try DamagedRows.slice(of: limit, after: after?.rawValue ?? .max) { last, limit in
                try db.prepared(ImportJobStatements.behind).all(application, last, limit) { row in
                    (
                        row.integer(0),
                        try damagedRows.readable("import \(row.integer(0))") { try ImportJob(row) }
                    )
                }
            }
        }
    }

    /// Begins another attempt at an import that has not ended; nil where it has.
    package func resumeImport(_ job: Key<ImportJob>, by keyID: String?) async throws -> ImportJob? {
        try await write { session in
            try session.prepared(ImportJobStatements.resume).first(job, session.now, keyID, as: ImportJob.init)
        }
    }

    /// Writes down the verdicts on some rows. Returns the import as it is then; nil, and nothing is written, where another attempt
    /// began or it has ended.
    ///
    /// - Parameter verdictBytesMax: of all imports of the application. Verdicts beyond are only counted.
    package func note(
        _ step: ImportStep, of job: ImportJob, atMost verdictBytesMax: Int
    ) async throws -> ImportJob? {
        try await write { session in
            let tally = step.tally
            let noted = try session.prepared(ImportJobStatements.note).first(
                job.key, job.attempt, step.position, tally.new, tally.updated, tally.duplicate, tally.refused,
                session.now, as: ImportJob.init)
            guard var noted else { return nil }
            guard !step.lines.isEmpty else { return noted }
            let kept = try session.prepared(ImportJobStatements.bytes).count(job.applicationKey)
            guard kept + step.lines.count <= verdictBytesMax else { return noted }
            try session.prepared(ImportJobStatements.insertVerdicts).send(job.key, step.position, step.lines)
            try session.prepared(ImportJobStatements.noteVerdicts).send(job.key, tally.rows, step.lines.count)
            noted.verdictRows += tally.rows
            return noted
        }
    }

    /// Ends an attempt, and with it the import unless it waits for another. Does nothing where another attempt began.
    package func end(_ job: ImportJob, as state: ImportJob.State, reason: String) async throws -> ImportJob? {
        try await write { session in
            let ended = try session.prepared(ImportJobStatements.end).first(
                job.key, job.attempt, state.rawValue, reason, session.now, state.isEnded ? session.now : nil,
                as: ImportJob.init)
            if let ended, ended.state.isEnded { try session.tell(ended) }
            return ended
        }
    }

    /// The verdicts on rows behind one, in the order of the rows.
    package func importVerdicts(
        of job: Key<ImportJob>, after position: Int, limit: Int
    ) async throws -> [ImportVerdictLines] {
        try await read { db in
            try db.prepared(ImportJobStatements.verdicts).all(job, position, limit) { row in
                ImportVerdictLines(position: Int(row.integer(0)), lines: row.blob(1))
            }
        }
    }
}

extension WriteSession {
    /// Import by import: verdicts first.
    func deleteExpiredImports(before: Instant) throws -> DeletedRows {
        var rows = 0
        let due = try prepared(ImportJobStatements.due).all(before, DeletedRows.pushesMax) {
            Key<ImportJob>($0.integer(0))
        }
        for job in due {
            rows += try prepared(ImportJobStatements.deleteVerdicts).run(job, DeletedRows.rowsMax - rows)
            guard rows < DeletedRows.rowsMax else { return DeletedRows(rows: rows, isMore: true) }
            rows += try prepared(ImportJobStatements.delete).run(job)
        }
        return DeletedRows(rows: rows, isMore: due.count == DeletedRows.pushesMax)
    }
}

extension ImportJob {
    /// From `ImportJobStatements.columns`.
    fileprivate init(_ row: some SQLRow) throws {
        guard let format = ImportFormat(rawValue: row.text(3)), let state = State(rawValue: row.integer(7)),
            let uuid = row.uuid(1)
        else { throw StoreError.damaged("import \(row.integer(0))") }
        var tally = ImportTally()
        (tally.new, tally.updated) = (Int(row.integer(10)), Int(row.integer(11)))
        (tally.duplicate, tally.refused) = (Int(row.integer(12)), Int(row.integer(13)))
        self.init(
            key: Key(row.integer(0)), uuid: uuid, applicationKey: Key(row.integer(2)),
            source: Source(
                format: format, mapping: row.textIfAny(4), platform: row.uuid(5), isDryRun: row.bool(6)),
            keyID: row.textIfAny(19), state: state, reason: row.text(8), position: Int(row.integer(9)), tally: tally,
            verdictRows: Int(row.integer(14)), attempt: Int(row.integer(15)),
            createdAt: Instant(milliseconds: row.integer(16)), updatedAt: Instant(milliseconds: row.integer(17)),
            endedAt: row.instantIfAny(18))
    }
}

enum ImportJobStatements {
    static let columns: SQLText = """
        id, uuid, application_id, format, mapping, platform_uuid, is_dry_run, state, reason, position,
               new_count, updated_count, duplicate_count, refused_count, verdict_rows, attempt,
               created_at_ms, updated_at_ms, ended_at_ms, key_id
        """

    static let insert: SQLText = """
        INSERT INTO import_job /* imports.insert */ (
            uuid, application_id, format, mapping, platform_uuid, is_dry_run, state, position, attempt,
            created_at_ms, updated_at_ms, key_id)
        VALUES ($1, $2, $3, $4, $5, $6, 0, $7, 1, $8, $8, $9)
            ON CONFLICT (uuid) DO NOTHING
        RETURNING id
        """

    /// Scans `import_job_application`.
    static let count: SQLText = """
        SELECT count(*) /* imports.count */ FROM import_job WHERE application_id = $1
        """

    static let byUUID: SQLText = """
        SELECT \(columns) /* imports.by_uuid */
          FROM import_job
         WHERE uuid = $1 AND application_id = $2
        """

    /// Scans `import_job_application`.
    static let behind: SQLText = """
        SELECT \(columns) /* imports.behind */
          FROM import_job
         WHERE application_id = $1 AND id < $2
         ORDER BY id DESC
         LIMIT $3
        """

    static let resume: SQLText = """
        UPDATE import_job /* imports.resume */ SET state = 0, attempt = attempt + 1, updated_at_ms = $2, key_id = $3
         WHERE id = $1 AND state <= 1
        RETURNING \(columns)
        """

    /// An attempt that was taken for dead, and was only slow, runs again by this.
    static let note: SQLText = """
        UPDATE import_job /* imports.note */
           SET state = 0, position = $3, new_count = new_count + $4, updated_count = updated_count + $5,
               duplicate_count = duplicate_count + $6, refused_count = refused_count + $7, updated_at_ms = $8
         WHERE id = $1 AND attempt = $2 AND state <= 1
        RETURNING \(columns)
        """

    static let end: SQLText = """
        UPDATE import_job /* imports.end */ SET state = $3, reason = $4, updated_at_ms = $5, ended_at_ms = $6
         WHERE id = $1 AND attempt = $2 AND state <= 1
        RETURNING \(columns)
        """

    /// Scans `import_job_application`.
    static let bytes: SQLText = """
        SELECT CAST(coalesce(sum(verdict_bytes), 0) AS bigint) /* imports.bytes */ FROM import_job WHERE application_id = $1
        """

    /// A step that was written twice by an attempt that did not hear of it replaces itself.
    static let insertVerdicts: SQLText = """
        INSERT INTO import_verdict /* imports.insert_verdicts */ (job_id, position, lines) VALUES ($1, $2, $3)
            ON CONFLICT (job_id, position) DO UPDATE SET lines = excluded.lines
        """

    static let noteVerdicts: SQLText = """
        UPDATE import_job /* imports.note_verdicts */
           SET verdict_rows = verdict_rows + $2, verdict_bytes = verdict_bytes + $3
         WHERE id = $1
        """

    static let verdicts: SQLText = """
        SELECT position, lines /* imports.verdicts */ FROM import_verdict
         WHERE job_id = $1 AND position > $2
         ORDER BY position
         LIMIT $3
        """

    /// Scans `import_job_updated`.
    static let due: SQLText = """
        SELECT id /* imports.due */ FROM import_job WHERE updated_at_ms < $1 ORDER BY updated_at_ms LIMIT $2
        """

    static let deleteVerdicts = SQLText.deleteSome(
        "imports.delete_verdicts", from: "import_verdict", key: "job_id, position", where: "job_id = $1")

    static let delete: SQLText = "DELETE FROM import_job /* imports.delete */ WHERE id = $1"
}

extension Schema {
    static let imports = SchemaPart(
        [
            StoreTable("import_job", rows: .perRow("application", ImportJob.countMax), of: .application),
            StoreTable(
                "import_verdict", rows: .derived("import_job"), key: "job_id, position",
                of: .row(of: "import_job", by: "job_id")),
        ],
        sql: """
            -- Imports of the admin API; see `ImportJob`. `verdict_bytes` are those of its rows in `import_verdict`.
            CREATE TABLE import_job (
                id \(.key),
                \(uuid: "uuid", "NOT NULL UNIQUE"),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                format text NOT NULL,
                mapping text,
                \(uuid: "platform_uuid"),
                \(flag: "is_dry_run", false),
                key_id text,
                state \(.bigint) NOT NULL CHECK (state BETWEEN 0 AND 3),
                reason text NOT NULL DEFAULT '',
                position \(.bigint) NOT NULL CHECK (position >= 0),
                new_count \(.bigint) NOT NULL DEFAULT 0,
                updated_count \(.bigint) NOT NULL DEFAULT 0,
                duplicate_count \(.bigint) NOT NULL DEFAULT 0,
                refused_count \(.bigint) NOT NULL DEFAULT 0,
                verdict_rows \(.bigint) NOT NULL DEFAULT 0,
                verdict_bytes \(.bigint) NOT NULL DEFAULT 0,
                attempt \(.bigint) NOT NULL,
                created_at_ms \(.bigint) NOT NULL,
                updated_at_ms \(.bigint) NOT NULL,
                ended_at_ms \(.bigint),
                CHECK ((ended_at_ms IS NULL) = (state <= 1))
            ) \(.byID);
            CREATE INDEX import_job_application ON import_job (application_id\(postgres: ", id"));
            CREATE INDEX import_job_updated ON import_job (updated_at_ms);

            -- What came of the rows of an import up to `position`, as lines of a CSV.
            CREATE TABLE import_verdict (
                job_id \(.bigint) NOT NULL REFERENCES import_job (id),
                position \(.bigint) NOT NULL,
                lines \(.bytes) NOT NULL,
                PRIMARY KEY (job_id, position)
            ) \(sqlite: "STRICT");
            """)
}
