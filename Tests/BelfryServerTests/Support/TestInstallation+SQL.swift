import GRDB

extension TestInstallation {
    /// A hand at the database in the data directory, whether a server has it or not.
    func inDatabase<Value>(_ body: (Database) throws -> Value) throws -> Value {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let database = try DatabaseQueue(path: data + "/belfry.sqlite", configuration: configuration)
        defer { try? database.close() }
        return try database.writeWithoutTransaction(body)
    }
}
