import Dispatch
import Logging
import Synchronization

/// Folds warnings and errors that repeat: one line for each cause in ten seconds, which says how often it came since the last.
final class LogFolds: Sendable {
    /// The folds of this process, as there is one log.
    static let shared = LogFolds()

    static let window = Duration.seconds(10)
    /// The most causes that are kept apart; others are not folded.
    static let causesMax = 256

    private struct Fold {
        var since: ContinuousClock.Instant
        var repeated = 0
        let event: LogEvent
    }

    private let folds = Mutex<[String: Fold]>([:])
    /// The handler that writes folded events once their window is over; nil while none has been set to.
    private let teller = Mutex<(any LogHandler)?>(nil)

    /// Returns the events to write now: this one, with the number of repeats that it stands for, and the last of each other cause that
    /// has not come again for a window.
    func admit(_ event: LogEvent, _ metadata: Logger.Metadata, at now: ContinuousClock.Instant) -> [LogEvent] {
        let details = metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let cause = "\(event.level) \(event.message) \(details.joined(separator: " "))"
        return folds.withLock { folds in
            if folds[cause].map({ now - $0.since < Self.window }) ?? false {
                folds[cause]?.repeated += 1
                return []
            }
            let repeated = folds.removeValue(forKey: cause)?.repeated ?? 0
            let written = Self.end(of: &folds) { now - $0.since >= Self.window }
            if folds.count < Self.causesMax { folds[cause] = Fold(since: now, event: event) }
            return written + [event.repeated(repeated)]
        }
    }

    /// The last of each cause that came no more for a window, with the number of those that were not written.
    ///
    /// - Parameter now: nil where nothing comes any more.
    func ended(at now: ContinuousClock.Instant?) -> [LogEvent] {
        folds.withLock { folds in Self.end(of: &folds) { fold in now.map { $0 - fold.since >= Self.window } ?? true } }
    }

    /// Writes what is folded when its window is over, whether or not another warning comes.
    func tellLater(by handler: any LogHandler) {
        let isFirst = teller.withLock { teller in
            defer { teller = teller ?? handler }
            return teller == nil
        }
        guard isFirst else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(Self.window.components.seconds) + 1)) {
            self.tell(at: .now)
        }
    }

    /// - Parameter now: nil where nothing comes any more.
    func tell(at now: ContinuousClock.Instant? = nil) {
        let handler = teller.withLock { teller in
            defer { teller = nil }
            return teller
        }
        guard let handler else { return }
        for event in ended(at: now) { handler.log(event: event) }
        if folds.withLock({ $0.values.contains { $0.repeated > 0 } }) { tellLater(by: handler) }
    }

    private static func end(of folds: inout [String: Fold], where isOver: (Fold) -> Bool) -> [LogEvent] {
        let over = folds.filter { isOver($0.value) }
        for cause in over.keys { folds[cause] = nil }
        return over.values.filter { $0.repeated > 0 }.map { $0.event.repeated($0.repeated) }
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
        let admitted = folds.admit(event, metadata, at: .now)
        for event in admitted { base.log(event: event) }
        if admitted.isEmpty { folds.tellLater(by: base) }
    }
}
