import GRDB

extension TestInstallation {
    /// A hand at the database in the data directory, while no server has it.
    func runInDatabase(_ sql: String) throws {
        let database = try DatabaseQueue(path: data + "/belfry.sqlite")
        try database.write { try $0.execute(sql: sql) }
        try database.close()
    }
}
