/// A setting of the running server, as its operators see it.
package struct SettingReport: Sendable, Hashable {
    package let key: String
    /// nil where it is not set and has no default, and for secrets.
    package let value: String?
    package let source: Source
    /// A secret's value is never shown.
    package let isSecret: Bool

    /// The source of a value: the first of these that has one.
    package enum Source: String, Sendable, Hashable, CaseIterable {
        case flag, environment, file
        case oldName = "old name"
        case `default`
    }

    package init(key: String, value: String?, source: Source, isSecret: Bool = false) {
        self.key = key
        self.value = isSecret ? nil : value
        self.source = source
        self.isSecret = isSecret
    }
}

/// The size of a database and the version of its engine.
package struct DatabaseSize: Sendable, Hashable {
    package let bytes: Int64
    /// The version of SQLite or PostgreSQL.
    package let engineVersion: String

    package init(bytes: Int64, engineVersion: String) {
        self.bytes = bytes
        self.engineVersion = engineVersion
    }
}

/// A backup that was made on this machine.
package struct BackupNote: Sendable, Hashable {
    package let at: Instant
    package let folder: String

    package init(at: Instant, folder: String) {
        self.at = at
        self.folder = folder
    }
}

/// The database of the running server, as its operators see it.
package struct DatabaseReport: Sendable, Hashable {
    package enum Engine: String, Sendable, Hashable { case sqlite = "SQLite", postgres = "PostgreSQL" }

    package let engine: Engine
    package let size: DatabaseSize
    /// The path of the file; nil for PostgreSQL.
    package let file: String?
    /// The path of the keys that seal secrets.
    package let keyRingFile: String
    /// Free bytes in the data directory; nil if unknown.
    package let freeBytes: Int64?
    /// nil where none was made on this machine.
    package let lastBackup: BackupNote?

    package init(
        engine: Engine, size: DatabaseSize, file: String?, keyRingFile: String, freeBytes: Int64?,
        lastBackup: BackupNote?
    ) {
        self.engine = engine
        self.size = size
        self.file = file
        self.keyRingFile = keyRingFile
        self.freeBytes = freeBytes
        self.lastBackup = lastBackup
    }
}

package struct LogLine: Sendable, Hashable {
    package enum Level: String, Sendable, Hashable, CaseIterable, Comparable {
        case trace, debug, info, notice, warning, error, critical

        package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// Ascending.
    package let number: Int64
    package let at: Instant
    package let level: Level
    package let message: String
    /// By name.
    package let details: [String: String]

    package init(number: Int64, at: Instant, level: Level, message: String, details: [String: String]) {
        self.number = number
        self.at = at
        self.level = level
        self.message = message
        self.details = details
    }

    /// Whether its message, or the name or value of a detail, contains the text; case does not matter.
    package func contains(_ text: String) -> Bool {
        let text = text.lowercased()
        return message.lowercased().contains(text)
            || details.contains { "\($0.key)=\($0.value)".lowercased().contains(text) }
    }
}

/// Reports on a running server to its operators.
package protocol ServerInspector: Sendable {
    /// In the order of their keys.
    var settings: [SettingReport] { get }
    /// The last lines of this process's log, the oldest first: as many as its memory keeps.
    var logLines: [LogLine] { get }
    func database() async throws -> DatabaseReport
}
