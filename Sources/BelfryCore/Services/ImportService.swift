package import FoundationEssentials

/// Imports the devices of another service, step by step, for the command and the admin API.
///
/// Importing a list again changes nothing, so an interrupted import can be started again.
package struct ImportService: Sendable {
    private let store: any DeviceStore & ApplicationStore
    private let platforms: ImportPlatforms
    /// Whether rows are judged alone and nothing is written.
    private let isDryRun: Bool

    /// What came of a row.
    package struct Verdict: Sendable, Hashable {
        package let row: Int
        /// What the other service called it.
        package let id: String?
        package let platform: UUID?
        package let outcome: ImportVerdict

        package init(row: Int, id: String?, platform: UUID?, outcome: ImportVerdict) {
            self.row = row
            self.id = id
            self.platform = platform
            self.outcome = outcome
        }
    }

    /// - Parameter platforms: of one application.
    package init(store: any DeviceStore & ApplicationStore, platforms: [Platform], isDryRun: Bool) {
        self.store = store
        self.platforms = ImportPlatforms(platforms)
        self.isDryRun = isDryRun
    }

    /// Does some rows of a list, and returns what came of each, in order.
    package func run(_ rows: [ImportReader.Row]) async throws -> [Verdict] {
        var verdicts: [Verdict] = []
        verdicts.reserveCapacity(rows.count)
        var window = Window()
        for row in rows {
            switch judged(row) {
            case .refused(let verdict): window.refused.append(verdict)
            case .found(let found):
                guard window.takes(found) else {
                    verdicts += try await write(window)
                    window = Window()
                    _ = window.takes(found)
                    continue
                }
            }
        }
        return verdicts + (try await write(window))
    }

    private enum Judgement {
        case found(Found)
        case refused(Verdict)
    }

    private struct Found: Sendable {
        let number: Int
        let id: String?
        let platform: Platform
        let device: DeviceImport
    }

    private func judged(_ row: ImportReader.Row) -> Judgement {
        var (id, platform): (String?, UUID?) = (nil, nil)
        do throws(InvalidInput) {
            let read = try row.outcome.get()
            id = read.id
            let its = try platforms.platform(for: read)
            platform = its.uuid
            return .found(Found(number: row.number, id: id, platform: its, device: try read.device(for: its.kind)))
        } catch {
            return .refused(
                Verdict(row: row.number, id: id, platform: platform, outcome: .refused(error.description)))
        }
    }

    /// Rows that are written together: no two of one token or one UUID, so that the order within does not matter.
    private struct Window {
        /// By platform, in the order of the rows.
        var found: [Key<Platform>: [Found]] = [:]
        var refused: [Verdict] = []
        private var tokens: [Key<Platform>: Set<[UInt8]>] = [:]
        private var uuids: [Key<Platform>: Set<UUID>] = [:]

        /// Takes the row, unless one of its token or UUID is here.
        mutating func takes(_ row: Found) -> Bool {
            let platform = row.platform.key
            let identity = row.device.registration.token.identity
            guard tokens[platform]?.contains(identity) != true else { return false }
            if let uuid = row.device.uuid {
                guard uuids[platform, default: []].insert(uuid).inserted else { return false }
            }
            tokens[platform, default: []].insert(identity)
            found[platform, default: []].append(row)
            return true
        }
    }

    private func write(_ window: Window) async throws -> [Verdict] {
        let steps = window.found.values.flatMap { rows in
            stride(from: 0, to: rows.count, by: DeviceImport.perWrite).map { start in
                Array(rows[start..<min(start + DeviceImport.perWrite, rows.count)])
            }
        }
        let written = try await withThrowingTaskGroup(of: [Verdict].self) { group in
            for step in steps { group.addTask { try await self.write(step) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return (written + window.refused).sorted { $0.row < $1.row }
    }

    /// - Parameter step: of one platform.
    private func write(_ step: [Found]) async throws -> [Verdict] {
        guard let platform = step.first?.platform else { return [] }
        let outcomes =
            isDryRun
            ? step.map { _ in ImportVerdict.new } : try await store.importDevices(step.map(\.device), on: platform)
        return zip(step, outcomes).map { found, outcome in
            Verdict(row: found.number, id: found.id, platform: platform.uuid, outcome: outcome)
        }
    }
}

/// How many rows had which verdict.
package struct ImportTally: Sendable, Hashable, Codable {
    package var new = 0
    package var updated = 0
    package var duplicate = 0
    package var refused = 0

    package init() {}

    package var rows: Int { new + updated + duplicate + refused }

    package mutating func note(_ outcome: ImportVerdict) {
        switch outcome {
        case .new: new += 1
        case .updated: updated += 1
        case .duplicate: duplicate += 1
        case .refused: refused += 1
        }
    }
}
