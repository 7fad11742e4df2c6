import BelfryService
package import Logging

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
        _ = LogQueue.standardError.write(notice("\(dropped) lines of the log were dropped: nobody read them") + "\n")
    }
}
