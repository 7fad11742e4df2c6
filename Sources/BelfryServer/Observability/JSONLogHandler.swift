import BelfryService
import FoundationEssentials
package import Logging

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
        var entry: [String: String] = [:]
        for (key, value) in metadata.merging(event.metadata ?? [:], uniquingKeysWith: { _, new in new }) {
            entry[key] = value.description
        }
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
