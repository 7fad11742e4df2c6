/// Says which mediators the path without a key leads to: those there were, where they are of one tenant; of several an operator has to
/// say it anew.
enum PlainEndpointMigration: SchemaMigration {
    static let identifier = "0004 plain endpoints"

    static func run(in db: some SQLConnection) throws {
        for statement in [addColumn, keep, addIndex] { try db.run(script: statement) }
    }

    private static let addColumn: SQLText = "ALTER TABLE open_endpoint ADD COLUMN \(flag: "is_plain", false)"

    private static let keep: SQLText = """
        UPDATE open_endpoint SET is_plain = true
         WHERE kind = 'acrobits-mediator' AND allowed <> ''
           AND (SELECT count(DISTINCT tenant_id)
                  FROM open_endpoint AS mediator JOIN application ON application.id = mediator.application_id
                 WHERE mediator.kind = 'acrobits-mediator') = 1
        """

    private static let addIndex: SQLText = "CREATE INDEX open_endpoint_plain ON open_endpoint (kind) WHERE is_plain"
}
