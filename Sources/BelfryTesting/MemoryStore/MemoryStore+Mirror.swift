package import BelfryService
package import FoundationEssentials

extension MemoryStore {
    package func mirror(
        _ call: MirrorCall, of device: Key<Device>, on platform: Key<Platform>, atMost backlogMax: Int
    ) async throws -> Bool {
        try transaction { contents in
            guard contents.platforms[platform] != nil else { throw StoreError.unknown("platform") }
            guard contents.mirrorEntries.count < backlogMax else { return false }
            contents.mirrorEntries.append(
                MirrorEntry(key: contents.nextKey(), platformKey: platform, device: device, call: call))
            return true
        }
    }

    package func mirrorEntries(limit: Int) async throws -> [MirrorEntry] { Array(contents.mirrorEntries.prefix(limit)) }

    package func settle(_ entries: [Key<MirrorEntry>]) async throws {
        let settled = Set(entries)
        transaction { $0.mirrorEntries.removeAll { settled.contains($0.key) } }
    }

    package func mirrorBacklog() async throws -> Int { contents.mirrorEntries.count }

    package func holdMirror(as node: UUID, for lease: Duration) async throws -> Bool {
        let now = clock.now
        return transaction { contents in
            if let holder = contents.mirrorHolder, holder.node != node, holder.until >= now { return false }
            contents.mirrorHolder = (node, now + lease)
            return true
        }
    }

    package func importedUUID(of device: Key<Device>, on platform: Key<Platform>) async throws -> UUID? {
        contents.devices[device].flatMap { $0.platformKey == platform ? $0.importMark?.uuid : nil }
    }

    package func noteImportedUUID(_ uuid: UUID, of device: Key<Device>, on platform: Platform) async throws {
        let now = clock.now
        transaction { contents in
            guard contents.naming.device(of: uuid) == nil, contents.device(uuid, on: platform.key) == nil,
                let known = contents.platforms[platform.key], let old = contents.devices[device],
                old.importMark?.uuid == nil
            else { return }
            contents.platforms[platform.key] = known.with(hasImports: true)
            let mark = ImportMark(
                uuid: uuid, importedAt: old.importMark?.importedAt ?? now, stage: old.importMark?.stage ?? .renamed)
            contents.devices[device] = old.with(mark, contents.naming)
        }
    }
}
