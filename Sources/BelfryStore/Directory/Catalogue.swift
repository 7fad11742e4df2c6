import BelfryCore

/// Keeps the catalogue, by which devices are found from any part of their UUID, token, custom user id or alias. See decision 7.
///
/// Devices are catalogued some thousands at a time, so that a registration pays nothing but its share of a sorted list. Those
/// behind the mark, and those that changed since (`catalogue_erratum`), are looked at one by one. A changed device is
/// catalogued again beside what was said of it before; once that has doubled the catalogue, it is written anew, volume by
/// volume, and the old edition goes. What it says may be too much, never too little: every device it names is looked at.
struct Catalogue<Session: WriteSession> {
    let session: Session
    var sizes = CatalogueSizes()

    /// Does the most urgent of what there is to do, if there is any.
    func step() throws {
        guard let state = try session.db.catalogueState() else { return }
        if try state.isVolumeDue(sizes) || errataCount() < sizes.errata,
            let volume = try session.db.prepareVolume(sizes, naming: session.secrets.naming)
        {
            try take(volume)
        } else {
            try stepWithoutVolumes()
        }
    }

    /// Does what is left where volumes of new devices are put together beside the writer.
    func stepWithoutVolumes() throws {
        guard let state = try session.db.catalogueState() else { return }
        if try errataCount() >= sizes.errata {
            try catalogueErrata()
            if state.edition == nil { try session.prepared(CatalogueStatements.beginEdition).run(sizes.volume) }
        } else if let edition = state.edition, edition.device >= state.mark {
            try clear(edition)
        }
    }

    private func errataCount() throws -> Int {
        try session.prepared(CatalogueStatements.errataCount).first(sizes.errata) { Int($0.integer(0)) } ?? 0
    }

    /// Writes a volume down, unless the catalogue has gone on since it was put together.
    func take(_ volume: PreparedVolume) throws {
        guard let state = try session.db.catalogueState() else { return }
        switch volume.place {
        case .mark(let mark):
            guard state.mark == mark else { return }
            try write(volume)
            // A platform may have gone meanwhile, and its counts with it.
            let kinds = try session.db.platformKinds()
            try session.noteCatalogued(volume.counts.filter { kinds[$0.key] != nil }, until: volume.last)
            try session.prepared(CatalogueStatements.setMark).run(volume.last)
        case .edition(let device):
            guard state.edition?.device == device else { return }
            try write(volume)
            try session.prepared(CatalogueStatements.setEdition).run(volume.last)
        }
    }

    private func write(_ volume: PreparedVolume) throws {
        guard volume.deviceCount > 0 else { return }
        let key = try session.insert(CatalogueStatements.insertVolume, volume.deviceCount, volume.devices)
        let insert = try session.prepared(CatalogueStatements.insertCard)
        for (drawer, places) in volume.cards { try insert.send(CatalogueState.card(key, drawer), places) }
    }

    /// Errata are taken away first: what changes from here on is one again.
    private func catalogueErrata() throws {
        let devices = try session.prepared(CatalogueStatements.takeErrata).all(sizes.volume) { $0.integer(0) }
        var draft = PreparedVolume.Draft(kinds: try session.db.platformKinds(), naming: session.secrets.naming)
        try session.prepared(CatalogueStatements.named).each(SQLKeys(devices)) { draft.add($0) }
        try write(draft.volume(at: .mark(0), until: 0))
    }

    /// Takes one volume of the old edition away.
    private func clear(_ edition: CatalogueState.Edition) throws {
        let oldest = try session.prepared(CatalogueStatements.oldestVolume).first(edition.oldVolume) { $0.integer(0) }
        guard let oldest else {
            try session.prepared(CatalogueStatements.endEdition).run()
            return
        }
        try session.prepared(CatalogueStatements.deleteCards).run(
            CatalogueState.card(oldest, 0), CatalogueState.card(oldest + 1, 0))
        try session.prepared(CatalogueStatements.deleteVolume).run(oldest)
    }
}

/// How many devices make a volume.
struct CatalogueSizes: Sendable {
    /// Devices behind the mark.
    var volume = VolumeDraft.devicesMax
    /// Devices that changed. A search looks at each that is left, so they are fewer.
    var errata = VolumeDraft.devicesMax / 2
}

/// How far the catalogue has come.
struct CatalogueState {
    /// All devices up to this one are catalogued.
    let mark: Int64
    let edition: Edition?
    /// No device comes any more up to this one.
    let settled: Int64

    /// The catalogue written anew: how far it has come, and the last volume that goes when it is there.
    struct Edition {
        let device: Int64
        let oldVolume: Int64
    }

    fileprivate init(_ row: some SQLRow) {
        mark = row.integer(0)
        edition = row.integerIfAny(1).map { Edition(device: $0, oldVolume: row.integer(2)) }
        settled = row.integer(3)
    }

    fileprivate func isVolumeDue(_ sizes: CatalogueSizes) -> Bool { settled - mark >= Int64(sizes.volume) }

    static func card(_ volume: Int64, _ drawer: Int) -> Int64 {
        volume * Int64(VolumeDraft.drawerCount) + Int64(drawer)
    }
}

/// A volume of the catalogue, put together from a snapshot.
///
/// To read thousands of devices and sort their grams takes tens of milliseconds, which would be everybody's if SQLite's
/// writer did it. What changes between the snapshot and the writing is an erratum by then.
struct PreparedVolume: Sendable {
    /// What the volume continues: it is of no use when the catalogue has gone on meanwhile.
    enum Place: Sendable, Hashable {
        /// All devices up to this one are catalogued.
        case mark(Int64)
        /// The new edition has come to this device.
        case edition(Int64)
    }

    let place: Place
    /// How far the catalogue has come with it.
    let last: Int64
    let deviceCount: Int
    let devices: [UInt8]
    let cards: [(drawer: Int, places: [UInt8])]
    /// Of each platform.
    let counts: [Int64: Int]

    fileprivate struct Draft {
        let kinds: [Int64: PlatformKind]
        let naming: DeviceNaming
        private(set) var volume = VolumeDraft()
        private var counts: [Int64: Int] = [:]

        init(kinds: [Int64: PlatformKind], naming: DeviceNaming) {
            self.kinds = kinds
            self.naming = naming
        }

        /// From the columns of `CatalogueStatements.behind`.
        mutating func add(_ row: some SQLRow) {
            let platform = row.integer(1)
            volume.add(Key(row.integer(0)), DeviceText(row, kind: kinds[platform] ?? .ios, naming: naming))
            counts[platform, default: 0] += 1
        }

        func volume(at place: Place, until last: Int64) -> PreparedVolume {
            var cards: [(drawer: Int, places: [UInt8])] = []
            volume.drawers { cards.append((drawer: $0, places: $1)) }
            return PreparedVolume(
                place: place, last: last, deviceCount: volume.devices.count,
                devices: DeviceList.encode(volume.devices), cards: cards, counts: counts)
        }
    }
}

extension SQLConnection {
    fileprivate func catalogueState() throws -> CatalogueState? {
        try prepared(CatalogueStatements.state).first(as: CatalogueState.init)
    }

    /// The next volume of devices, if one is due.
    func prepareVolume(_ sizes: CatalogueSizes, naming: DeviceNaming) throws -> PreparedVolume? {
        guard let state = try catalogueState() else { return nil }
        if state.isVolumeDue(sizes) {
            return try volume(of: sizes, after: state.mark, until: state.settled, at: .mark(state.mark), naming)
        }
        guard let edition = state.edition, edition.device < state.mark else { return nil }
        return try volume(of: sizes, after: edition.device, until: state.mark, at: .edition(edition.device), naming)
    }

    /// Devices may have gone, so that there are few or none.
    private func volume(
        of sizes: CatalogueSizes, after first: Int64, until last: Int64, at place: PreparedVolume.Place,
        _ naming: DeviceNaming
    ) throws -> PreparedVolume {
        var draft = PreparedVolume.Draft(kinds: try platformKinds(), naming: naming)
        try prepared(CatalogueStatements.behind).each(first, last, sizes.volume) { draft.add($0) }
        let devices = draft.volume.devices
        let end = devices.count == sizes.volume ? devices.last?.rawValue ?? last : last
        return draft.volume(at: place, until: end)
    }

    fileprivate func platformKinds() throws -> [Int64: PlatformKind] {
        var kinds: [Int64: PlatformKind] = [:]
        try prepared(CatalogueStatements.kinds).each { row in
            kinds[row.integer(0)] = PlatformKind(rawValue: row.text(1))
        }
        return kinds
    }
}

extension DeviceText {
    /// From the columns id, platform, token, custom user id and alias.
    init(_ row: some SQLRow, kind: PlatformKind, naming: DeviceNaming) {
        self.init(
            uuid: naming.uuid(of: Key(row.integer(0))), token: row.blobIfAny(2).map(DeviceToken.init(bytes:)),
            kind: kind,
            customUserID: row.textIfAny(3), alias: row.textIfAny(4))
    }
}

enum CatalogueStatements {
    /// In PostgreSQL ids do not ascend as commits do; see `DeviceHorizon`.
    static let state: SQLText = """
        SELECT device_id, edition_device_id, edition_volume_id, \(
            sqlite: "(SELECT coalesce(max(id), 0) FROM device)",
            postgres: "(SELECT settled_device_id FROM device_horizon WHERE id = 1)") /* catalogue.state */
          FROM catalogue
         WHERE id = 1
        """

    static let kinds: SQLText = "SELECT id, kind /* catalogue.kinds */ FROM platform"

    /// Walks the primary key.
    static let behind: SQLText = """
        SELECT id, platform_id, token, custom_user_id, alias /* catalogue.behind */
          FROM device
         WHERE id > $1 AND id <= $2
         ORDER BY id
         LIMIT $3
        """

    static let named: SQLText = """
        SELECT id, platform_id, token, custom_user_id, alias /* catalogue.named */
          FROM device
         WHERE id \(among: "$1")
         ORDER BY id
        """

    static let errataCount: SQLText = """
        SELECT count(*) /* catalogue.errata_count */ FROM (SELECT 1 FROM catalogue_erratum LIMIT $1) AS few
        """

    /// Walks the primary key. Passes over those that are being noted.
    static let takeErrata: SQLText = """
        DELETE FROM catalogue_erratum /* catalogue.take_errata */
         WHERE device_id IN (SELECT device_id FROM catalogue_erratum ORDER BY device_id LIMIT $1
                                \(SQLText.forUpdateSkipLocked))
        RETURNING device_id
        """

    static let setMark: SQLText = "UPDATE catalogue /* catalogue.set_mark */ SET device_id = $1 WHERE id = 1"

    static let insertVolume: SQLText = """
        INSERT INTO catalogue_volume /* catalogue.insert_volume */ (device_count, devices) VALUES ($1, $2) RETURNING id
        """

    static let insertCard: SQLText = """
        INSERT INTO catalogue_card /* catalogue.insert_card */ (id, places) VALUES ($1, $2)
        """

    /// Volumes name about as many devices as there are, unless many were catalogued again.
    static let beginEdition: SQLText = """
        UPDATE catalogue /* catalogue.begin_edition */
           SET edition_device_id = 0, edition_volume_id = (SELECT max(id) FROM catalogue_volume)
         WHERE id = 1 AND (SELECT sum(device_count) FROM catalogue_volume) > 2 * device_id + $1
        """

    static let setEdition: SQLText = """
        UPDATE catalogue /* catalogue.set_edition */ SET edition_device_id = $1 WHERE id = 1
        """

    static let oldestVolume: SQLText = """
        SELECT id /* catalogue.oldest_volume */ FROM catalogue_volume WHERE id <= $1 ORDER BY id LIMIT 1
        """

    /// Walks the primary key.
    static let deleteCards: SQLText = """
        DELETE FROM catalogue_card /* catalogue.delete_cards */ WHERE id >= $1 AND id < $2
        """

    static let deleteVolume: SQLText = "DELETE FROM catalogue_volume /* catalogue.delete_volume */ WHERE id = $1"

    static let endEdition: SQLText = """
        UPDATE catalogue /* catalogue.end_edition */ SET edition_device_id = NULL, edition_volume_id = NULL WHERE id = 1
        """
}
