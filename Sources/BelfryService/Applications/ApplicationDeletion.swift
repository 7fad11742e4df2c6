extension Store {
    /// Marks the application deleted, which hides it at once, then deletes its rows in short steps. What takes longer
    /// than `deletionMax`, or was interrupted, the maintenance goes on with.
    package func delete(_ application: Key<Application>, force: Bool) async throws {
        try await write { session in
            guard try session.prepared(ApplicationStatements.lockForUpdate).hasRow(application) else {
                throw StoreError.unknown("application \(application)")
            }
            let platforms = try session.prepared(ApplicationDeletionStatements.platformCount).count(application)
            if platforms > 0, !force { throw StoreError.hasPlatforms(platforms) }
            try session.prepared(ApplicationDeletionStatements.markDeleted).run(application)
            try session.prepared(AdminKeyStatements.revokeOfApplication).run(session.now, application)
            try session.prepared(PersonStatements.disableOfApplication).run(session.now, application)
            try session.prepared(InvitationStatements.deleteOfBounds).send(Key<Tenant>?.none, application)
            session.registryChanged()
        }
        let end = clock.now + Self.deletionMax
        while clock.now < end, try await write({ try ApplicationDeletion(session: $0).step(application) }) {}
    }

    /// How long a caller waits for a deletion at most.
    static var deletionMax: Duration { .seconds(5) }
}

/// Deletes the rows of applications that are being deleted.
struct ApplicationDeletion<Session: WriteSession> {
    let session: Session

    /// Rows of one kind deleted in one step.
    private static var stride: Int { 200 }

    /// Goes on with a deletion that was interrupted; false when there is none.
    func resume() throws -> Bool {
        let application = try session.prepared(ApplicationDeletionStatements.beingDeleted).number()
        return try application.map { try step(Key($0)) } ?? false
    }

    /// Deletes some rows of the first kind that has any; false when nothing is left.
    func step(_ application: Key<Application>) throws -> Bool {
        guard try session.prepared(ApplicationStatements.lock).hasRow(application) else { return false }
        try session.awaitMerge()
        for kind in ApplicationDeletionStatements.inOrder(of: Session.tables) where try delete(kind, of: application) {
            if kind.isInRegistry { session.registryChanged() }
            return true
        }
        return false
    }

    private func delete(_ kind: ApplicationDeletionStatements.Kind, of application: Key<Application>) throws -> Bool {
        guard let find = kind.find else {
            return try kind.deletes.contains { try session.prepared($0).run(application, Self.stride) > 0 }
        }
        let rows = SQLKeys(try session.prepared(find).all(application, Self.stride) { $0.integer(0) })
        return try kind.deletes.contains { try session.prepared($0).run(rows, Self.stride) > 0 }
    }
}

enum ApplicationDeletionStatements {
    static let platformCount: SQLText = """
        SELECT count(*) /* application_deletion.platform_count */ FROM platform WHERE application_id = $1
        """

    static let markDeleted: SQLText =
        "UPDATE application /* application_deletion.mark */ SET is_being_deleted = true WHERE id = $1"

    static let beingDeleted: SQLText =
        "SELECT id /* application_deletion.being_deleted */ FROM application WHERE is_being_deleted LIMIT 1"

    /// Referring rows come before the rows they refer to, and devices before their posting lists, so that no merge
    /// brings one back.
    static func inOrder(of tables: [StoreTable]) -> [Kind] {
        tables.reversed().compactMap { Kind($0, among: tables) } + [Kind(isInRegistry: true, deletes: [application])]
    }

    /// The rows of a table, and of those whose rows belong to them.
    struct Kind {
        let isInRegistry: Bool
        /// Finds some rows that others belong to, of an application `$1` and up to `$2`: a step looks at no more.
        var find: SQLText?
        /// Each deletes some rows, up to `$2`, of an application `$1` or of the rows that were found.
        let deletes: [SQLText]
        var statements: [SQLText] { (find.map { [$0] } ?? []) + deletes }
    }

    private static let application = SQLText.deleteSome(
        "application_deletion.application", from: "application", key: "id", where: "id = $1 AND is_being_deleted")
}

extension ApplicationDeletionStatements.Kind {
    /// nil for a table whose rows stay, or are deleted with those they belong to.
    fileprivate init?(_ table: StoreTable, among tables: [StoreTable]) {
        guard let delete = table.deleteOfApplication else { return nil }
        isInRegistry = table.name == "platform"
        let owned = isInRegistry ? [] : tables.compactMap { $0.delete(ofRowsOf: table) }
        find = owned.isEmpty ? nil : table.someOfApplication
        deletes = owned.isEmpty ? [delete] : owned + [table.deleteFound]
    }
}
