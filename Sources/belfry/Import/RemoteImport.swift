import BelfryService
import FoundationEssentials

/// Sends rows to a server's admin API, whatever list they are from: as JSON lines, with the standard names of fields. They are one
/// import there, with the rows numbered as here.
struct RemoteImport: ImportTarget {
    let client: AdminClient
    let application: UUID
    /// The platform that all rows go to; nil deals them by their types.
    let platform: UUID?
    let isDryRun: Bool
    let id: UUID

    var windowRows: Int { 5_000 }

    func run(_ rows: [ImportReader.Row]) async throws -> [ImportService.Verdict] {
        var (verdicts, refusals) = ([ImportService.Verdict](), 0)
        // A server that has little time left, or whose other callers write a lot, does the first of the rows.
        while verdicts.count < rows.count {
            do {
                verdicts += try await bring(rows[verdicts.count...])
                refusals = 0
            } catch let fault as AdminFault where fault.status == 429 && refusals < Self.refusalsMax {
                refusals += 1
                try await Task.sleep(for: Self.pause)
            }
        }
        return verdicts
    }

    private static let refusalsMax = 60
    private static let pause = Duration.seconds(1)

    private func bring(_ rows: ArraySlice<ImportReader.Row>) async throws -> [ImportService.Verdict] {
        guard let first = rows.first else { return [] }
        var body: [UInt8] = []
        for row in rows {
            // A line that cannot be read stands for a row that could not: so that both count alike.
            if case .success(let read) = row.outcome {
                body += read.json.encoded
            } else {
                body.append(UInt8(ascii: "?"))
            }
            body.append(UInt8(ascii: "\n"))
        }
        let reply: Admin.ImportReply = try await client.upload(
            "PUT", path("&verdicts=true&more=true&first_row=\(first.number)"), body)
        guard reply.state != "failed", let verdicts = reply.verdicts, 1...rows.count ~= verdicts.count else {
            throw AdminFault(
                "the server sent \(reply.verdicts?.count ?? 0) verdicts on \(rows.count) rows"
                    + (reply.reason.map { ": \($0)" } ?? ""))
        }
        return zip(rows, verdicts).map { row, verdict in
            let outcome: ImportVerdict =
                if case .failure(let fault) = row.outcome { .refused("\(fault)") } else {
                    ImportVerdict(verdict.verdict, reason: verdict.reason.map(row.renamed))
                }
            return ImportService.Verdict(
                row: row.number, id: verdict.id, platform: verdict.platform_uuid.flatMap { UUID(uuidString: $0) },
                outcome: outcome)
        }
    }

    func end() async throws {
        // There is none yet where the list has no rows.
        let job: Admin.ImportReply? = try? await client.send(
            "GET", "apps/\(application.lowercased)/imports/\(id.lowercased)")
        let _: Admin.ImportReply = try await client.upload("PUT", path("&first_row=\((job?.last_row ?? 0) + 1)"), [])
    }

    private func path(_ more: String) -> String {
        let platform = platform.map { "&platform_uuid=\($0.lowercased)" } ?? ""
        return
            "apps/\(application.lowercased)/imports/\(id.lowercased)?format=jsonl&dry_run=\(isDryRun)\(platform)\(more)"
    }
}

extension RemoteImport {
    /// The id of the import on the server: that of the journal, or a new one where the server has rows that the journal does not know.
    /// A crash of this command may leave such rows.
    static func id(after journal: ImportJournal, _ client: AdminClient, _ application: UUID) async throws -> UUID {
        guard journal.state.rows > 0, let id = journal.state.importID,
            let job: Admin.ImportReply = try? await client.send(
                "GET", "apps/\(application.lowercased)/imports/\(id.lowercased)"),
            job.last_row == journal.state.rows, job.ended_at == nil
        else { return .timeOrdered() }
        return id
    }
}

extension ImportReader.Row {
    /// A reason that begins with a standard name, with the list's own name of that column.
    fileprivate func renamed(_ reason: String) -> String {
        let name = String(reason.prefix { $0 != " " })
        let field = name == ImportMapping.standard.column(.topics) ? "topics" : name
        return (columns[field] ?? name) + reason.dropFirst(name.count)
    }
}

extension ImportVerdict {
    fileprivate init(_ name: String, reason: String?) {
        self =
            switch name {
            case "new": .new
            case "updated": .updated
            case "duplicate": .duplicate
            default: .refused(reason ?? name)
            }
    }
}
