extension Store {
    /// Keeps a text in place of the earlier one. Beyond `ComposeDraft.perPersonMax` the person's oldest is deleted.
    package func keepDraft(_ text: String, at place: ComposeDraft.Place) async throws {
        try await write { session in
            try session.prepared(DraftStatements.keep).send(
                place.person, place.application, place.scheduleColumn, text, session.now)
            try session.prepared(DraftStatements.deleteOldest).send(place.person, ComposeDraft.perPersonMax)
        }
    }

    /// The person's drafts of new pushes, the newest first.
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

    /// nil where there is none, or it has expired.
    package func draft(at place: ComposeDraft.Place) async throws -> ComposeDraft? {
        let since = clock.now + (.zero - ComposeDraft.lifetime)
        return try await readCommitted { db in
            try db.prepared(DraftStatements.one)
                .first(place.person, place.application, place.scheduleColumn, since) { row in
                    ComposeDraft(text: row.text(0), savedAt: Instant(milliseconds: row.integer(1)))
                }
        }
    }

    /// Returns false when there is none.
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
}

/// A text that a person has written in Compose and not sent yet.
package struct ComposeDraft: Sendable, Hashable {
    /// The place where it was written; each place has one draft.
    package struct Place: Sendable, Hashable {
        package let person: Key<Person>
        package let application: Key<Application>
        /// The schedule that it changes; nil for a new push.
        package let schedule: Key<Schedule>?
        /// Tells new pushes apart, since each tab has its own; 0 for a schedule.
        package let number: Int64

        package init(
            _ person: Key<Person>, _ application: Key<Application>, _ schedule: Key<Schedule>? = nil, number: Int64 = 0
        ) {
            (self.person, self.application, self.schedule) = (person, application, schedule)
            self.number = schedule == nil ? number : 0
        }
    }

    /// A draft of a new push, in a list.
    package struct Entry: Sendable, Hashable {
        /// See `Place.number`.
        package let number: Int64
        package let savedAt: Instant

        package init(number: Int64, savedAt: Instant) { (self.number, self.savedAt) = (number, savedAt) }
    }

    /// The fields of the form, URL-encoded.
    package let text: String
    package let savedAt: Instant

    package init(text: String, savedAt: Instant) { (self.text, self.savedAt) = (text, savedAt) }

    /// The most drafts of one person; the oldest is deleted for a new one.
    package static let perPersonMax = 20
    package static let bytesMax = 512 << 10
    package static let lifetime = Duration.seconds(7 * 86_400)
}

/// Adds the table of pushes that people have written in Compose and not sent; see `ComposeDraft`.
enum ComposeDraftMigration: SchemaMigration {
    static let identifier = "0011 compose drafts (additive)"
    static let tables = [
        StoreTable(
            "compose_draft", rows: .perRow("person", ComposeDraft.perPersonMax),
            key: "person_id, application_id, schedule_id", of: .application,
            expiry: .init(.drafts, "saved_at_ms"))
    ]

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                CREATE TABLE compose_draft (
                    person_id \(.bigint) NOT NULL REFERENCES person (id),
                    application_id \(.bigint) NOT NULL,
                    -- 0 for a new push.
                    schedule_id \(.bigint) NOT NULL,
                    form text NOT NULL,
                    saved_at_ms \(.bigint) NOT NULL,
                    PRIMARY KEY (person_id, application_id, schedule_id)
                ) \(.byKey);
                CREATE INDEX compose_draft_saved ON compose_draft (saved_at_ms);
                CREATE INDEX compose_draft_application ON compose_draft (application_id);
                """)
    }
}
