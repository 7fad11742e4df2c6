import FoundationEssentials

extension Admin {
    /// An import: how far it has come, and the verdicts on its rows.
    package struct ImportReply: Codable, Sendable {
        package let import_id: String
        package let format: String
        @OrNull package var map: String?
        @OrNull package var platform_uuid: String?
        package let dry_run: Bool
        /// The key of the last request that brought rows, or a person's e-mail address.
        @OrNull package var key_id: String?
        package let state: String
        /// The reason why the rest of the list cannot be read.
        @OrNull package var reason: String?
        /// The last row that is done.
        package let last_row: Int
        package let rows: Int
        package let new: Int
        package let updated: Int
        package let duplicate: Int
        package let refused: Int
        /// The rows whose verdicts are kept.
        package let verdict_rows: Int
        package let created_at: String
        package let updated_at: String
        @OrNull package var ended_at: String?
        /// The first of the rows of this request that were refused; nil where none was brought.
        package var refusals: [Refusal]?
        /// Verdicts on the first `verdictsMax` rows of this request, where the caller asked for them.
        package var verdicts: [Verdict]?
        /// The columns of a CSV that nothing reads, and those of which only the first is read.
        package var unread_columns: [String]?
        package var repeated_columns: [String]?

        package struct Refusal: Codable, Sendable {
            package let row: Int
            @OrNull package var id: String?
            package let reason: String
        }

        package struct Verdict: Codable, Sendable {
            package let row: Int
            @OrNull package var id: String?
            @OrNull package var platform_uuid: String?
            package let verdict: String
            @OrNull package var reason: String?

            init(_ verdict: ImportService.Verdict) {
                row = verdict.row
                _id = OrNull(wrappedValue: verdict.id)
                _platform_uuid = OrNull(wrappedValue: verdict.platform?.lowercased)
                self.verdict = verdict.outcome.name
                _reason = OrNull(wrappedValue: verdict.outcome.reason)
            }
        }

        static let refusalsMax = 1_000
        /// A client that wants all sends no more rows at a time.
        package static let verdictsMax = 10_000

        init(_ job: ImportJob, at now: Instant) {
            import_id = job.uuid.lowercased
            format = job.source.format.rawValue
            _map = OrNull(wrappedValue: job.source.mapping)
            _platform_uuid = OrNull(wrappedValue: job.source.platform?.lowercased)
            dry_run = job.source.isDryRun
            _key_id = OrNull(wrappedValue: job.keyID)
            state = job.state(at: now).name
            _reason = OrNull(wrappedValue: job.reason.isEmpty ? nil : job.reason)
            last_row = job.position
            (rows, new, updated) = (job.tally.rows, job.tally.new, job.tally.updated)
            (duplicate, refused) = (job.tally.duplicate, job.tally.refused)
            verdict_rows = job.verdictRows
            (created_at, updated_at) = (job.createdAt.text, job.updatedAt.text)
            _ended_at = OrNull(wrappedValue: job.endedAt?.text)
        }

        init(_ job: ImportJob, at now: Instant, _ part: ImportPart, _ ignored: IgnoredColumns?) {
            self.init(job, at: now)
            unread_columns = ignored?.unread
            repeated_columns = ignored?.repeated
            refusals = part.refusals
            verdicts = part.keepsVerdicts ? part.verdicts : nil
        }
    }

    struct ImportsReply: Codable, Sendable {
        let imports: [ImportReply]
        @OrNull var next_cursor: String?
    }
}

extension ImportJob.State {
    package var name: String {
        switch self {
        case .running: "running"
        case .waiting: "waiting"
        case .completed: "completed"
        case .failed: "failed"
        }
    }
}
