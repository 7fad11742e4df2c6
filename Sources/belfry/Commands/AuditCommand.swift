import ArgumentParser
import BelfryService
import FoundationEssentials

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Show who changed what, newest first.",
        discussion: "Times are such as 2030-01-31T08:30:00Z. Each filter narrows what the others leave.")

    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var list: ListOptions
    @Option(help: "Changes of this application and what it has.", transform: UUID.parse) var app: UUID?
    @Option(help: "Changes by this admin key, by its id.") var key: String?
    @Option(help: "Changes of one kind, such as platform.create, or of all kinds of a thing, such as platform.")
    var action: String?
    @Option(help: "Changes from this time on.") var from: String?
    @Option(help: "Changes before this time.") var until: String?

    func run() async throws {
        let found = try await backend.withBackend { try await read($0) }
        if found.count > list.limit { Notice.cut(at: list.limit) }
        try output.show(
            Array(found.prefix(list.limit)), ["at", "action", "subject", "by", "address", "details"]
        ) { entry in
            let details = entry.details.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            return [
                entry.at, entry.action, entry.subject, entry.key_id ?? "-", entry.address ?? "-",
                details.joined(separator: " "),
            ]
        }
    }

    /// More than are printed, where there are more.
    private func read(_ backend: AdminBackend) async throws -> [Admin.AuditReply.Entry] {
        var found: [Admin.AuditReply.Entry] = []
        var cursor: String?
        repeat {
            let fields = [
                ("app_uuid", app?.lowercased), ("key_id", key), ("from", from), ("until", until), ("cursor", cursor),
                ("limit", "200"),
            ]
            let query = fields.compactMap { name, value in value.map { "\(name)=\($0.percentEncoded)" } }
            let page: Admin.AuditReply = try await backend.read("audit?\(query.joined(separator: "&"))")
            found += page.entries.filter { entry in action.map { entry.action.isOf(kind: $0) } ?? true }
            cursor = page.next_cursor
        } while cursor != nil && found.count <= list.limit
        return found
    }
}

extension String {
    fileprivate func isOf(kind: String) -> Bool { self == kind || hasPrefix("\(kind).") }
}
