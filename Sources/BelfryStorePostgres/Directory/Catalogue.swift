import BelfryCore
import PostgreSQL

/// Keeps the catalogue, by which devices are found from any part of their UUID, token, custom user id or alias. See decision 7.
///
/// Devices are catalogued some thousands at a time, by one node at a time (`Watch`). Those behind the mark, and those that
/// changed since (`catalogue_erratum`), are looked at one by one. A changed device is catalogued again beside what was said
/// of it before; once that has doubled the catalogue, it is written anew, volume by volume, and the old edition goes. What
/// it says may be too much, never too little: every device it names is looked at.
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

    /// Does the most urgent of what there is to do, if there is any.
    func step() throws {
        guard let state = try session.prepared(CatalogueStatements.state).first(as: State.init) else { return }
        if state.settled - state.mark >= Int64(sizes.volume) {
            try catalogueNew(after: state.mark, until: state.settled)
        } else if try errataCount() >= sizes.errata {
            try catalogueErrata()
            if state.edition == nil { try session.prepared(CatalogueStatements.beginEdition).run(sizes.volume) }
        } else if let edition = state.edition {
            try advance(edition, until: state.mark)
        }
    }

    static func card(_ volume: Int64, _ drawer: Int) -> Int64 {
        volume * Int64(VolumeDraft.drawerCount) + Int64(drawer)
    }

    // MARK: What there is to do

    private struct State {
        let mark: Int64
        let edition: Edition?
        /// See `DeviceHorizon`.
        let settled: Int64

        init(_ row: Row) {
            mark = row.integer(0)
            edition = row.integerIfAny(1).map { Edition(device: $0, oldVolume: row.integer(2)) }
            settled = row.integer(3)
        }
    }

    /// The catalogue written anew: how far it has come, and the last volume that goes when it is there.
    private struct Edition {
        let device: Int64
        let oldVolume: Int64
    }

    private func errataCount() throws -> Int {
        try session.prepared(CatalogueStatements.errataCount).first(sizes.errata) { Int($0.integer(0)) } ?? 0
    }

    // MARK: Volumes

    private func catalogueNew(after mark: Int64, until settled: Int64) throws {
        let rows = session.prepared(CatalogueStatements.behind)
        let last = try catalogue { try rows.each(mark, settled, sizes.volume, do: $0) }
        let isFull = last.count == sizes.volume
        try session.prepared(CatalogueStatements.setMark).run(isFull ? last.device : settled)
    }

    /// They are taken away first: what changes from here on is an erratum again.
    private func catalogueErrata() throws {
        let devices = try session.prepared(CatalogueStatements.takeErrata).all(sizes.volume) {
            Key<Device>($0.integer(0))
        }
        let rows = session.prepared(CatalogueStatements.named)
        _ = try catalogue { try rows.each(PostgresArray(devices), do: $0) }
    }

    /// Writes a volume of the devices that `rows` lends, unless there are none.
    private func catalogue(
        _ rows: ((Row) throws -> Void) throws -> Void
    ) throws -> (device: Int64, count: Int) {
        let kinds = try session.db.platformKinds()
        var draft = VolumeDraft()
        try rows { row in
            let kind = kinds[row.integer(1)] ?? .ios
            draft.add(Key(row.integer(0)), DeviceText(row, kind: kind, naming: session.secrets.naming))
        }
        if !draft.devices.isEmpty { try write(draft) }
        return (draft.devices.last?.rawValue ?? 0, draft.devices.count)
    }

    private func write(_ draft: VolumeDraft) throws {
        let volume = try session.insert(
            CatalogueStatements.insertVolume, draft.devices.count, DeviceList.encode(draft.devices))
        var cards: [Int64] = []
        var places: [[UInt8]] = []
        draft.drawers { drawer, content in
            cards.append(Self.card(volume, drawer))
            places.append(content)
        }
        try session.prepared(CatalogueStatements.insertCards).run(PostgresArray(cards), PostgresArray(places))
    }

    // MARK: Editions

    private func advance(_ edition: Edition, until mark: Int64) throws {
        guard edition.device < mark else { return try clear(edition) }
        let rows = session.prepared(CatalogueStatements.behind)
        let last = try catalogue { try rows.each(edition.device, mark, sizes.volume, do: $0) }
        let isFull = last.count == sizes.volume
        try session.prepared(CatalogueStatements.setEdition).run(isFull ? last.device : mark)
    }

    /// Takes one volume of the old edition away.
    private func clear(_ edition: Edition) throws {
        let oldest = try session.prepared(CatalogueStatements.oldestVolume).first(edition.oldVolume) { $0.integer(0) }
        guard let oldest else {
            try session.prepared(CatalogueStatements.endEdition).run()
            return
        }
        try session.prepared(CatalogueStatements.deleteCards).run(Self.card(oldest, 0), Self.card(oldest + 1, 0))
        try session.prepared(CatalogueStatements.deleteVolume).run(oldest)
    }
}

extension WriteSession {
    /// To be told of devices whose token, custom user id or alias changed.
    func noteErrata(_ devices: [Key<Device>]) throws {
        guard !devices.isEmpty else { return }
        try prepared(CatalogueStatements.noteErrata).send(PostgresArray(devices.sorted()))
    }
}

extension Connection {
    func platformKinds() throws -> [Int64: PlatformKind] {
        var kinds: [Int64: PlatformKind] = [:]
        try prepared(CatalogueStatements.kinds).each { row in
            kinds[row.integer(0)] = PlatformKind(rawValue: row.text(1))
        }
        return kinds
    }
}

extension DeviceText {
    /// From the columns id, platform, token, custom user id and alias.
    init(_ row: Row, kind: PlatformKind, naming: DeviceNaming) {
        self.init(
            uuid: naming.uuid(of: Key(row.integer(0))), token: row.blobIfAny(2).map(DeviceToken.init(bytes:)),
            kind: kind,
            customUserID: row.textIfAny(3), alias: row.textIfAny(4))
    }
}

enum CatalogueStatements {
    static let state = """
        SELECT device_id, edition_device_id, edition_volume_id, settled_device_id /* catalogue.state */
          FROM catalogue CROSS JOIN device_horizon
         WHERE catalogue.id = 1 AND device_horizon.id = 1
        """

    static let kinds = """
        SELECT id, kind /* catalogue.kinds */ FROM platform
        """

    /// Walks the primary key.
    static let behind = """
        SELECT id, platform_id, token, custom_user_id, alias /* catalogue.behind */
          FROM device
         WHERE id > $1 AND id <= $2
         ORDER BY id
         LIMIT $3
        """

    static let named = """
        SELECT id, platform_id, token, custom_user_id, alias /* catalogue.named */
          FROM device
         WHERE id = ANY ($1)
         ORDER BY id
        """

    /// Those that are noted already are locked: they cannot be taken before this transaction has ended.
    static let noteErrata = """
        INSERT INTO catalogue_erratum /* catalogue.note_errata */ (device_id)
        SELECT device_id FROM unnest($1) AS changed (device_id)
            ON CONFLICT (device_id) DO UPDATE SET device_id = excluded.device_id
        """

    static let errataCount = """
        SELECT count(*) /* catalogue.errata_count */ FROM (SELECT 1 FROM catalogue_erratum LIMIT $1) AS few
        """

    /// Walks the primary key. Passes over those that are being noted.
    static let takeErrata = """
        DELETE FROM catalogue_erratum /* catalogue.take_errata */
         WHERE device_id IN (SELECT device_id FROM catalogue_erratum ORDER BY device_id LIMIT $1 FOR UPDATE SKIP LOCKED)
        RETURNING device_id
        """

    static let setMark = """
        UPDATE catalogue /* catalogue.set_mark */ SET device_id = $1 WHERE id = 1
        """

    static let insertVolume = """
        INSERT INTO catalogue_volume /* catalogue.insert_volume */ (device_count, devices) VALUES ($1, $2) RETURNING id
        """

    static let insertCards = """
        INSERT INTO catalogue_card /* catalogue.insert_cards */ (id, places)
        SELECT id, places FROM unnest($1, $2) AS new (id, places)
        """

    /// Volumes name about as many devices as there are, unless many were catalogued again.
    static let beginEdition = """
        UPDATE catalogue /* catalogue.begin_edition */
           SET edition_device_id = 0, edition_volume_id = (SELECT max(id) FROM catalogue_volume)
         WHERE id = 1 AND (SELECT sum(device_count) FROM catalogue_volume) > 2 * device_id + $1
        """

    static let setEdition = """
        UPDATE catalogue /* catalogue.set_edition */ SET edition_device_id = $1 WHERE id = 1
        """

    static let oldestVolume = """
        SELECT id /* catalogue.oldest_volume */ FROM catalogue_volume WHERE id <= $1 ORDER BY id LIMIT 1
        """

    /// Walks the primary key.
    static let deleteCards = """
        DELETE FROM catalogue_card /* catalogue.delete_cards */ WHERE id >= $1 AND id < $2
        """

    static let deleteVolume = """
        DELETE FROM catalogue_volume /* catalogue.delete_volume */ WHERE id = $1
        """

    static let endEdition = """
        UPDATE catalogue /* catalogue.end_edition */ SET edition_device_id = NULL, edition_volume_id = NULL WHERE id = 1
        """
}
