/// Adds the facts of a platform's credentials that pages show; null until the credentials have been read. See `CredentialFacts`.
enum CredentialFactsMigration: SchemaMigration {
    static let identifier = "0002 credential facts"

    static func run(in db: some SQLConnection) throws {
        try db.prepared(addFacts).run()
    }

    private static let addFacts: SQLText = "ALTER TABLE platform ADD COLUMN facts text /* schema.credential_facts */"
}
