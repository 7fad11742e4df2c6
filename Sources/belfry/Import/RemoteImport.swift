import BelfryAPI
import BelfryCore
import FoundationEssentials

/// Sends rows to a server's admin API, whatever list they are from: as JSON lines, with the standard names of fields.
struct RemoteImport: ImportTarget {
    let client: AdminClient
    let application: UUID
    /// The platform that all rows go to; nil deals them by their types.
    let platform: UUID?
    let isDryRun: Bool

    var windowRows: Int { 5_000 }

    func run(_ rows: [ImportReader.Row]) async throws -> [ImportService.Verdict] {
        guard !rows.isEmpty else { return [] }
        var sent: [ImportReader.Row] = []
        var verdicts: [ImportService.Verdict] = []
        var body: [UInt8] = []
        for row in rows {
            switch row.outcome {
            case .success(let read):
                sent.append(row)
                body += read.line.encoded + [UInt8(ascii: "\n")]
            case .failure(let fault):
                verdicts.append(
                    ImportService.Verdict(row: row.number, id: nil, platform: nil, outcome: .refused("\(fault)")))
            }
        }
        if !sent.isEmpty { verdicts += try await post(body, of: sent) }
        return verdicts.sorted { $0.row < $1.row }
    }

    private func post(_ body: [UInt8], of rows: [ImportReader.Row]) async throws -> [ImportService.Verdict] {
        var path = "apps/\(application.lowercased)/imports?format=jsonl&verdicts=true&dry_run=\(isDryRun)"
        if let platform { path += "&platform_uuid=\(platform.lowercased)" }
        let reply: Admin.ImportReply = try await client.upload(path, body)
        guard let verdicts = reply.verdicts, verdicts.count == rows.count else {
            throw AdminFault("the server told \(reply.verdicts?.count ?? 0) verdicts on \(rows.count) rows")
        }
        return zip(rows, verdicts).map { row, verdict in
            ImportService.Verdict(
                row: row.number, id: verdict.id, platform: verdict.platform_uuid.flatMap { UUID(uuidString: $0) },
                outcome: ImportVerdict(verdict.verdict, reason: verdict.reason))
        }
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

extension ImportRow {
    /// The row as a JSON object with the names of `ImportMapping.standard`.
    fileprivate var line: JSONValue {
        let mapping = ImportMapping.standard
        var members: [String: JSONValue] = [
            mapping.column(.token): .string(token), mapping.column(.active): .bool(isActive),
        ]
        let texts: [(ImportMapping.Field, String?)] = [
            (.uuid, id), (.type, kinds.isEmpty ? nil : kinds.map(\.rawValue).joined(separator: "|")),
            (.mode, mode?.rawValue), (.user, customUserID), (.os, about.os), (.osVersion, about.osVersion),
            (.model, about.model), (.manufacturer, about.manufacturer), (.alias, about.alias),
            (.lastSeen, lastSeenAt?.text),
        ]
        for (field, text) in texts { if let text { members[mapping.column(field)] = .string(text) } }
        if !topics.isEmpty { members[mapping.column(.topics)] = .strings(topics) }
        return .object(members)
    }
}
