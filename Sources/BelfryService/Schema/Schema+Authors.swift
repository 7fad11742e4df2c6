/// Adds the authors of links and admin keys made at the dashboard, so that shutting a person out can end them; and indexes that list links
/// for those who may see them.
enum LinkAndKeyAuthors: SchemaMigration {
    static let identifier = "0003 authors of links and keys"

    static func run(in db: some SQLConnection) throws { try db.run(script: script) }

    private static let script: SQLText = """
        ALTER TABLE invitation ADD COLUMN author_id \(.bigint);
        ALTER TABLE admin_key ADD COLUMN author_id \(.bigint);
        CREATE INDEX invitation_author ON invitation (author_id) WHERE author_id IS NOT NULL;
        CREATE INDEX admin_key_author ON admin_key (author_id) WHERE author_id IS NOT NULL;
        CREATE INDEX invitation_tenant ON invitation (tenant_id\(postgres: ", id"));
        CREATE INDEX invitation_application ON invitation (application_id\(postgres: ", id"))
            WHERE application_id IS NOT NULL;
        CREATE INDEX invitation_email ON invitation (email);
        """
}
