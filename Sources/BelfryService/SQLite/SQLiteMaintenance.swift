import Dispatch
import GRDB
import Glibc
import Logging

/// Checks periodically whether another process has written, and runs the maintenance.
final class SQLiteMaintenance: Sendable {
    // SAFETY: set once, and a dispatch source may be cancelled from anywhere.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer

    private static let interval = DispatchTimeInterval.milliseconds(80)

    init(writer: Writer, pool: DatabasePool, naming: DeviceNaming, logger: Logger) {
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "belfry.store.watch"))
        timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval, leeway: .milliseconds(10))
        timer.setEventHandler {
            // Any write first notices what others have written.
            writer.enqueue("watch") { session in
                try session.mergeWhenQuiet()
                _ = try ApplicationDeletion(session: session).resume()
                session.platformRest = try PlatformDeletion(session: session).resume(session.platformRest)
                try TopicDeletion(session: session).step()
                try DeviceSearchIndex(session: session).clearStep()
                try session.writeDownContentUse()
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
