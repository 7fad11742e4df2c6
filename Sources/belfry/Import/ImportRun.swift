import ArgumentParser
import BelfryService
import FoundationEssentials

/// Does the rows of a list: while some are written, the next are read.
struct ImportRun {
    let target: any ImportTarget
    let journal: ImportJournal
    /// Some of the devices, for their provider to look at; nil where it is not asked.
    var sample: ImportSample?
    private let line = ProgressLine()

    /// Takes rows, and how much of the list was read.
    typealias Offer = ([ImportReader.Row], Double?) async throws -> Void

    init(target: any ImportTarget, journal: ImportJournal, sample: ImportSample?) {
        self.target = target
        self.journal = journal
        self.sample = sample
    }

    /// - Parameter read: offers all rows, in order.
    mutating func all(_ read: (Offer) async throws -> Void) async throws -> ImportTally {
        var waiting = ImportWindow(rowsMax: target.windowRows)
        try await withThrowingTaskGroup(of: [ImportService.Verdict].self) { group in
            var isWriting = false
            func write(_ rows: [ImportReader.Row], _ share: Double?) async throws {
                if isWriting, let done = try await group.next() { try note(done, share) }
                isWriting = true
                group.addTask { [target] in try await target.run(rows) }
            }
            try await read { rows, share in
                sample?.take(rows)
                for row in rows {
                    if let full = waiting.add(row) { try await write(full, share) }
                }
            }
            try await write(waiting.rest(), 1)
            for try await done in group { try note(done, 1) }
        }
        try await target.end()
        line.end()
        try await sample?.ask()
        let tally = journal.state.tally
        try journal.close()
        return tally
    }

    private func note(_ done: [ImportService.Verdict], _ share: Double?) throws {
        try journal.note(done)
        let tally = journal.state.tally
        let percent = share.map { "\(Int($0 * 100)) %  " } ?? ""
        line.show(
            "\(ProgressBar.bar(share))\(percent)\(tally.rows.grouped) rows: \(tally.new.grouped) new, "
                + "\(tally.updated.grouped) updated, \(tally.duplicate.grouped) duplicate, \(tally.refused.grouped) refused"
        )
    }
}

/// The options of an import, common to all kinds of lists.
struct ImportRunOptions: ParsableArguments {
    @Flag(help: "Judge each row and write nothing.") var dryRun = false
    @Flag(help: "Ask FCM about a hundred of the tokens, by messages that it only checks.") var validate = false
    @Option(
        help: ArgumentHelp(
            "Where the verdict on each row goes, and, with .state behind it, how far the import has come. [default: beside the list]",
            valueName: "file.csv"))
    var verdicts: String?

    /// A dry run has written nothing that it could go on from: its rows are judged by those above them.
    func journal(of name: String, for job: String) throws -> ImportJournal {
        try ImportJournal(
            at: verdicts ?? name + (dryRun ? ".dry-run.csv" : ".verdicts.csv"),
            job: dryRun ? "dry run of \(job)" : job, resumes: !dryRun)
    }

    func sample(of service: OperatorService, _ platforms: [Platform]) -> ImportSample? {
        validate ? ImportSample(service: service, platforms: platforms) : nil
    }

    /// - Parameter others: what was brought over besides devices, or was left where it is.
    func report(
        _ tally: ImportTally, verdicts: String, sample: ImportSample?, others: [(String, String)] = [], json: Bool
    ) throws {
        let result = ImportReport(
            rows: tally.rows, new: tally.new, updated: tally.updated, duplicate: tally.duplicate,
            refused: tally.refused, dry_run: dryRun, verdicts: verdicts, validated: sample?.counts,
            others: others.isEmpty ? nil : others.map { "\($0.0): \($0.1)" })
        if json { return try Output.json(result) }
        var fields = [("rows", tally.rows.grouped)]
        fields +=
            dryRun
            ? [("valid", tally.new.grouped)]
            : [
                ("new", tally.new.grouped), ("updated", tally.updated.grouped),
                ("duplicate", tally.duplicate.grouped),
            ]
        fields += [("refused", tally.refused.grouped), ("verdicts", verdicts)]
        for (outcome, count) in (sample?.counts ?? [:]).sorted(by: { $0.key < $1.key }) {
            fields.append(("validated: \(outcome)", count.grouped))
        }
        Output.fields(fields + others)
    }
}

/// The result of an import as JSON for scripts; in a dry run, the result that it would have.
private struct ImportReport: Encodable {
    let rows: Int
    let new: Int
    let updated: Int
    let duplicate: Int
    let refused: Int
    let dry_run: Bool
    let verdicts: String
    let validated: [String: Int]?
    let others: [String]?
}
