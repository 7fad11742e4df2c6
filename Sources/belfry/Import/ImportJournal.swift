import ArgumentParser
import BelfryServer
import BelfryService
import Foundation

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
        verdictsPath = path
        statePath = path + ".state"
        let kept = resumes ? FileManager.default.contents(atPath: statePath) : nil
        let known = kept.flatMap { try? JSONDecoder().decode(State.self, from: $0) }
        state = known.flatMap { $0.job == job ? $0 : nil } ?? State(job: job)
        if state.rows == 0 || !FileManager.default.fileExists(atPath: path) {
            state = State(job: job)
            guard FileManager.default.createFile(atPath: path, contents: Data(ImportService.Verdict.csvHead.utf8))
            else {
                throw ValidationError("\(path) cannot be written")
            }
            state.verdictBytes = UInt64(ImportService.Verdict.csvHead.utf8.count)
        }
        verdicts = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
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
        try verdicts.write(contentsOf: lines)
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
