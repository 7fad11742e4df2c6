import FoundationEssentials

extension SQLiteRegistrar {
    /// Writes the device down as another server knew it.
    func importDevice() throws -> ImportVerdict {
        do {
            guard try session.status(of: platform.key) != nil else {
                throw StoreError.unknown("platform \(platform.key)")
            }
            let named = try namedRow()
            let holder = named?.token == registration.token ? named : try tokenHolder()
            var verdict = ImportVerdict.duplicate
            var isFirst = false
            var key = holder?.key
            switch ImportRules(named: named?.importParty, holder: holder?.importParty) {
            case .create:
                key = try create().key
                verdict = .new
            case .update(let updated, let evicted):
                guard let row = named?.key == updated ? named : holder else {
                    preconditionFailure("one of the two is updated")
                }
                key = updated
                var registrar = self
                registrar.imported = imported?.updating(row)
                if try registrar.update(row, evicting: evicted == nil ? nil : holder).isChanged { verdict = .updated }
            case .name:
                guard let holder, case .imported(let uuid) = self.named else { break }
                var row = holder
                row.importMark = ImportMark(uuid: uuid, importedAt: session.now, stage: .seen)
                try session.mark(row)
                try session.noteStaleDevice(row, insteadOf: holder)
                verdict = .updated
                isFirst = true
            case .keep: break
            }
            if let key {
                isFirst = isFirst || verdict == .duplicate
                try session.set(registration.detail, of: key, on: platform.key, isFirst: isFirst)
            }
            return verdict
        } catch StoreError.quotaExceeded(let excess) {
            return .refused(excess.description)
        } catch let error as InvalidInput {
            return .refused(error.description)
        }
    }
}

extension SQLiteWriteSession {
    /// Writes where the device came from.
    func mark(_ row: DeviceRow) throws {
        try prepared(DeviceStatements.mark).run(
            row.importMark?.uuid, row.importMark?.importedAt, row.importMark?.stage.rawValue, row.key)
    }
}

/// The effect of an imported row on the devices that exist.
///
/// An app's own registration here is newer than another server's knowledge of it, so an import changes only devices that
/// were imported before and whose app has not registered since.
package enum ImportRules: Sendable, Hashable {
    case create
    /// The device takes the values; `evicted`, which had the token so far, loses it and becomes inactive.
    case update(Key<Device>, evicted: Key<Device>?)
    /// The device stays as it is, and is found by the old UUID too.
    case name(Key<Device>)
    case keep

    /// A device that the row may mean.
    package struct Party: Sendable, Hashable {
        package let key: Key<Device>
        package let mark: ImportMark?

        fileprivate var isUnseen: Bool { mark?.stage == .unseen || mark?.stage == .retired }
        fileprivate var hasOldUUID: Bool { mark?.uuid != nil }
    }

    /// - Parameters:
    ///   - named: the device that has the row's UUID.
    ///   - holder: the device that has the row's token.
    package init(named: Party?, holder: Party?) {
        switch (named, holder) {
        case (nil, nil): self = .create
        case (nil, let holder?) where holder.isUnseen: self = .update(holder.key, evicted: nil)
        case (nil, let holder?): self = holder.hasOldUUID ? .keep : .name(holder.key)
        case (let named?, nil): self = named.isUnseen ? .update(named.key, evicted: nil) : .keep
        case (let named?, let holder?) where named.key == holder.key:
            self = named.isUnseen ? .update(named.key, evicted: nil) : .keep
        case (let named?, let holder?):
            self = named.isUnseen && holder.isUnseen ? .update(named.key, evicted: holder.key) : .keep
        }
    }
}
