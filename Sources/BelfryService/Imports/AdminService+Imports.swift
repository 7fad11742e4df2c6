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
