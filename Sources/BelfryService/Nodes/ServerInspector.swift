/// Reports on a running server to its operators.
package protocol ServerInspector: Sendable {
    /// In the order of their keys.
    var settings: [SettingReport] { get }
    /// The last lines of this process's log, the oldest first: as many as its memory keeps.
    var logLines: [LogLine] { get }
    func database() async throws -> DatabaseReport
}

/// The database as a whole.
package protocol DatabaseStore: Sendable {
    func databaseSize() async throws -> DatabaseSize
}
