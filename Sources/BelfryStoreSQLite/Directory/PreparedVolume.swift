import BelfryCore
import GRDB

/// A volume of the catalogue, put together beside the writer from a snapshot.
///
/// To read thousands of devices and sort their grams takes tens of milliseconds, which would be everybody's if the writer
/// did it. What changes between the snapshot and the writing is an erratum by then.
struct PreparedVolume: Sendable {
    /// What the volume continues: it is of no use when the catalogue has gone on meanwhile.
    enum Place: Sendable, Hashable {
        /// All devices up to this one are catalogued.
        case mark(Int64)
        /// The new edition has come to this device.
        case edition(Int64)
    }

    let place: Place
    let last: Int64
    let deviceCount: Int
    let devices: [UInt8]
    let cards: [(drawer: Int, places: [UInt8])]
    /// Of each platform.
    let counts: [Int64: Int]
}

extension Database {
    /// The next volume of devices, if one is due.
    func prepareVolume(_ sizes: Catalogue.Sizes, naming: DeviceNaming) throws -> PreparedVolume? {
        guard let state = try prepared(CatalogueStatements.state).first(as: Catalogue.State.init) else { return nil }
        let newest = try prepared(SubscriptionStatements.lastDevice).first { $0.integer(0) } ?? 0
        if newest - state.mark >= Int64(sizes.volume) {
            return try volume(after: state.mark, at: .mark(state.mark), sizes, naming)
        }
        guard let edition = state.edition, edition.device < state.mark else { return nil }
        let place = PreparedVolume.Place.edition(edition.device)
        // Devices may have gone, so that there is none left before the mark.
        return try volume(after: edition.device, at: place, sizes, naming)
            ?? PreparedVolume(place: place, last: state.mark, deviceCount: 0, devices: [], cards: [], counts: [:])
    }

    private func volume(
        after device: Int64, at place: PreparedVolume.Place, _ sizes: Catalogue.Sizes, _ naming: DeviceNaming
    ) throws -> PreparedVolume? {
        let kinds = try platformKinds()
        var draft = VolumeDraft()
        var counts: [Int64: Int] = [:]
        try prepared(CatalogueStatements.behind).each(device, sizes.volume) { row in
            let platform = row.integer(1)
            let entry = CatalogueEntry(row, kind: kinds[platform] ?? .ios, naming: naming)
            draft.add(entry.key, entry.text)
            counts[platform, default: 0] += 1
        }
        guard let last = draft.devices.last else { return nil }
        var cards: [(drawer: Int, places: [UInt8])] = []
        draft.drawers { cards.append((drawer: $0, places: $1)) }
        return PreparedVolume(
            place: place, last: last.rawValue, deviceCount: draft.devices.count,
            devices: DeviceList.encode(draft.devices), cards: cards, counts: counts)
    }
}

extension Catalogue {
    /// Writes a volume down, unless the catalogue has gone on since it was put together.
    func take(_ volume: PreparedVolume) throws {
        guard let state = try session.prepared(CatalogueStatements.state).first(as: State.init) else { return }
        switch volume.place {
        case .mark(let mark):
            guard state.mark == mark else { return }
            try write(volume)
            // A platform may have gone meanwhile, and its counts with it.
            let kinds = try session.db.platformKinds()
            let insert = try session.prepared(CatalogueStatements.insertCount)
            for (platform, count) in volume.counts where kinds[platform] != nil {
                try insert.run(platform, volume.last, count)
            }
            try session.prepared(CatalogueStatements.setMark).run(volume.last)
        case .edition(let device):
            guard state.edition?.device == device else { return }
            if volume.deviceCount > 0 { try write(volume) }
            try session.prepared(CatalogueStatements.setEdition).run(volume.last)
        }
    }

    private func write(_ volume: PreparedVolume) throws {
        try session.prepared(CatalogueStatements.insertVolume).run(volume.deviceCount, volume.devices)
        let key = session.db.lastInsertedRowID
        let insert = try session.prepared(CatalogueStatements.insertCard)
        for (drawer, places) in volume.cards { try insert.run(Self.card(key, drawer), places) }
    }

    /// Does what is left for the writer where volumes of new devices are put together beside it.
    func stepWithoutVolumes() throws {
        guard let state = try session.prepared(CatalogueStatements.state).first(as: State.init) else { return }
        if try errataCount() >= sizes.errata {
            try catalogueErrata()
            if state.edition == nil { try beginEditionIfDue() }
        } else if let edition = state.edition, edition.device >= state.mark {
            try clear(edition)
        }
    }
}
