package import Logging
import Synchronization

/// Collects what is logged, so that a test can say that nothing went wrong.
package final class CapturedLog: Sendable {
    private let lines = Mutex<[(level: Logger.Level, text: String)]>([])

    package init() {}

    package var logger: Logger {
        Logger(label: "test") { _ in Handler(log: self) }
    }

    package func lines(atLeast level: Logger.Level) -> [String] {
        lines.withLock { $0.filter { $0.level >= level }.map(\.text) }
    }

    private struct Handler: LogHandler {
        let log: CapturedLog
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .warning

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            let details = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            log.lines.withLock {
                $0.append((event.level, ([event.message.description] + details).joined(separator: " ")))
            }
        }
    }
}
