/// An import whose progress is written down, so that another request can look at it and resume it.
package struct RecordedImport: Sendable {
    package private(set) var job: ImportJob
    package let service: ImportService
    private let store: any ImportJobStore

    /// The most rows that are in memory, and written together.
    package static let windowRows = 1_024

    init(job: ImportJob, service: ImportService, store: any ImportJobStore) {
        self.job = job
        self.service = service
        self.store = store
    }

    /// Imports some rows of the list, and returns the verdict on each, in order. Verdicts are written down after the rows, so
    /// a crash has a few rows imported again, which are duplicates then.
    package mutating func run(_ rows: [ImportReader.Row]) async throws -> [ImportService.Verdict] {
        guard let last = rows.last else { return [] }
        let verdicts = try await service.run(rows)
        var tally = ImportTally()
        var lines: [UInt8] = []
        for verdict in verdicts {
            tally.note(verdict.outcome)
            lines += verdict.csvLine.utf8
        }
        let step = ImportStep(position: last.number, tally: tally, lines: lines)
        guard let noted = try await store.note(step, of: job) else { throw Self.superseded }
        job = noted
        return verdicts
    }

    /// - Parameter reason: the reason why the rest cannot be read.
    package mutating func end(as state: ImportJob.State, reason: String = "") async throws {
        guard let ended = try await store.end(job, as: state, reason: reason) else { throw Self.superseded }
        job = ended
    }

    private static let superseded = StoreError.conflict("another request goes on with this import")
}

extension ImportService.Verdict {
    package static let csvHead = "row,id,platform_uuid,verdict,reason\n"

    package var csvLine: String {
        let reason = if case .refused(let words) = outcome { words } else { "" }
        let (id, words) = ((id ?? "").withoutFormula.csv, reason.withoutFormula.csv)
        return "\(row),\(id),\(platform?.lowercased ?? ""),\(outcome.name),\(words)\n"
    }
}
