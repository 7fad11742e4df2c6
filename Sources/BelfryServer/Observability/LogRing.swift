package import BelfryService
import Foundation
import FoundationEssentials
package import Logging
import Synchronization

/// Keeps the last lines of the log in memory, for the dashboard.
///
/// Bounded in lines and in the length of each, so it never takes more than some megabytes.
package final class LogRing: Sendable {
    /// The ring of this process, as there is one log.
    package static let shared = LogRing()

    package static let linesMax = 2_000
    /// The most characters of a message, and of each detail.
    static let charactersMax = 500
    static let detailsMax = 12

    private struct State {
        var lines: [LogLine] = []
        /// The place of the oldest line, once there are as many as may be.
        var start = 0
        var last: Int64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// The oldest first.
    package var lines: [LogLine] {
        state.withLock { state in Array(state.lines[state.start...] + state.lines[..<state.start]) }
    }

    package func keep(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata, at now: Instant) {
        let shown = metadata.sorted { $0.key < $1.key }.prefix(Self.detailsMax)
        let details = Dictionary(
            uniqueKeysWithValues: shown.map { (Self.cut($0.key), Self.cut($0.value.description)) })
        let level = LogLine.Level(rawValue: level.rawValue) ?? .info
        state.withLock { state in
            state.last += 1
            let line = LogLine(
                number: state.last, at: now, level: level, message: Self.cut(message), details: details)
            guard state.lines.count == Self.linesMax else { return state.lines.append(line) }
            state.lines[state.start] = line
            state.start = (state.start + 1) % Self.linesMax
        }
    }

    private static func cut(_ text: String) -> String {
        text.count > charactersMax ? String(text.prefix(charactersMax)) + "…" : text
    }
}

/// Keeps each entry in a ring, beside writing it.
struct KeepingLogHandler: WrappingLogHandler {
    var base: any LogHandler
    let ring: LogRing

    func log(event: LogEvent) {
        let metadata = base.metadata.merging(event.metadata ?? [:], uniquingKeysWith: { _, new in new })
        ring.keep(
            event.level, event.message.description, metadata,
            at: Instant(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1_000)))
        base.log(event: event)
    }
}

/// Reports this process's settings, storage and log to operators.
struct RunningServer: ServerInspector {
    let settings: [SettingReport]
    let storage: StorageConfiguration
    let store: any Store
    let log: LogRing

    var logLines: [LogLine] { log.lines }

    func database() async throws -> DatabaseReport {
        let isPostgres = storage.databaseURL != nil
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: storage.directory)
        return DatabaseReport(
            engine: isPostgres ? .postgres : .sqlite, size: try await store.databaseSize(),
            file: isPostgres ? nil : storage.databaseFile, keyRingFile: storage.keyRingFile,
            freeBytes: (attributes?[.systemFreeSize] as? NSNumber)?.int64Value,
            lastBackup: BackupNoteFile(in: storage.directory).note)
    }
}

/// The note of the last backup, in the data directory.
struct BackupNoteFile {
    private let path: String

    init(in directory: String) { path = directory + "/last-backup" }

    /// nil where there is none that can be read.
    var note: BackupNote? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        let lines = text.split(separator: "\n", maxSplits: 1).map(String.init)
        guard lines.count == 2, let at = Instant(text: lines[0]) else { return nil }
        return BackupNote(at: at, folder: lines[1].trimmingCharacters(in: .newlines))
    }

    /// A backup is a backup without its note, so a failure is passed over.
    func write(_ note: BackupNote) { try? Data("\(note.at.text)\n\(note.folder)\n".utf8).replace(path) }
}
