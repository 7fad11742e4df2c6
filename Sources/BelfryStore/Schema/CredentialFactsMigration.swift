/// What pages show of a platform's credentials; null until they have been looked into. See `CredentialFacts`.
enum CredentialFactsMigration: SchemaMigration {
    static let identifier = "0002 credential facts"

    static func run(in db: some SQLConnection) throws {
        try db.prepared(addFacts).run()
    }

    private static let addFacts: SQLText = "ALTER TABLE platform ADD COLUMN facts text /* schema.credential_facts */"
}
