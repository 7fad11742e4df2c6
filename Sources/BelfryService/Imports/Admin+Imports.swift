import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

extension Admin {
    /// Imports: `/admin/v1/apps/:app_uuid/imports`. The body is the list of another service, read and written as it comes in, so it may
    /// be of any length. What came of its rows is written down, so that a request that ended early, for whatever reason, is
    /// followed by another that goes on where it stopped.
    struct Imports: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.post, "apps/:app_uuid/imports", .change, create).repeatable.streaming
                    .withParameters,
                factory.application(.get, "apps/:app_uuid/imports", .read, list),
                factory.application(.put, "apps/:app_uuid/imports/:import_id", .change, bring).streaming
                    .withParameters,
                factory.application(.get, "apps/:app_uuid/imports/:import_id", .read, show),
                factory.application(.get, "apps/:app_uuid/imports/:import_id/verdicts", .read, verdicts),
            ]
        }

        private static let parameters = ["format", "platform_uuid", "map", "dry_run", "verdicts"]

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            try call.request.demandPlainBody()
            let query = try Query(call, Self.parameters + ["skip"])
            let source = try source(query)
            let part = ImportPart(keepsVerdicts: try query.bool("verdicts"))
            let skipped = try number(query, "skip", from: 0) ?? 0
            let platforms = try await factory.platforms(query.text("platform_uuid"), of: application)
            try checkRoom(for: ShareHolder(call.key, application))
            let recorded = try await factory.admin.recordImport(
                .timeOrdered(), of: application, to: platforms, from: source, position: skipped, by: call.author)
            return try await read(call, part, of: application, into: recorded)
        }

        /// Begins an import under an id of the caller's, or goes on with it.
        private func bring(_ call: Call, _ application: Application) async throws -> Response {
            guard let uuid = call.uuid("import_id") else { throw APIError.missing("import") }
            try call.request.demandPlainBody()
            let query = try Query(call, Self.parameters + ["first_row", "more"])
            let source = try source(query)
            let part = ImportPart(
                firstRow: try number(query, "first_row", from: 1) ?? 1, isLast: try !query.bool("more"),
                keepsVerdicts: try query.bool("verdicts"))
            let platforms = try await factory.platforms(query.text("platform_uuid"), of: application)
            guard let job = try await factory.store.importJob(uuid, of: application.key) else {
                try checkRoom(for: ShareHolder(call.key, application))
                let recorded = try await factory.admin.recordImport(
                    uuid, of: application, to: platforms, from: source, position: part.firstRow - 1, by: call.author)
                return try await read(call, part, of: application, into: recorded)
            }
            try check(part, source, against: job)
            let recorded = try await factory.admin.resume(
                job, of: application, to: platforms, with: try trial(of: job), by: call.author)
            guard let recorded else { return try Response(ImportReply(job, at: factory.clock.now)) }
            return try await read(call, part, of: application, into: recorded)
        }

        /// Throws where the request does not match the import that it continues.
        private func check(_ part: ImportPart, _ source: ImportJob.Source, against job: ImportJob) throws(APIError) {
            guard source == job.source else {
                throw APIError(
                    .conflict, "This import has another format, map, platform_uuid or dry_run; give another id")
            }
            guard job.state.isEnded || part.firstRow <= job.position + 1 else {
                throw APIError(
                    .conflict,
                    "The body begins with row \(part.firstRow), the import has come to row \(job.position): "
                        + "first_row has to be \(job.position + 1) or less")
            }
        }

        /// The service that has judged the rows of a dry run so far; nil where no row is judged, or the import is a real one.
        private func trial(of job: ImportJob) throws(APIError) -> ImportService? {
            guard job.source.isDryRun, job.tally.rows > 0, !job.state.isEnded else { return nil }
            if let service = factory.importTrials.service(of: job.key) { return service }
            throw APIError(
                .conflict,
                "What the rows of this dry run would have changed is no longer known to this node; begin another")
        }

        /// Reads until the list ends, or the request has little time left.
        private func read(
            _ call: Call, _ begun: ImportPart, of application: Application, into recorded: RecordedImport
        ) async throws -> Response {
            var part = begun
            var intake = try ImportIntake(into: recorded, behind: part.firstRow - 1)
            if recorded.job.source.isDryRun {
                factory.importTrials.keep(recorded.service, of: recorded.job.key, for: application.tenantKey)
            }
            do {
                let holder = ShareHolder(call.key, application)
                let isWhole = try await read(call.request, &part, &intake, for: holder)
                try await intake.recorded.end(as: isWhole && part.isLast ? .completed : .waiting)
                if intake.recorded.job.state.isEnded { factory.importTrials.forget(recorded.job.key) }
                let reply = ImportReply(intake.recorded.job, at: factory.clock.now, part, intake.ignoredColumns)
                return try Response(status: isWhole ? .ok : .accepted, reply)
            } catch let error as InvalidInput {
                try await intake.recorded.end(as: .failed, reason: error.description)
                factory.importTrials.forget(recorded.job.key)
                throw error
            } catch {
                // Where this is not written down any more, the import waits once its lease is over.
                try? await intake.recorded.end(as: .waiting)
                throw error
            }
        }

        /// Returns false where the list may not have ended. A share is held while rows are written alone: a list that comes slowly
        /// holds none. Where there is none for the first rows the import is refused, later the answer says how far it has come.
        private func read(
            _ request: Request, _ part: inout ImportPart, _ intake: inout ImportIntake, for holder: ShareHolder
        ) async throws -> Bool {
            let deadline = ContinuousClock.now + factory.verdictDeadline
            func write(_ recorded: inout RecordedImport, _ rows: [ImportReader.Row]) async throws -> Bool {
                guard !rows.isEmpty else { return true }
                guard let lease = try lease(for: holder, isRefusing: !part.hasRows) else { return false }
                defer { lease.end() }
                part.note(try await recorded.run(rows))
                return true
            }
            var chunks = request.body.makeAsyncIterator()
            while true {
                let chunk: ByteBuffer?
                do { chunk = try await chunks.next() } catch { throw BodyUnreadable(cause: error) }
                guard let chunk else { break }
                let goesOn = try await intake.take(chunk.readableBytesView) {
                    try await write(&$0, $1) && ContinuousClock.now < deadline
                }
                guard goesOn else { return false }
            }
            return try await intake.finish(write)
        }

        /// Throws where no share is left: an import that cannot begin leaves no record.
        private func checkRoom(for holder: ShareHolder) throws(APIError) {
            try factory.shares.take(.batches, for: holder).end()
        }

        /// - Parameter isRefusing: whether it throws where no share is left; else it returns nil.
        private func lease(for holder: ShareHolder, isRefusing: Bool) throws(APIError) -> ShareLease? {
            do throws(APIError) {
                return try factory.shares.take(.batches, for: holder)
            } catch {
                if isRefusing { throw error }
                return nil
            }
        }

        // MARK: Looking at imports

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let query = try Query(call, Query.paging)
            let limit = try query.limit()
            let found = try await factory.store.importJobs(
                of: application.key, after: try query.cursor().map { Key($0[0]) }, limit: limit)
            return try Response(
                ImportsReply(
                    imports: found.map { ImportReply($0, at: factory.clock.now) },
                    next_cursor: found.count == limit ? found.last.map { Cursor($0.key.rawValue).text } : nil))
        }

        private func show(_ call: Call, _ application: Application) async throws -> Response {
            try Response(ImportReply(try await found(call, application), at: factory.clock.now))
        }

        /// The verdicts that are there by now, written while they are read.
        private func verdicts(_ call: Call, _ application: Application) async throws -> Response {
            let job = try await found(call, application)
            return try await factory.shares.streaming(.exports, for: ShareHolder(call.key, application)) {
                Response.verdicts(of: job.key, in: factory.store)
            }
        }

        private func found(_ call: Call, _ application: Application) async throws -> ImportJob {
            let uuid = try call.uuid("import_id").orMissing("import")
            return try await factory.store.importJob(uuid, of: application.key).orMissing("import")
        }

        // MARK: Parameters

        private func source(_ query: Query) throws(InvalidInput) -> ImportJob.Source {
            guard let name = query.text("format") else { throw InvalidInput.missing("format") }
            let format = try ImportFormat(name, field: "format")
            if let text = query.text("map") {
                guard format.isMapped else { throw InvalidInput(field: "map", "is for the formats csv and jsonl") }
                _ = try ImportMapping(text)
            }
            return ImportJob.Source(
                format: format, mapping: query.text("map"),
                platform: query.text("platform_uuid").flatMap { UUID(text: $0) },
                isDryRun: try query.bool("dry_run"))
        }

        private func number(_ query: Query, _ name: String, from least: Int) throws(InvalidInput) -> Int? {
            guard let text = query.text(name) else { return nil }
            guard let number = Int(text), (least...Self.rowMax).contains(number) else {
                throw InvalidInput(field: name, "is '\(text)', it has to be \(least) to \(Self.rowMax)")
            }
            return number
        }

        /// The highest row number: more than any list has, and few enough to count on from.
        private static let rowMax = 1_000_000_000_000
    }

    /// The part of an import's list that one request brings, with its results.
    struct ImportPart: Sendable {
        /// The row of the list that the body begins with, from 1.
        var firstRow = 1
        /// Whether the list ends with the body.
        var isLast = true
        let keepsVerdicts: Bool
        private(set) var refusals: [ImportReply.Refusal] = []
        private(set) var verdicts: [ImportReply.Verdict] = []

        /// Whether rows were done.
        private(set) var hasRows = false

        mutating func note(_ new: [ImportService.Verdict]) {
            hasRows = true
            if keepsVerdicts {
                verdicts += new.prefix(ImportReply.verdictsMax - verdicts.count).map(ImportReply.Verdict.init)
            }
            for verdict in new {
                guard case .refused(let reason) = verdict.outcome, refusals.count < ImportReply.refusalsMax else {
                    continue
                }
                refusals.append(ImportReply.Refusal(row: verdict.row, id: verdict.id, reason: reason))
            }
        }
    }
}

/// Keeps what the rows of dry runs would have changed, so that later requests continue them. Keeps few, since each takes a file and the
/// memory to read it.
final class ImportTrials: Sendable {
    private struct Trial {
        let job: Key<ImportJob>
        let tenant: Key<Tenant>
        let service: ImportService
    }

    private let kept = Mutex<[Trial]>([])

    /// One more replaces the oldest of the same tenant, or the oldest of all where the tenant has none.
    static let countMax = 8

    func service(of job: Key<ImportJob>) -> ImportService? {
        kept.withLock { kept in kept.first { $0.job == job }?.service }
    }

    func keep(_ service: ImportService, of job: Key<ImportJob>, for tenant: Key<Tenant>) {
        kept.withLock { kept in
            kept.removeAll { $0.job == job }
            if kept.count >= Self.countMax { kept.remove(at: kept.firstIndex { $0.tenant == tenant } ?? 0) }
            kept.append(Trial(job: job, tenant: tenant, service: service))
        }
    }

    func forget(_ job: Key<ImportJob>) { kept.withLock { kept in kept.removeAll { $0.job == job } } }
}
