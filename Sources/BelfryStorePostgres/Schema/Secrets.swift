import BelfryCore
import FoundationEssentials
import PostgreSQL

/// The secrets made with the database and never changed: they name the devices and hash the tokens.
struct Secrets: Sendable {
    let naming: DeviceNaming
    /// Also hashes events.
    let tokenHash: SipHash
    private let secondTokenHash: SipHash

    init(of connection: Connection) throws {
        naming = DeviceNaming(secret: try Self.value("naming", bytes: 32, in: connection))
        tokenHash = SipHash(key: try Self.value("token_hash", bytes: 16, in: connection))
        secondTokenHash = SipHash(key: try Self.value("second_token_hash", bytes: 16, in: connection))
    }

    /// What a token is found by: so long that two tokens never share it.
    func hash(_ token: DeviceToken) -> UUID {
        let halves = (tokenHash.hash(token.bytes).bigEndian, secondTokenHash.hash(token.bytes).bigEndian)
        return withUnsafeBytes(of: halves) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    static func make(in connection: Connection) throws {
        var random = SystemRandomNumberGenerator()
        for (name, bytes) in [("naming", 32), ("token_hash", 16), ("second_token_hash", 16)] {
            let value = (0..<bytes).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            try connection.prepared(SecretStatements.insert).run(name, value)
        }
    }

    private static func value(_ name: String, bytes: Int, in connection: Connection) throws -> [UInt8] {
        let value = try connection.prepared(SecretStatements.value).first(name) { $0.blob(0) }
        guard let value, value.count == bytes else {
            throw StoreError.unavailable("the database has lost its setting \(name)")
        }
        return value
    }
}

enum SecretStatements {
    static let insert = """
        INSERT INTO setting /* secrets.insert */ (name, value) VALUES ($1, $2)
        """

    static let value = """
        SELECT value /* secrets.value */ FROM setting WHERE name = $1
        """
}
