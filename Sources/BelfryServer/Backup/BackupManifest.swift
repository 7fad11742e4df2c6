import BelfryService
import Crypto
import Foundation
import SystemPackage

/// The list of a backup's contents.
package struct BackupManifest: Sendable, Hashable, Codable {
    /// The version of the program that made it.
    package let version: String
    package let createdAt: String
    /// The migrations that the database has.
    package let schema: [String]
    package let files: [File]

    package struct File: Sendable, Hashable, Codable {
        package let name: String
        package let bytes: Int
        package let sha256: String
    }

    enum CodingKeys: String, CodingKey {
        case version, schema, files
        case createdAt = "created_at"
    }

    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }
}

extension BackupManifest {
    init(json: Data) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: json)
        } catch {
            throw BackupFault("the list of the backup cannot be read: \(error)")
        }
    }
}

extension BackupManifest.File {
    init(named name: String, in folder: String) throws {
        guard let handle = FileHandle(forReadingAtPath: folder + "/" + name) else {
            throw FileFault(reading: folder + "/" + name, Errno(rawValue: errno))
        }
        defer { try? handle.close() }
        var (digest, count) = (SHA256(), 0)
        while let chunk = try handle.read(upToCount: 1 << 20), !chunk.isEmpty {
            digest.update(data: chunk)
            count += chunk.count
        }
        self.init(name: name, bytes: count, sha256: Array(digest.finalize()).hex)
    }
}
