import PostgresRig

/// The stores that every attack is made on.
enum Engine: String, CaseIterable, Sendable {
    case sqlite, postgreSQL

    /// Flags of `belfry` for a store that is empty.
    ///
    /// - Parameter server: nil for the one that tests share.
    func freshArguments(on server: PostgresServer?) throws -> (flags: [String], database: String?) {
        guard self == .postgreSQL else { return ([], nil) }
        let server = try server ?? PostgresServer.shared()
        let name = server.freshName()
        try server.run("CREATE DATABASE \(name)")
        return (["--database", server.url(of: name)], name)
    }
}
