package import BelfryService
import FoundationEssentials

/// The first operator key of a server, written to a file that only its owner can read.
package enum InitialAdminKey {
    /// The file's name in the data directory.
    package static let fileName = "admin.key"

    /// Creates the key and writes the file; returns its path. nil when there are keys already, even revoked ones: an
    /// operator who lost theirs creates the next with `belfry admin create`.
    package static func make(with operatorService: OperatorService, in directory: String) async throws -> String? {
        guard try await operatorService.store.adminKeys(within: .everything, after: nil, limit: 1).isEmpty else {
            return nil
        }
        let path = directory + "/" + fileName
        let created = try await operatorService.createKey(name: try Name("first key"), scope: .operator)
        do {
            try Data("\(created.text.text)\n".utf8).replace(path, isPrivate: true)
        } catch {
            // A key that the operator never got would keep the next start from creating one.
            try await operatorService.revokeKey(created.key.id)
            throw StoreError.unavailable("the file \(path) cannot be written; make a key with `belfry admin create`")
        }
        return path
    }
}
