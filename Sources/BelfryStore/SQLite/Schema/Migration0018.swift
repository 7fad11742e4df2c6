/// Sweeps in steps.
///
/// Whoever changes it writes the next migration; this one has landed.
enum Migration0018 {
    static let identifier = "0018 sweeps in steps"

    /// - `subscription_mark`: while a sweep is under way, `sweep_device_id` is the last device that it brings into the lists, and
    ///   the topic and platform are those of the last list that has its devices; see `PostingMark`.
    static let sql = """
        ALTER TABLE subscription_mark ADD COLUMN sweep_device_id INTEGER CHECK (sweep_device_id > device_id);
        ALTER TABLE subscription_mark ADD COLUMN sweep_topic_id INTEGER
            CHECK (sweep_topic_id IS NULL OR sweep_device_id IS NOT NULL);
        ALTER TABLE subscription_mark ADD COLUMN sweep_platform_id INTEGER
            CHECK ((sweep_platform_id IS NULL) = (sweep_topic_id IS NULL));
        """
}
