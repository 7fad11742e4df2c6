import BelfryCore
import GRDB

/// Keeps the catalogue, by which devices are found from any part of their UUID, token, custom user id or alias.
///
/// Devices are catalogued some thousands at a time, by `Watch`, so that a registration pays nothing but its share of a
/// sorted list; new ones beside the writer (`PreparedVolume`). Devices behind the mark, and those that changed since (`catalogue_erratum`), are looked at one by one.
/// A changed device is catalogued again beside what was said of it before; once that has doubled the catalogue, it is
/// written anew, volume by volume, and the old edition goes. What it says may be too much, never too little: every
/// device it names is looked at.
struct Catalogue {
    let session: WriteSession
    var sizes = Sizes()

    /// How many devices make a volume.
    struct Sizes: Sendable {
        /// Devices behind the mark.
        var volume = VolumeDraft.devicesMax
        /// Devices that changed. A search looks at each that is left, so they are fewer.
        var errata = VolumeDraft.devicesMax / 2
    }

    /// To be told of a device whose row was changed.
    func note(_ row: DeviceRow, insteadOf old: DeviceRow) throws {
        let isSame =
            row.token == old.token && row.customUserID == old.customUserID && row.about.alias == old.about.alias
        if !isSame { try session.prepared(CatalogueStatements.noteErratum).run(row.key) }
    }

    /// Does the most urgent of what there is to do, if there is any.
    func step() throws {
        guard let state = try session.prepared(CatalogueStatements.state).first(as: State.init) else { return }
        if try newestDevice() - state.mark >= Int64(sizes.volume) {
            try catalogueNew(after: state.mark)
        } else if try errataCount() >= sizes.errata {
            try catalogueErrata()
            if state.edition == nil { try beginEditionIfDue() }
        } else if let edition = state.edition {
            try advance(edition, until: state.mark)
        }
    }

    // MARK: What there is to do

    struct State {
        let mark: Int64
        let edition: Edition?

        init(_ row: Columns) {
            mark = row.integer(0)
            edition = row.integerIfAny(1).map { Edition(device: $0, oldVolume: row.integer(2)) }
        }
    }

    /// The catalogue written anew: how far it has come, and the last volume that goes when it is there.
    struct Edition {
        let device: Int64
        let oldVolume: Int64
    }

    private func newestDevice() throws -> Int64 {
        try session.prepared(SubscriptionStatements.lastDevice).first { $0.integer(0) } ?? 0
    }

    func errataCount() throws -> Int {
        try session.prepared(CatalogueStatements.errataCount).first(sizes.errata) { Int($0.integer(0)) } ?? 0
    }

    // MARK: Volumes

    private func catalogueNew(after mark: Int64) throws {
        var counts: [Int64: Int] = [:]
        guard let last = try catalogue(CatalogueStatements.behind, mark, counting: &counts) else { return }
        let insert = try session.prepared(CatalogueStatements.insertCount)
        for (platform, count) in counts { try insert.run(platform, last, count) }
        try session.prepared(CatalogueStatements.setMark).run(last)
    }

    func catalogueErrata() throws {
        var counts: [Int64: Int] = [:]
        let last = try catalogue(CatalogueStatements.errata, 0, counting: &counts)
        // Without a device there is nothing but errata of devices that are gone.
        try session.prepared(CatalogueStatements.forgetErrata).run(last ?? .max)
    }

    /// Writes one volume, and returns its last device; nil when there was none.
    private func catalogue(_ sql: String, _ after: Int64, counting counts: inout [Int64: Int]) throws -> Int64? {
        let kinds = try session.db.platformKinds()
        var draft = VolumeDraft()
        var last: Int64?
        try session.prepared(sql).each(after, sizes.volume) { row in
            let platform = row.integer(1)
            let entry = CatalogueEntry(row, kind: kinds[platform] ?? .ios, naming: session.secrets.naming)
            draft.add(entry.key, entry.text)
            counts[platform, default: 0] += 1
            last = entry.key.rawValue
        }
        if last != nil { try write(draft) }
        return last
    }

    private func write(_ draft: VolumeDraft) throws {
        try session.prepared(CatalogueStatements.insertVolume).run(
            draft.devices.count, DeviceList.encode(draft.devices))
        let volume = session.db.lastInsertedRowID
        let insert = try session.prepared(CatalogueStatements.insertCard)
        try draft.drawers { drawer, places in try insert.run(Self.card(volume, drawer), places) }
    }

    static func card(_ volume: Int64, _ drawer: Int) -> Int64 {
        volume * Int64(VolumeDraft.drawerCount) + Int64(drawer)
    }

    // MARK: Editions

    func beginEditionIfDue() throws {
        try session.prepared(CatalogueStatements.beginEdition).run(sizes.volume)
    }

    private func advance(_ edition: Edition, until mark: Int64) throws {
        guard edition.device < mark else { return try clear(edition) }
        var counts: [Int64: Int] = [:]
        let last = try catalogue(CatalogueStatements.behind, edition.device, counting: &counts)
        try session.prepared(CatalogueStatements.setEdition).run(last ?? mark)
    }

    /// Takes one volume of the old edition away.
    func clear(_ edition: Edition) throws {
        let oldest = try session.prepared(CatalogueStatements.oldestVolume).first(edition.oldVolume) { $0.integer(0) }
        guard let oldest else { return try session.prepared(CatalogueStatements.endEdition).run() }
        try session.prepared(CatalogueStatements.deleteCards).run(
            Self.card(oldest, 0), Self.card(oldest + 1, 0))
        try session.prepared(CatalogueStatements.deleteVolume).run(oldest)
    }
}

/// What the catalogue has to know of a device.
struct CatalogueEntry {
    let key: Key<Device>
    let text: DeviceText

    /// From the columns id, platform, token, custom user id and alias.
    init(_ row: Columns, kind: PlatformKind, naming: DeviceNaming) {
        key = Key(row.integer(0))
        text = DeviceText(
            uuid: naming.uuid(of: key), token: row.blobIfAny(2).map(DeviceToken.init(bytes:)), kind: kind,
            customUserID: row.textIfAny(3), alias: row.textIfAny(4))
    }
}

extension Database {
    func platformKinds() throws -> [Int64: PlatformKind] {
        var kinds: [Int64: PlatformKind] = [:]
        try prepared(CatalogueStatements.kinds).each { row in
            kinds[row.integer(0)] = PlatformKind(rawValue: row.text(1))
        }
        return kinds
    }
}

enum CatalogueStatements {
    static let state = """
        SELECT device_id, edition_device_id, edition_volume_id /* catalogue.state */ FROM catalogue WHERE id = 1
        """

    static let kinds = """
        SELECT id, kind /* catalogue.kinds */ FROM platform
        """

    static let behind = """
        SELECT id, platform_id, token, custom_user_id, alias /* catalogue.behind */
          FROM device
         WHERE id > ?1
         ORDER BY id
         LIMIT ?2
        """

    static let errata = """
        SELECT device.id, platform_id, token, custom_user_id, alias /* catalogue.errata */
          FROM catalogue_erratum JOIN device ON device.id = device_id
         WHERE device_id > ?1
         ORDER BY device_id
         LIMIT ?2
        """

    static let noteErratum = """
        INSERT INTO catalogue_erratum /* catalogue.note_erratum */ (device_id) VALUES (?1) ON CONFLICT DO NOTHING
        """

    static let errataCount = """
        SELECT count(*) /* catalogue.errata_count */ FROM (SELECT 1 FROM catalogue_erratum LIMIT ?1)
        """

    static let forgetErrata = """
        DELETE FROM catalogue_erratum /* catalogue.forget_errata */ WHERE device_id <= ?1
        """

    static let setMark = """
        UPDATE catalogue /* catalogue.set_mark */ SET device_id = ?1 WHERE id = 1
        """

    static let insertCount = """
        INSERT INTO catalogue_count /* catalogue.insert_count */ (platform_id, last_device_id, device_count)
        VALUES (?1, ?2, ?3)
        """

    static let insertVolume = """
        INSERT INTO catalogue_volume /* catalogue.insert_volume */ (device_count, devices) VALUES (?1, ?2)
        """

    static let insertCard = """
        INSERT INTO catalogue_card /* catalogue.insert_card */ (id, places) VALUES (?1, ?2)
        """

    /// Volumes name about as many devices as there are, unless many were catalogued again.
    static let beginEdition = """
        UPDATE catalogue /* catalogue.begin_edition */
           SET edition_device_id = 0, edition_volume_id = (SELECT max(id) FROM catalogue_volume)
         WHERE id = 1 AND (SELECT sum(device_count) FROM catalogue_volume) > 2 * device_id + ?1
        """

    static let setEdition = """
        UPDATE catalogue /* catalogue.set_edition */ SET edition_device_id = ?1 WHERE id = 1
        """

    static let oldestVolume = """
        SELECT id /* catalogue.oldest_volume */ FROM catalogue_volume WHERE id <= ?1 ORDER BY id LIMIT 1
        """

    static let deleteCards = """
        DELETE FROM catalogue_card /* catalogue.delete_cards */ WHERE id >= ?1 AND id < ?2
        """

    static let deleteVolume = """
        DELETE FROM catalogue_volume /* catalogue.delete_volume */ WHERE id = ?1
        """

    static let endEdition = """
        UPDATE catalogue /* catalogue.end_edition */ SET edition_device_id = NULL, edition_volume_id = NULL WHERE id = 1
        """
}
