import ArgumentParser
import BelfryServer
import BelfryService
import Foundation

/// Does the rows of a list: while some are written, the next are read.
struct ImportRun {
    let target: any ImportTarget
    let journal: ImportJournal
    /// Some of the devices, for their provider to look at; nil where it is not asked.
    var sample: ImportSample?
    private let line = ProgressLine()

    /// Takes rows, and how much of the list was read.
    typealias Offer = ([ImportReader.Row], Double?) async throws -> Void

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
            var fault: InvalidInput?
            do {
                try await read { rows, share in
                    sample?.take(rows)
                    for row in rows {
                        if let full = waiting.add(row) { try await write(full, share) }
                    }
                }
            } catch let error as InvalidInput {
                // The rows before it are imported.
                fault = error
            }
            try await write(waiting.rest(), 1)
            for try await done in group { try note(done, 1) }
            if let fault { throw fault }
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
    func journal(of name: String, for job: String, resumes: Bool = true) throws -> ImportJournal {
        try ImportJournal(
            at: verdicts ?? name + (dryRun ? ".dry-run.csv" : ".verdicts.csv"),
            job: dryRun ? "dry run of \(job)" : job, resumes: resumes && !dryRun)
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
        var fields = [
            ("rows", tally.rows.grouped), ("new", tally.new.grouped), ("updated", tally.updated.grouped),
            ("duplicate", tally.duplicate.grouped), ("refused", tally.refused.grouped), ("verdicts", verdicts),
        ]
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

/// The destination of the rows of a list: the database of this machine, or a server elsewhere.
protocol ImportTarget: Sendable {
    /// How many rows it takes at a time.
    var windowRows: Int { get }

    /// Does some rows, and returns what came of each, in order.
    func run(_ rows: [ImportReader.Row]) async throws -> [ImportService.Verdict]
    /// Ends the import when all rows are done.
    func end() async throws
}

extension ImportService: ImportTarget {
    /// They are written in steps of `DeviceImport.perWrite` that share transactions.
    var windowRows: Int { RecordedImport.windowRows }

    func end() {}
}

/// Some devices of a list whose provider is asked what it would do with a message to them.
struct ImportSample {
    private let service: OperatorService
    private let platforms: [Platform]
    private var tokens: [Key<Platform>: [DeviceToken]] = [:]
    /// How many tokens had which outcome.
    private(set) var counts: [String: Int] = [:]
    private var seen: [Key<Platform>: Int] = [:]
    private var generator = SystemRandomNumberGenerator()

    /// The most tokens of each platform.
    private static let tokensMax = 100

    init(service: OperatorService, platforms: [Platform]) {
        self.service = service
        self.platforms = platforms
    }

    /// Each row of the list is as likely to be in the sample as any other.
    mutating func take(_ rows: [ImportReader.Row]) {
        let dealt = ImportPlatforms(platforms)
        for row in rows {
            guard let read = try? row.outcome.get(), let platform = try? dealt.platform(for: read),
                let token = try? read.device(for: platform.kind).registration.token
            else { continue }
            seen[platform.key, default: 0] += 1
            var kept = tokens[platform.key] ?? []
            if kept.count < Self.tokensMax {
                kept.append(token)
            } else {
                let place = Int.random(in: 0..<(seen[platform.key] ?? 1), using: &generator)
                if place < Self.tokensMax { kept[place] = token }
            }
            tokens[platform.key] = kept
        }
    }

    mutating func ask() async throws {
        for platform in platforms {
            guard let tokens = tokens[platform.key],
                let outcomes = try await service.admin.validate(tokens, of: platform)
            else { continue }
            for outcome in outcomes { counts[outcome.name, default: 0] += 1 }
        }
    }
}

extension Outcome {
    fileprivate var name: String {
        switch self {
        case .accepted: "accepted"
        case .refused: "refused"
        case .gone: "gone"
        default: "not answered"
        }
    }
}

/// How far an import has come, and the verdict on each row, in two files that outlive a kill.
///
/// Rows are in the database before they stand here, so what is done again after a kill is a little, and does no harm.
final class ImportJournal {
    struct State: Codable {
        /// The list and the application that it goes to.
        let job: String
        /// Rows that are done.
        var rows = 0
        var tally = ImportTally()
        /// How far each part of the list has come, where it has parts.
        var places: [String: Int] = [:]
        /// The id of the import on a remote server.
        var importID: UUID?
        /// How long the file of verdicts is with those of all rows that are done.
        var verdictBytes: UInt64 = 0

        init(job: String) { self.job = job }
    }

    private(set) var state: State
    let verdictsPath: String
    private let statePath: String
    private let verdicts: FileHandle

    /// - Parameters:
    ///   - path: where the verdicts go.
    ///   - job: an import of another one begins anew.
    ///   - resumes: whether it goes on where an earlier one stopped.
    init(at path: String, job: String, resumes: Bool) throws {
        let file = NSString(string: path).expandingTildeInPath.resolvingLinks
        let kind = try? FileManager.default.attributesOfItem(atPath: file)[.type] as? FileAttributeType
        guard kind == nil || kind == .typeRegular else {
            throw ValidationError("\(path) is no file that verdicts can stand in: name one with --verdicts")
        }
        let head = Data(ImportService.Verdict.csvHead.utf8)
        if let start = try? FileHandle(forReadingAtPath: file)?.read(upToCount: head.count), !head.starts(with: start) {
            throw ValidationError("\(path) holds something else than verdicts: name another file with --verdicts")
        }
        guard kind != nil || FileManager.default.createFile(atPath: file, contents: nil),
            let verdicts = FileHandle(forWritingAtPath: file)
        else { throw ValidationError("\(path) cannot be written") }
        // The lock ends with the process. Where the file system knows none, there is none.
        guard flock(verdicts.fileDescriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
            throw ValidationError("\(path) is written by another import, which has to end first")
        }
        self.verdicts = verdicts
        verdictsPath = path
        statePath = file + ".state"
        let kept = resumes ? FileManager.default.contents(atPath: statePath) : nil
        let known = kept.flatMap { try? JSONDecoder().decode(State.self, from: $0) }
        state = known.flatMap { $0.job == job ? $0 : nil } ?? State(job: job)
        if state.rows == 0 || kind == nil {
            state = State(job: job)
            try verdicts.append(head, to: path)
            state.verdictBytes = UInt64(head.count)
        }
        try verdicts.truncate(atOffset: state.verdictBytes)
        try verdicts.seek(toOffset: state.verdictBytes)
    }

    /// Notes the id of the import on a remote server. Call it before the first row.
    func noteImport(_ id: UUID) { state.importID = id }

    /// Notes rows that are in the database.
    func note(_ done: [ImportService.Verdict], at place: (part: String, Int)? = nil) throws {
        guard let last = done.last else { return }
        if let place { state.places[place.part] = place.1 }
        var lines = Data()
        for verdict in done {
            state.tally.note(verdict.outcome)
            lines.append(contentsOf: verdict.csvLine.utf8)
        }
        try verdicts.append(lines, to: verdictsPath)
        state.verdictBytes += UInt64(lines.count)
        state.rows = last.row
        try JSONEncoder().encode(state).replace(statePath)
    }

    /// Closes the journal when all rows are done: the next import of the list starts from the beginning.
    func close() throws {
        try verdicts.close()
        // A list without rows has left none.
        if FileManager.default.fileExists(atPath: statePath) { try FileManager.default.removeItem(atPath: statePath) }
    }
}
