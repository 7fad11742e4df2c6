/// Topics that end, and the catalogue by which devices are found.
enum Migration0003 {
    static let identifier = "0003 topics that end, and the catalogue"

    /// - `buried_topic`: topics that are gone, while devices still stand in their posting lists; see `TopicBurial`.
    ///   `last_device_id` is the newest device that may have heard of it. Ids in the rows of devices stay there until
    ///   the device registers again; they name nothing.
    /// - `catalogue`: how far the catalogue has come; see `Catalogue`. While it is written anew, `edition_device_id` says
    ///   how far that has come, and `edition_volume_id` which volumes go afterwards.
    /// - `catalogue_volume`: some thousand devices, coded as those of a page.
    /// - `catalogue_card`: in which places of a volume devices stand whose text has a gram of a drawer. The id is that of
    ///   the volume and the drawer's number.
    /// - `catalogue_count`: how many devices of a platform came in a stretch, by the last device of the stretch.
    /// - `catalogue_erratum`: devices whose text is no longer what the catalogue says.
    static let sql = """
        ALTER TABLE topic ADD COLUMN expires_at_ms INTEGER;
        CREATE INDEX topic_expiry ON topic (expires_at_ms) WHERE expires_at_ms IS NOT NULL;

        CREATE TABLE buried_topic (
            topic_id INTEGER PRIMARY KEY,
            last_device_id INTEGER NOT NULL CHECK (last_device_id >= 0)
        ) STRICT;

        CREATE TABLE catalogue (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            device_id INTEGER NOT NULL CHECK (device_id >= 0),
            edition_device_id INTEGER,
            edition_volume_id INTEGER,
            CHECK ((edition_device_id IS NULL) = (edition_volume_id IS NULL))
        ) STRICT;
        INSERT INTO catalogue (id, device_id) VALUES (1, 0);

        CREATE TABLE catalogue_volume (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            device_count INTEGER NOT NULL CHECK (device_count > 0),
            devices BLOB NOT NULL CHECK (length(devices) > 0)
        ) STRICT;

        CREATE TABLE catalogue_card (
            id INTEGER PRIMARY KEY,
            places BLOB NOT NULL CHECK (length(places) > 0)
        ) STRICT;

        CREATE TABLE catalogue_count (
            platform_id INTEGER NOT NULL,
            last_device_id INTEGER NOT NULL,
            device_count INTEGER NOT NULL CHECK (device_count > 0),
            PRIMARY KEY (platform_id, last_device_id)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE catalogue_erratum (
            device_id INTEGER PRIMARY KEY
        ) STRICT;
        """
}
