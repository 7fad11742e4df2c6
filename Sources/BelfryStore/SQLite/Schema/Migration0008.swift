/// A row of a posting list holds a stretch of devices.
///
/// Whoever changes it writes the next migration; this one has landed.
enum Migration0008 {
    static let identifier = "0008 stretches of subscribers"

    /// - `subscription`: `device_id` is the first of `device_count` devices, `others` those after it; see `Stretch`. NULL
    ///   where the row holds one device only, as all rows did before.
    static let sql = """
        ALTER TABLE subscription ADD COLUMN device_count INTEGER NOT NULL DEFAULT 1 CHECK (device_count > 0);
        ALTER TABLE subscription ADD COLUMN others BLOB CHECK ((others IS NULL) = (device_count = 1));
        """
}
