import Logging
import Synchronization

/// Reports unreadable rows, each once: a list leaves such a row out, and is requested often.
package final class DamagedRows: Sendable {
    private let reported = Mutex<Set<String>>([])
    private let report: @Sendable (_ row: String, _ fault: String) -> Void

    /// The number of rows remembered; beyond it all are forgotten, and reported once more.
    package static let countMax = 1_000

    package init(report: @escaping @Sendable (_ row: String, _ fault: String) -> Void) { self.report = report }

    /// - Parameter row: its kind and number, such as `geofence 17`.
    package func note(_ row: String, _ error: any Error) {
        let isNew = reported.withLock { rows in
            if rows.count >= Self.countMax { rows.removeAll() }
            return rows.insert(row).inserted
        }
        guard isNew else { return }
        if case .damaged(_, let fault)? = error as? StoreError { return report(row, fault) }
        report(row, "\(error)")
    }

    /// Reads a page of a list, and reads on where unreadable rows leave it short, since a page shorter than requested
    /// means the end of the list.
    ///
    /// - Parameter rows: the next rows after a position, up to a limit; a value is nil where it cannot be read.
    package static func slice<Position, Value>(
        of limit: Int, after start: Position, _ rows: (Position, Int) throws -> [(position: Position, value: Value?)]
    ) rethrows -> [Value] {
        var found: [Value] = []
        var position = start
        while found.count < limit {
            let wanted = limit - found.count
            let next = try rows(position, wanted)
            found += next.compactMap(\.value)
            guard next.count == wanted, let last = next.last else { break }
            position = last.position
        }
        return found
    }
}

/// Logs housekeeping that was put off: as an error, once a minute, where it goes on failing.
final class PutOffs: Sendable {
    private let logger: Logger
    /// When each work that fails began to, or was last logged as an error.
    private let since = Mutex<[String: ContinuousClock.Instant]>([:])

    private static let interval = Duration.seconds(60)

    init(_ logger: Logger) { self.logger = logger }

    func note(_ result: Result<Void, any Error>, of work: String, at now: ContinuousClock.Instant = .now) {
        guard case .failure(let error) = result else { return since.withLock { $0[work] = nil } }
        let isLasting = since.withLock { since in
            let begun = since[work] ?? now
            let isLasting = now >= begun + Self.interval
            since[work] = isLasting ? now : begun
            return isLasting
        }
        logger.log(
            level: isLasting ? .error : .debug, "housekeeping put off",
            metadata: ["work": "\(work)", "error": "\(error)"])
    }
}
