import Dispatch
import GRDB
import Glibc
import Logging

/// Checks periodically whether another process has written, and runs the maintenance.
final class SQLiteMaintenance: Sendable {
    // SAFETY: set once, and a dispatch source may be cancelled from anywhere.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer

    private static let interval = DispatchTimeInterval.milliseconds(80)
    private typealias Work = (name: StaticString, body: @Sendable (SQLiteWriteSession) throws -> Void)

    private static let works: [Work] = [
        ("merge", { try $0.mergeWhenQuiet() }),
        ("applications", { _ = try ApplicationDeletion(session: $0).resume() }),
        ("platforms", { $0.platformRest = try PlatformDeletion(session: $0).resume($0.platformRest) }),
        ("topics", { try TopicDeletion(session: $0).step() }),
        ("search", { try DeviceSearchIndex(session: $0).clearStep() }),
        ("content", { try $0.writeDownContentUse() }),
    ]

    init(writer: Writer, pool: DatabasePool, naming: DeviceNaming, logger: Logger) {
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "belfry.store.watch"))
        timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval, leeway: .milliseconds(10))
        timer.setEventHandler {
            // Any write first notices what others have written.
            writer.enqueue("housekeeping") { session in
                for work in Self.works { try work.body(session) }
            } orElse: {
                // One that fails stops no other: each has a transaction of its own.
                for work in Self.works { writer.enqueue(work.name, work.body) }
            }
            do {
                guard let segment = try pool.read({ try $0.prepareSegment(SearchIndexSizes(), naming: naming) }) else {
                    return
                }
                writer.enqueue("search index") { try DeviceSearchIndex(session: $0).take(segment) }
            } catch {
                logger.debug("housekeeping put off", metadata: ["work": "search index", "error": "\(error)"])
            }
        }
        timer.resume()
        self.timer = timer
    }

    deinit { stop() }

    func stop() { timer.cancel() }
}

extension SQLiteWriteSession {
    /// Merges what new devices left, when none arrived since the last round.
    fileprivate func mergeWhenQuiet() throws {
        let last = try prepared(SQLiteSubscriptionStatements.lastDevice).first { $0.integer(0) } ?? 0
        defer { lastDeviceSeen = last }
        guard last == lastDeviceSeen else { return }
        try SQLiteSubscriptionMerge(session: self).stepIfBehind(last)
        try TokenIndex(session: self).step()
    }
}
