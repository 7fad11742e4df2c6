import BelfryCore
import GRDB

/// The secrets made with the database and never changed: they name the devices and hash the tokens.
struct Secrets: Sendable {
    let naming: DeviceNaming
    let tokenHash: SipHash

    init(of db: Database) throws {
        naming = DeviceNaming(secret: try Self.value("naming", bytes: 32, in: db))
        tokenHash = SipHash(key: try Self.value("token_hash", bytes: 16, in: db))
    }

    /// What the index of tokens holds for a token's bytes.
    func hash(ofToken bytes: [UInt8]) -> Int64 { Int64(bitPattern: tokenHash.hash(bytes)) }

    static func make(in db: Database) throws {
        var random = SystemRandomNumberGenerator()
        for (name, bytes) in [("naming", 32), ("token_hash", 16)] {
            let value = (0..<bytes).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            try db.prepared(SecretStatements.insert).run(name, value)
        }
    }

    private static func value(_ name: String, bytes: Int, in db: Database) throws -> [UInt8] {
        let value = try db.prepared(SecretStatements.value).first(name) { $0.blob(0) }
        guard let value, value.count == bytes else {
            throw StoreError.unavailable("the database has lost its setting \(name)")
        }
        return value
    }
}

enum SecretStatements {
    static let insert = """
        INSERT INTO setting /* secrets.insert */ (name, value) VALUES (?1, ?2)
        """

    static let value = """
        SELECT value /* secrets.value */ FROM setting WHERE name = ?1
        """
}
