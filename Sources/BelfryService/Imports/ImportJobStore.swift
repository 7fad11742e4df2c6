package import FoundationEssentials

/// Imports of the admin API.
package protocol ImportJobStore: Sendable {
    /// Begins an import. Throws `StoreError.taken` where there is one of that UUID, perhaps another application's, and
    /// `ImportJob.tooMany` where the application has that many.
    ///
    /// - Parameter position: the number of rows that are skipped.
    func createImport(
        _ uuid: UUID, of application: Key<Application>, from source: ImportJob.Source, position: Int, by keyID: String?
    ) async throws -> ImportJob
    func importJob(_ uuid: UUID, of application: Key<Application>) async throws -> ImportJob?
    /// The newest first, behind one of them.
    func importJobs(
        of application: Key<Application>, after: Key<ImportJob>?, limit: Int
    ) async throws -> [ImportJob]
    /// Begins another attempt at an import that has not ended; nil where it has.
    func resumeImport(_ job: Key<ImportJob>, by keyID: String?) async throws -> ImportJob?
    /// Writes down the verdicts on some rows. Returns the import as it is then; nil, and nothing is written, where another attempt
    /// began or it has ended.
    ///
    /// - Parameter verdictBytesMax: of all imports of the application. Verdicts beyond are only counted.
    func note(_ step: ImportStep, of job: ImportJob, atMost verdictBytesMax: Int) async throws -> ImportJob?
    /// Ends an attempt, and with it the import unless it waits for another. Does nothing where another attempt began.
    func end(_ job: ImportJob, as state: ImportJob.State, reason: String) async throws -> ImportJob?
    /// The verdicts on rows behind one, in the order of the rows.
    func importVerdicts(
        of job: Key<ImportJob>, after position: Int, limit: Int
    ) async throws -> [ImportVerdictLines]
}

extension ImportJobStore {
    /// Writes down a step, with verdicts up to `ImportJob.verdictBytesMax`.
    package func note(_ step: ImportStep, of job: ImportJob) async throws -> ImportJob? {
        try await note(step, of: job, atMost: ImportJob.verdictBytesMax)
    }
}
