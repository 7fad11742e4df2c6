package import BelfryService
import FoundationEssentials

extension KeyRingFile {
    /// How many secrets of a kind are tried.
    static let sampleSize = 20

    /// Throws `KeyRingError.foreign` when the ring opens none of a database's secrets, so that it is another database's.
    ///
    /// The first secret that opens is proof. More are only tried since one may be damaged, which is no reason to refuse the rest.
    ///
    /// - Parameter secrets: the first `sampleSize` of a kind.
    func demandRing(of secrets: (SealedSecret.Kind) async throws -> [SealedSecret]) async throws {
        var isSealed = false
        var lacks: Set<UInt32> = []
        let ids = try ring.ids
        for kind in [SealedSecret.Kind.sharedSecret, .credentials] {
            // A platform whose type has no provider has no credentials.
            for secret in try await secrets(kind) where !secret.seal.bytes.isEmpty {
                isSealed = true
                if let purpose = secret.purpose, (try? open(secret.seal, for: purpose)) != nil { return }
                if let id = KeyRing.keyID(of: secret.seal), id > ids.last ?? 0 { lacks.insert(id) }
            }
        }
        guard isSealed else { return }
        throw lacks.isEmpty ? KeyRingError.foreign(path) : .older(path, lacks: lacks.sorted())
    }
}

/// Detects a password in the URL of a PostgreSQL. Every user of the machine can read the arguments of a process.
package enum DatabasePassword {
    /// Advice on where a password belongs, for an operator whose command was refused.
    package static let advice =
        "holds a password, which every user of this machine can read in the arguments of a process: put the whole URL into "
        + "BELFRY_DATABASE_URL, or leave the password out and put it into ~/.pgpass or the file that PGPASSFILE names"

    /// Source: PostgreSQL manual, "Connection URIs": `postgresql://user:password@host/name?password=…`.
    package static func stands(in url: String) -> Bool {
        guard let scheme = url.firstRange(of: "://") else { return false }
        let rest = url[scheme.upperBound...]
        let authority = rest.prefix { !"/?#".contains($0) }
        if let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":"),
            authority.index(after: colon) < at
        {
            return true
        }
        guard let mark = rest.firstIndex(of: "?") else { return false }
        return rest[rest.index(after: mark)...].split(separator: "&").contains { item in
            let parts = item.split(separator: "=", maxSplits: 1)
            return parts.count == 2 && ["password", "sslpassword"].contains(parts[0].lowercased())
        }
    }
}

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
