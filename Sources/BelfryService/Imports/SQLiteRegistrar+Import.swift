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
            switch ImportRules(named: named?.importParty, holder: holder?.importParty) {
            case .create:
                _ = try create()
                return .new
            case .update(let key, let evicted):
                guard let row = named?.key == key ? named : holder else {
                    preconditionFailure("one of the two is updated")
                }
                let isChanged = try update(row, evicting: evicted == nil ? nil : holder).isChanged
                return isChanged ? .updated : .duplicate
            case .name:
                guard let holder, case .imported(let uuid) = self.named else { return .duplicate }
                var row = holder
                row.importMark = ImportMark(uuid: uuid, importedAt: session.now, stage: .seen)
                try session.mark(row)
                try session.noteStaleDevice(row, insteadOf: holder)
                return .updated
            case .keep: return .duplicate
            }
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
