import Hummingbird

extension Admin {
    struct SettingsReply: Codable, Sendable {
        let settings: [Setting]

        struct Setting: Codable, Sendable {
            let key: String
            /// nil for secrets, and where there is none.
            @OrNull var value: String?
            let source: String
            let secret: Bool

            init(_ setting: SettingReport) {
                key = setting.key
                _value = OrNull(wrappedValue: setting.value)
                source = setting.source.rawValue
                secret = setting.isSecret
            }
        }
    }

    struct DatabaseReply: Codable, Sendable {
        let engine: String
        let engine_version: String
        let bytes: Int64
        @OrNull var free_bytes: Int64?
        @OrNull var file: String?
        let key_ring_file: String
        @OrNull var last_backup: Backup?

        struct Backup: Codable, Sendable {
            let at: String
            let folder: String
        }

        init(_ database: DatabaseReport) {
            engine = database.engine.rawValue
            engine_version = database.size.engineVersion
            bytes = database.size.bytes
            _free_bytes = OrNull(wrappedValue: database.freeBytes)
            _file = OrNull(wrappedValue: database.file)
            key_ring_file = database.keyRingFile
            _last_backup = OrNull(wrappedValue: database.lastBackup.map { Backup(at: $0.at.text, folder: $0.folder) })
        }
    }

    struct LogReply: Codable, Sendable {
        let lines: [Line]
        @OrNull var next_cursor: String?

        struct Line: Codable, Sendable {
            let time: String
            let level: String
            let message: String
            let details: [String: String]

            init(_ line: LogLine) {
                time = line.at.text
                level = line.level.rawValue
                message = line.message
                details = line.details
            }
        }
    }
}
