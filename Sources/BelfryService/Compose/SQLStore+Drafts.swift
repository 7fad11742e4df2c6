extension SQLStore {
    package func keepDraft(_ text: String, at place: ComposeDraft.Place) async throws {
        try await write { session in
            try session.prepared(DraftStatements.keep).send(
                place.person, place.application, place.scheduleColumn, text, session.now)
            try session.prepared(DraftStatements.deleteOldest).send(place.person, ComposeDraft.perPersonMax)
        }
    }

    package func drafts(
        of person: Key<Person>, in application: Key<Application>
    ) async throws -> [ComposeDraft.Entry] {
        let since = clock.now + (.zero - ComposeDraft.lifetime)
        return try await readCommitted { db in
            try db.prepared(DraftStatements.ofPushes).all(person, application, since, ComposeDraft.perPersonMax) {
                row in
                ComposeDraft.Entry(number: -row.integer(0), savedAt: Instant(milliseconds: row.integer(1)))
            }
        }
    }

    package func draft(at place: ComposeDraft.Place) async throws -> ComposeDraft? {
        let since = clock.now + (.zero - ComposeDraft.lifetime)
        return try await readCommitted { db in
            try db.prepared(DraftStatements.one)
                .first(place.person, place.application, place.scheduleColumn, since) { row in
                    ComposeDraft(text: row.text(0), savedAt: Instant(milliseconds: row.integer(1)))
                }
        }
    }

    package func deleteDraft(at place: ComposeDraft.Place) async throws -> Bool {
        try await write {
            try $0.prepared(DraftStatements.delete).run(place.person, place.application, place.scheduleColumn) > 0
        }
    }
}

extension ComposeDraft.Place {
    /// The schedule of the draft; for a new push zero, or a number below.
    fileprivate var scheduleColumn: Key<Schedule> { schedule ?? Key(-number) }
}

enum DraftStatements {
    static let keep: SQLText = """
        INSERT INTO compose_draft /* drafts.keep */ (person_id, application_id, schedule_id, form, saved_at_ms)
        VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (person_id, application_id, schedule_id) DO UPDATE
           SET form = excluded.form, saved_at_ms = excluded.saved_at_ms
        """

    static let deleteOldest: SQLText = """
        DELETE FROM compose_draft /* drafts.delete_oldest */
         WHERE person_id = $1
           AND (application_id, schedule_id) NOT IN (
                   SELECT application_id, schedule_id FROM compose_draft WHERE person_id = $1
                    ORDER BY saved_at_ms DESC, application_id DESC, schedule_id DESC LIMIT $2)
        """

    static let ofPushes: SQLText = """
        SELECT schedule_id, saved_at_ms /* drafts.of_pushes */ FROM compose_draft
         WHERE person_id = $1 AND application_id = $2 AND schedule_id <= 0 AND saved_at_ms >= $3
         ORDER BY saved_at_ms DESC, schedule_id DESC LIMIT $4
        """

    static let one: SQLText = """
        SELECT form, saved_at_ms /* drafts.one */ FROM compose_draft
         WHERE person_id = $1 AND application_id = $2 AND schedule_id = $3 AND saved_at_ms >= $4
        """

    static let delete: SQLText = """
        DELETE FROM compose_draft /* drafts.delete */
         WHERE person_id = $1 AND application_id = $2 AND schedule_id = $3
        """

    /// Scans `compose_draft_saved`.
    static let deleteExpired = SQLText.deleteSome(
        "drafts.delete_expired", from: "compose_draft", key: "person_id, application_id, schedule_id",
        where: "saved_at_ms < $1")
}
