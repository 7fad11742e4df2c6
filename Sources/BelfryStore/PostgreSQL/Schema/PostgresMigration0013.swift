/// Pushes that are not settled are found without those that are.
enum PostgresMigration0013 {
    static let migration = Migration(identifier: "0013 open pushes", sql: sql)

    private static let sql = """
        CREATE INDEX push_progress_open ON push_progress (push_id) WHERE settled_at_ms IS NULL;
        """
}
