import FoundationEssentials

/// The secrets made with the database and never changed: they encrypt device ids and hash tokens.
package struct Secrets: Sendable {
    package let naming: DeviceNaming
    /// The hash function of tokens and of events.
    let tokenHash: SipHash
    private let secondTokenHash: SipHash

    private static let lengths = [("naming", 32), ("token_hash", 16), ("second_token_hash", 16)]

    init(of db: some SQLConnection) throws {
        let values = try Self.lengths.map { name, count in
            let value = try db.prepared(SecretStatements.value).first(name) { $0.blob(0) }
            guard let value, value.count == count else {
                throw StoreError.unavailable("the database has lost its setting \(name)")
            }
            return value
        }
        naming = DeviceNaming(secret: values[0])
        tokenHash = SipHash(key: values[1])
        secondTokenHash = SipHash(key: values[2])
    }

    static func make(in db: some SQLConnection) throws {
        var random = SystemRandomNumberGenerator()
        let insert = try db.prepared(SecretStatements.insert)
        for (name, count) in lengths {
            try insert.run(name, (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        }
    }

    /// The hash of a token in SQLite's index. Readers compare the identity of the token too.
    func hash(of token: DeviceToken) -> Int64 { Int64(bitPattern: tokenHash.hash(token.identity)) }

    /// The hash of a token in PostgreSQL's index, so long that two installations never share it.
    func hash(_ token: DeviceToken) -> UUID {
        let identity = token.identity
        let halves = (tokenHash.hash(identity).bigEndian, secondTokenHash.hash(identity).bigEndian)
        return withUnsafeBytes(of: halves) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

enum SecretStatements {
    static let insert: SQLText = "INSERT INTO setting /* secrets.insert */ (name, value) VALUES ($1, $2)"

    static let value: SQLText = "SELECT value /* secrets.value */ FROM setting WHERE name = $1"
}
