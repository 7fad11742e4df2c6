/// Pushes that are not settled are found without those that are.
///
/// Whoever changes it writes the next migration; this one has landed.
enum Migration0016 {
    static let identifier = "0016 open pushes"

    static let sql = """
        CREATE INDEX push_progress_open ON push_progress (push_id) WHERE settled_at_ms IS NULL;
        """
}
