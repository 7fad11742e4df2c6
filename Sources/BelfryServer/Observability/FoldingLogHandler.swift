import Logging
import Synchronization

/// Folds warnings and errors that repeat: one line for each cause in ten seconds, which says how often it came since the last.
final class LogFolds: Sendable {
    /// That of this process, as there is one log.
    static let shared = LogFolds()

    static let window = Duration.seconds(10)
    /// So many causes are told apart; others are not folded.
    static let causesMax = 256

    private struct Fold {
        var since: ContinuousClock.Instant
        var repeated = 0
        let event: LogEvent
    }

    private let folds = Mutex<[String: Fold]>([:])

    /// What is to be written now: the event itself with the number of those that it stands for, and the last of other causes that came
    /// no more.
    func admit(_ event: LogEvent, _ metadata: Logger.Metadata, at now: ContinuousClock.Instant) -> [LogEvent] {
        let details = metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let cause = "\(event.level) \(event.message) \(details.joined(separator: " "))"
        return folds.withLock { folds in
            if folds[cause].map({ now - $0.since < Self.window }) ?? false {
                folds[cause]?.repeated += 1
                return []
            }
            var written: [LogEvent] = []
            let repeated = folds.removeValue(forKey: cause)?.repeated ?? 0
            for (other, fold) in folds where now - fold.since >= Self.window {
                folds[other] = nil
                if fold.repeated > 0 { written.append(fold.event.repeated(fold.repeated)) }
            }
            if folds.count < Self.causesMax { folds[cause] = Fold(since: now, event: event) }
            return written + [event.repeated(repeated)]
        }
    }
}

extension LogEvent {
    fileprivate func repeated(_ count: Int) -> LogEvent {
        guard count > 0 else { return self }
        var event = self
        event.metadata = (metadata ?? [:]).merging(["repeated": "\(count)"]) { _, new in new }
        return event
    }
}

struct FoldingLogHandler: WrappingLogHandler {
    var base: any LogHandler
    private let folds: LogFolds

    init(_ base: any LogHandler, in folds: LogFolds) {
        self.base = base
        self.folds = folds
    }

    func log(event: LogEvent) {
        guard event.level >= .warning else { return base.log(event: event) }
        let metadata = base.metadata.merging(event.metadata ?? [:], uniquingKeysWith: { _, new in new })
        for event in folds.admit(event, metadata, at: .now) { base.log(event: event) }
    }
}
