import BelfryCore
import FoundationEssentials
import Hummingbird
import NIOCore

extension Admin {
    /// Imports: `/admin/v1/apps/:app_uuid/imports`. The body is the list of another service, read and written as it comes in, so it may
    /// be of any length that a request has time for; what was not done then is sent again with `skip`.
    struct Imports: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [factory.application(.post, "apps/:app_uuid/imports", .change, create).repeatable.streaming]
        }

        /// As many rows are in memory and written together.
        private static let windowRows = 512

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let query = try Query(call, ["format", "platform_uuid", "map", "skip", "dry_run", "verdicts"])
            guard let name = query.text("format") else { throw InvalidInput.missing("format") }
            let format = try ImportFormat(name, field: "format")
            let mapping = try mapping(query, format)
            let service = try await factory.admin.beginImport(
                of: application, to: try await factory.platforms(query.text("platform_uuid"), of: application),
                from: format.rawValue, isDryRun: try query.bool("dry_run"), by: call.author)
            var reader = ImportReader(format, mapping: mapping, skipping: try skip(query))
            let keepsVerdicts = try query.bool("verdicts")
            let reply = try await factory.shares.holding(.batches, for: ShareHolder(call.key, application)) {
                try await read(call.request, by: &reader, into: service, ImportReply(keepsVerdicts: keepsVerdicts))
            }
            return try Response(reply)
        }

        private func read(
            _ request: Request, by reader: inout ImportReader, into service: ImportService, _ empty: ImportReply
        ) async throws -> ImportReply {
            var (reply, waiting) = (empty, [ImportReader.Row]())
            var chunks = request.body.makeAsyncIterator()
            while true {
                let chunk: ByteBuffer?
                do { chunk = try await chunks.next() } catch { throw BodyUnreadable(cause: error) }
                guard let chunk else { break }
                waiting += try reader.read(chunk.readableBytesView)
                while waiting.count >= Self.windowRows {
                    reply.note(try await service.run(Array(waiting.prefix(Self.windowRows))))
                    waiting.removeFirst(Self.windowRows)
                }
            }
            waiting += try reader.finish()
            reply.note(try await service.run(waiting))
            return reply
        }

        private func mapping(_ query: Query, _ format: ImportFormat) throws(InvalidInput) -> ImportMapping {
            guard let text = query.text("map") else { return .standard }
            guard format.isMapped else { throw InvalidInput(field: "map", "is for the formats csv and jsonl") }
            return try ImportMapping(text)
        }

        private func skip(_ query: Query) throws(InvalidInput) -> Int {
            guard let text = query.text("skip") else { return 0 }
            guard let rows = Int(text), rows >= 0 else { throw InvalidInput(field: "skip", "has to be 0 or more") }
            return rows
        }
    }

    /// What came of an import.
    package struct ImportReply: Codable, Sendable {
        package private(set) var rows = 0
        package private(set) var new = 0
        package private(set) var updated = 0
        package private(set) var duplicate = 0
        package private(set) var refused = 0
        /// The first of the rows that were refused.
        package private(set) var refusals: [Refusal] = []
        /// What came of the first `verdictsMax` rows, where that was asked for.
        package private(set) var verdicts: [Verdict]?

        package struct Refusal: Codable, Sendable {
            package let row: Int
            @OrNull package var id: String?
            package let reason: String
        }

        /// What came of a row.
        package struct Verdict: Codable, Sendable {
            package let row: Int
            @OrNull package var id: String?
            @OrNull package var platform_uuid: String?
            package let verdict: String
            @OrNull package var reason: String?

            fileprivate init(_ verdict: ImportService.Verdict) {
                row = verdict.row
                _id = OrNull(wrappedValue: verdict.id)
                _platform_uuid = OrNull(wrappedValue: verdict.platform?.lowercased)
                self.verdict = verdict.outcome.name
                let words: String? = if case .refused(let words) = verdict.outcome { words } else { nil }
                _reason = OrNull(wrappedValue: words)
            }
        }

        static let refusalsMax = 1_000
        /// A client that wants all sends no more rows at a time.
        package static let verdictsMax = 10_000

        init(keepsVerdicts: Bool = false) { verdicts = keepsVerdicts ? [] : nil }

        mutating func note(_ verdicts: [ImportService.Verdict]) {
            if let kept = self.verdicts?.count {
                self.verdicts? += verdicts.prefix(Self.verdictsMax - kept).map(Verdict.init)
            }
            var tally = ImportTally()
            for verdict in verdicts {
                tally.note(verdict.outcome)
                guard case .refused(let reason) = verdict.outcome, refusals.count < Self.refusalsMax else { continue }
                refusals.append(Refusal(row: verdict.row, id: verdict.id, reason: reason))
            }
            rows += tally.rows
            new += tally.new
            updated += tally.updated
            duplicate += tally.duplicate
            refused += tally.refused
        }
    }
}
