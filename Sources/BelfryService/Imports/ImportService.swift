package import FoundationEssentials

/// Imports the devices of another service, step by step, for the command and the admin API.
///
/// Importing a list again changes nothing, so an interrupted import can be started again.
package struct ImportService: Sendable {
    private let store: any Store
    private let platforms: ImportPlatforms
    /// Judges rows in a dry run; nil where rows are imported.
    private let trial: ImportTrial?

    /// The result of a row.
    package struct Verdict: Sendable, Hashable {
        package let row: Int
        /// The device's id at the other service.
        package let id: String?
        package let platform: UUID?
        package let outcome: ImportVerdict

        package init(row: Int, id: String?, platform: UUID?, outcome: ImportVerdict) {
            self.row = row
            self.id = id?.prefix(bytes: Self.idBytesMax)
            self.platform = platform
            self.outcome =
                if case .refused(let reason) = outcome { .refused(reason.prefix(bytes: Self.reasonBytesMax)) } else {
                    outcome
                }
        }

        /// The limits, in bytes, on texts of the list that are kept; a row may have 1 MiB.
        package static let idBytesMax = 256
        package static let reasonBytesMax = 512
    }

    /// Imports devices to platforms of one application.
    package init(store: any Store, platforms: [Platform]) {
        self.store = store
        self.platforms = ImportPlatforms(platforms)
        trial = nil
    }

    /// Judges each row of a list as an import would, and writes nothing.
    package init(dryRunOf application: Application, store: any Store, platforms: [Platform])
        async throws
    {
        self.store = store
        self.platforms = ImportPlatforms(platforms)
        trial = ImportTrial(
            scratch: try await store.importScratch(), quotas: try await store.quotas(of: application.key))
    }

    /// Imports some rows of a list, and returns the verdict on each, in order.
    package func run(_ rows: [ImportReader.Row]) async throws -> [Verdict] {
        if let trial { return try await judge(rows, by: trial) }
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
                Verdict(
                    row: row.number, id: id, platform: platform,
                    outcome: .refused(error.renamed(row.columns).description)))
        }
    }

    /// Rows that are written together. No two have the same token or UUID, so their order does not matter.
    private struct Window {
        /// By platform, in the order of the rows.
        var found: [Key<Platform>: [Found]] = [:]
        var refused: [Verdict] = []
        private var tokens: [Key<Platform>: Set<[UInt8]>] = [:]
        private var uuids: [Key<Platform>: Set<UUID>] = [:]

        /// Takes the row, unless one with its token or UUID is here.
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
        let steps = window.found.values.flatMap { $0.chunks(of: DeviceImport.perWrite) }
        let written = try await withThrowingTaskGroup(of: [Verdict].self) { group in
            for step in steps { group.addTask { try await self.write(step) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return (written + window.refused).sorted { $0.row < $1.row }
    }

    /// - Parameter step: of one platform.
    private func write(_ step: [Found]) async throws -> [Verdict] {
        guard let platform = step.first?.platform else { return [] }
        let outcomes = try await store.importDevices(step.map(\.device), on: platform)
        return zip(step, outcomes).map { found, outcome in
            Verdict(row: found.number, id: found.id, platform: platform.uuid, outcome: outcome)
        }
    }
}

// MARK: - Dry runs

extension ImportService {
    private func judge(_ rows: [ImportReader.Row], by trial: ImportTrial) async throws -> [Verdict] {
        var (found, verdicts): ([Found], [Verdict]) = ([], [])
        for row in rows {
            switch judged(row) {
            case .refused(let verdict): verdicts.append(verdict)
            case .found(let row): found.append(row)
            }
        }
        let outcomes = try await trial.verdicts(on: try await survey(found))
        verdicts += zip(found, outcomes).map { row, outcome in
            Verdict(row: row.number, id: row.id, platform: row.platform.uuid, outcome: outcome)
        }
        return verdicts.sorted { $0.row < $1.row }
    }

    /// The rows with the devices and topics that they meet in the database, in order.
    private func survey(_ found: [Found]) async throws -> [ImportTrialRow] {
        let steps = Dictionary(grouping: found, by: \.platform.key).values
            .flatMap { $0.chunks(of: DeviceImport.perWrite) }
        let rows = try await withThrowingTaskGroup(of: [(Int, ImportTrialRow)].self) { group in
            for step in steps { group.addTask { try await self.survey(step: step) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return rows.sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// - Parameter step: of one platform.
    private func survey(step: [Found]) async throws -> [(Int, ImportTrialRow)] {
        guard let platform = step.first?.platform else { return [] }
        let survey = try await store.importSurvey(of: step.map(\.device), on: platform)
        return zip(step, survey.parties).map { found, parties in
            let newTopics = found.device.topicNames.subtracting(survey.topics)
            let row = ImportTrialRow(platform: platform, device: found.device, parties: parties, newTopics: newTopics)
            return (found.number, row)
        }
    }
}

/// The number of rows with each verdict.
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
