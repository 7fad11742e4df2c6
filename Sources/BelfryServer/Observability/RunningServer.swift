import BelfryService
import Foundation

/// Reports this process's settings, storage and log to operators.
struct RunningServer: ServerInspector {
    let settings: [SettingReport]
    let storage: StorageConfiguration
    let store: any DatabaseStore
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
    func write(_ note: BackupNote) {
        try? Data("\(note.at.text)\n\(note.folder)\n".utf8).replace(path)
    }
}
