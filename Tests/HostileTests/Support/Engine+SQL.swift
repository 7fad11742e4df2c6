import Foundation
import GRDB
import PostgresRig

/// A hand at the database of a server that runs.
extension TestServer {
    /// As a fault of a disk, or a release before this one, would leave it.
    func runInDatabase(_ sql: String) throws {
        if let database { return try PostgresServer.shared().run(sql, in: database) }
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let queue = try DatabaseQueue(path: dataDirectory + "/belfry.sqlite", configuration: configuration)
        try queue.write { try $0.execute(sql: sql) }
    }
}
