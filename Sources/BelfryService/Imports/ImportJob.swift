package import FoundationEssentials

/// An import whose progress and verdicts outlive the request that brings its list, so that another request can go on with it.
package struct ImportJob: Sendable, Hashable {
    package let key: Key<ImportJob>
    package let uuid: UUID
    package let applicationKey: Key<Application>
    package let source: Source
    /// The key of the last request that brought rows, or the e-mail address of a person; nil for a command on the server's machine.
    package var keyID: String?
    package var state = State.running
    /// The reason why the rest of the list could not be read; empty unless it failed.
    package var reason = ""
    /// The last row that is done. A resumed import skips the rows up to it.
    package var position = 0
    package var tally = ImportTally()
    /// The rows whose verdicts are kept.
    package var verdictRows = 0
    /// Raised by each request that brings rows: an earlier request can write nothing more.
    package var attempt = 1
    package let createdAt: Instant
    package var updatedAt: Instant
    package var endedAt: Instant?

    /// The settings of an import. An import is resumed with equal settings only.
    package struct Source: Sendable, Hashable {
        package let format: ImportFormat
        /// As the caller wrote it; nil for the standard names.
        package let mapping: String?
        /// The platform that all rows go to; nil deals them by their types.
        package let platform: UUID?
        package let isDryRun: Bool
    }

    package enum State: Int64, Sendable, Hashable, CaseIterable {
        /// A request brings rows.
        case running = 0
        /// Rows are missing, and no request brings them: the import waits for one.
        case waiting = 1
        case completed = 2
        /// The text behind the last row cannot be read.
        case failed = 3

        package var isEnded: Bool { self == .completed || self == .failed }
    }

    /// A request that was silent for this long is considered dead.
    package static let lease = Duration.seconds(60)
    /// The most imports that are kept of an application, since each step of one adds up the verdicts of all.
    package static let countMax = 1_000
    package static let tooMany = StoreError.conflict(
        "the application has \(countMax) imports, the limit; they are deleted when they are older than retention.imports.days"
    )
    /// The limit on all verdicts that are kept for one application. Verdicts beyond it are counted, and not kept row by row.
    package static let verdictBytesMax = 1 << 30

    /// The state as readers see it: an import whose request went silent waits for another request.
    package func state(at now: Instant) -> State {
        state == .running && updatedAt + Self.lease <= now ? .waiting : state
    }
}

/// Some rows of an import that are done.
package struct ImportStep: Sendable, Hashable {
    /// The last of them.
    package let position: Int
    package let tally: ImportTally
    /// Their verdicts, as lines of a CSV.
    package let lines: [UInt8]
}

/// Verdicts on some rows of an import.
package struct ImportVerdictLines: Sendable, Hashable {
    /// The last of the rows.
    package let position: Int
    package let lines: [UInt8]
}

extension Store {
    /// Writes down a step, with verdicts up to `ImportJob.verdictBytesMax`.
    package func note(_ step: ImportStep, of job: ImportJob) async throws -> ImportJob? {
        try await note(step, of: job, atMost: ImportJob.verdictBytesMax)
    }
}
