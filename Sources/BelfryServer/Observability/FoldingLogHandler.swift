import BelfryService
import Dispatch
import FoundationEssentials
package import Logging
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
    let folds: LogFolds

    func log(event: LogEvent) {
        guard event.level >= .warning else { return base.log(event: event) }
        let metadata = base.metadata.merging(event.metadata ?? [:], uniquingKeysWith: { _, new in new })
        let admitted = folds.admit(event, metadata, at: .now)
        for event in admitted { base.log(event: event) }
        if admitted.isEmpty { folds.tellLater(by: base) }
    }
}

/// A log handler that looks at entries on their way to another, which has the level and the metadata.
protocol WrappingLogHandler: LogHandler {
    var base: any LogHandler { get set }
}

extension WrappingLogHandler {
    var logLevel: Logger.Level {
        get { base.logLevel }
        set { base.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
        get { base.metadataProvider }
        set { base.metadataProvider = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue }
    }
}

/// Leaves out the lines that libraries log about their own cancellation: a server that cannot start logs that once, with its reason.
struct CancellationFilter: WrappingLogHandler {
    var base: any LogHandler

    func log(event: LogEvent) {
        guard !"\(event.message)".contains("CancellationError") else { return }
        base.log(event: event)
    }
}

/// Writes each log entry as one JSON object on a line of standard error.
package struct JSONLogHandler: LogHandler {
    package var logLevel: Logger.Level = .info
    package var metadata: Logger.Metadata = [:]
    private let label: String

    package init(label: String) { self.label = label }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let entry = metadata.merging(event.metadata ?? [:]) { _, new in new }.mapValues(\.description)
        guard let line = line(event.level, event.message.description, entry) else { return }
        LogLines.writeToStandardError(line + "\n") { self.line(.warning, $0) ?? "" }
    }

    private func line(_ level: Logger.Level, _ message: String, _ details: [String: String] = [:]) -> String? {
        let entry = details.merging([
            "time": Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
            "level": level.rawValue, "logger": label, "message": message,
        ]) { detail, _ in detail }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(entry) else { return nil }
        // The encoder leaves controls above U+007E as they are; its own escapes have none.
        return String(decoding: line, as: UTF8.self).withoutControls()
    }
}

extension StreamLogHandler {
    /// Writes each entry as one line of standard error, whatever texts it contains.
    package static func lines(label: String) -> StreamLogHandler {
        StreamLogHandler(label: label, stream: LogLines { LogLines.writeToStandardError($0) { "warning: \($0)" } })
    }
}

/// Writes log entries with nothing in them that could be taken for another line or that moves a terminal's cursor.
/// Texts of callers reach the log, such as the reason why a push was refused.
struct LogLines: TextOutputStream, Sendable {
    let output: @Sendable (String) -> Void

    func write(_ entry: String) {
        let text = entry.hasSuffix("\n") ? entry.dropLast() : entry[...]
        output(text.withoutControls() + "\n")
    }

    /// Writes a line. When standard error is not read, lines are dropped, which a later line reports.
    ///
    /// - Parameter notice: a line with these words.
    static func writeToStandardError(_ line: String, notice: (_ words: String) -> String) {
        let dropped = LogQueue.standardError.write(line)
        guard dropped > 0 else { return }
        _ = LogQueue.standardError.write(notice("\(dropped) log lines were dropped: their reader was too slow") + "\n")
    }
}
