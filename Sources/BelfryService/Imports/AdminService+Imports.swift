package import FoundationEssentials

extension AdminService {
    /// Returns a service that imports devices of another service, after it has written a line to the audit log unless this is a dry run.
    ///
    /// - Parameters:
    ///   - platforms: of the application.
    ///   - source: the format of the list, or the address of the server.
    package func beginImport(
        of application: Application, to platforms: [Platform], from source: String, isDryRun: Bool,
        by author: AuditAuthor
    ) async throws -> ImportService {
        if !isDryRun {
            let change = AuditedChange(by: author, "app.import", application, ["from": source])
            try await store.audited(change) {}
        }
        return try await importService(of: application, to: platforms, isDryRun: isDryRun)
    }

    private func importService(
        of application: Application, to platforms: [Platform], isDryRun: Bool
    ) async throws -> ImportService {
        guard isDryRun else { return ImportService(store: store, platforms: platforms) }
        return try await ImportService(dryRunOf: application, store: store, platforms: platforms)
    }

    /// Does as `beginImport`, and keeps progress and verdicts.
    ///
    /// - Parameter position: the number of rows that are skipped.
    package func recordImport(
        _ uuid: UUID, of application: Application, to platforms: [Platform], from source: ImportJob.Source,
        position: Int, by author: AuditAuthor
    ) async throws -> RecordedImport {
        let job = try await store.createImport(
            uuid, of: application.key, from: source, position: position, by: author.keyID)
        let service = try await beginImport(
            of: application, to: platforms, from: source.format.rawValue, isDryRun: source.isDryRun, by: author)
        return RecordedImport(job: job, service: service, store: store)
    }

    /// Resumes an import that has not ended; nil where it has. The request that brought its rows so far can bring no more. A
    /// line in the audit log is written when another caller resumes it, and not for each part of a list.
    ///
    /// - Parameter service: the one that has judged the rows of a dry run so far; nil before its first, and where rows are imported.
    package func resume(
        _ job: ImportJob, of application: Application, to platforms: [Platform], with service: ImportService? = nil,
        by author: AuditAuthor
    ) async throws -> RecordedImport? {
        if job.keyID != author.keyID, !job.source.isDryRun, !job.state.isEnded {
            let change = AuditedChange(by: author, "app.import", application, ["from": job.source.format.rawValue])
            try await store.audited(change) {}
        }
        guard let resumed = try await store.resumeImport(job.key, by: author.keyID) else { return nil }
        let fresh =
            if let service { service } else {
                try await importService(of: application, to: platforms, isDryRun: job.source.isDryRun)
            }
        return RecordedImport(job: resumed, service: fresh, store: store)
    }

    package var now: Instant { clock.now }

    /// Asks the provider what it would do with messages to these tokens; nil where it cannot be asked without sending one.
    package func validate(_ tokens: [DeviceToken], of platform: Platform) async throws -> [Outcome]? {
        try await credentials.validate(tokens, of: platform)
    }
}

/// An import whose progress is written down, so that another request can look at it and resume it.
package struct RecordedImport: Sendable {
    package private(set) var job: ImportJob
    package let service: ImportService
    let store: any Store

    /// The most rows that are in memory, and written together.
    package static let windowRows = 1_024

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
        let (id, words) = ((id ?? "").withoutFormula.csv, (outcome.reason ?? "").withoutFormula.csv)
        return "\(row),\(id),\(platform?.lowercased ?? ""),\(outcome.name),\(words)\n"
    }
}
