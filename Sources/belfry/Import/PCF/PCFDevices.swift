import BelfryService
import Foundation

/// Brings the registrations of an old server over, platform by platform, some pages at a time.
struct PCFDevices {
    let server: PCFServer
    let caller: PCFServer.Caller
    let secrets: [UUID: String]
    let service: ImportService
    let journal: ImportJournal
    var sample: ImportSample?
    private let line = ProgressLine()

    /// The most that one page of the old server has. Source: PCF Push API, "List registrations".
    private static let pageSize = 50
    /// Pages read together, and then written together.
    private static let pagesAtOnce = 16
    /// The place of a platform whose last page was read.
    private static let done = -1
    /// Questions that an old server is asked at a time.
    private static let questionsAtOnce = 32

    init(
        server: PCFServer, caller: PCFServer.Caller, secrets: [UUID: String], service: ImportService,
        journal: ImportJournal, sample: ImportSample?
    ) {
        self.server = server
        self.caller = caller
        self.secrets = secrets
        self.service = service
        self.journal = journal
        self.sample = sample
    }

    mutating func take(of platforms: [Platform]) async throws {
        for platform in platforms { try await take(of: platform) }
        line.end()
        try await sample?.ask()
    }

    private mutating func take(of platform: Platform) async throws {
        let part = platform.uuid.lowercased
        var page = journal.state.places[part] ?? 0
        guard page != Self.done else { return }
        while true {
            let pages = Array(page + 1...page + Self.pagesAtOnce)
            let listed = try await concurrently(pages) { [server, caller] page in
                try await server.registrations(of: platform.uuid, page: page, size: Self.pageSize, as: caller)
            }
            let found = listed.flatMap(\.self)
            let told = try await details(found, of: platform)
            let first = journal.state.rows
            let rows = told.enumerated().map { index, outcome in
                ImportReader.Row(number: first + index + 1, outcome: outcome)
            }
            sample?.take(rows)
            let verdicts = try await service.run(rows)
            let full = listed.prefix { $0.count == Self.pageSize }.count
            page += full
            try journal.note(verdicts, at: (part, full == Self.pagesAtOnce ? page : Self.done))
            show(platform)
            guard full == Self.pagesAtOnce else { return }
        }
    }

    /// Reads each device's details, its tags too, with the platform's secret; without the secret the list has to do.
    private func details(
        _ listed: [[UInt8]], of platform: Platform
    ) async throws -> [Result<ImportRow, InvalidInput>] {
        let kind = platform.kind
        guard let secret = secrets[platform.uuid] else { return listed.map { ImportReader.pcfRow($0, kind: kind) } }
        let asPlatform = PCFServer.Caller(uuid: platform.uuid, secret: secret)
        return try await concurrently(listed) { [server] bytes in
            let row = ImportReader.pcfRow(bytes, kind: kind)
            guard let id = try? row.get().uuid else { return row }
            let path = "/v1/registration/\(id.lowercased)"
            guard let data = try await server.get(path, as: asPlatform) else { return row }
            return ImportReader.pcfRow(Array(data), kind: kind)
        }
    }

    /// Runs the work for each item, some at a time, and returns the results in the order of the items.
    private func concurrently<Item: Sendable, Value: Sendable>(
        _ items: [Item], _ work: @escaping @Sendable (Item) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: (Int, Value).self) { group in
            var results: [Int: Value] = [:]
            for (index, item) in items.enumerated() {
                if index >= Self.questionsAtOnce, let (place, value) = try await group.next() { results[place] = value }
                group.addTask { (index, try await work(item)) }
            }
            for try await (place, value) in group { results[place] = value }
            return items.indices.compactMap { results[$0] }
        }
    }

    private func show(_ platform: Platform) {
        let tally = journal.state.tally
        line.show(
            "\(platform.name): \(tally.rows.grouped) devices so far, \(tally.new.grouped) new, "
                + "\(tally.refused.grouped) refused")
    }
}
