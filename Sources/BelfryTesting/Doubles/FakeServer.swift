package import BelfryService

/// A server on SQLite that has some settings, and has written two lines.
package struct FakeServer: ServerInspector {
    package init() {}

    package let settings = [
        SettingReport(key: "database.url", value: "postgres://belfry:hunter2@db", source: .environment, isSecret: true),
        SettingReport(key: "http.host", value: "127.0.0.1", source: .default),
        SettingReport(key: "http.port", value: "8443", source: .environment),
    ]

    /// The second one holds what a browser must not take for markup.
    package let logLines = [
        LogLine(number: 1, at: .zero, level: .info, message: "serving", details: ["address": "127.0.0.1"]),
        LogLine(
            number: 2, at: .zero, level: .error, message: "platform is parked",
            details: ["name": "<img src=x onerror=alert(1)>\"'&{{x}}"]),
    ]

    package func database() async throws -> DatabaseReport {
        DatabaseReport(
            engine: .sqlite, size: DatabaseSize(bytes: 4_096, engineVersion: "3"), file: "/data/belfry.sqlite",
            keyRingFile: "/data/key-ring", freeBytes: nil, lastBackup: nil)
    }
}
