package import Crypto

/// A key known to the simulator, as Apple knows the keys of its developers.
package struct APNsSigningKey: Sendable {
    package let keyID: String
    package let teamID: String
    package let publicKey: P256.Signing.PublicKey

    package init(keyID: String, teamID: String, publicKey: P256.Signing.PublicKey) {
        self.keyID = keyID
        self.teamID = teamID
        self.publicKey = publicKey
    }

    /// - Parameter publicKeyPEM: a `PUBLIC KEY` in PEM (SubjectPublicKeyInfo).
    package init(keyID: String, teamID: String, publicKeyPEM: String) throws {
        self.init(
            keyID: keyID, teamID: teamID, publicKey: try P256.Signing.PublicKey(pemRepresentation: publicKeyPEM))
    }
}

/// Both halves of a signing key, for tests and demos: what Apple's developer site would issue.
package struct APNsIssuedKey: Sendable {
    package let keyID: String
    package let teamID: String
    private let privateKey: P256.Signing.PrivateKey

    /// - Parameter p8: the content of the file of an earlier start; a new key where it is none.
    package init(keyID: String = "BELFRYKEY1", teamID: String = "BELFRYTEAM", p8: String? = nil) {
        self.keyID = keyID
        self.teamID = teamID
        self.privateKey =
            p8.flatMap { try? P256.Signing.PrivateKey(pemRepresentation: $0) } ?? P256.Signing.PrivateKey()
    }

    /// The content of a `.p8` file.
    package var p8: String { privateKey.pemRepresentation }

    package var publicKeyPEM: String { privateKey.publicKey.pemRepresentation }

    package var known: APNsSigningKey {
        APNsSigningKey(keyID: keyID, teamID: teamID, publicKey: privateKey.publicKey)
    }

    /// A provider token signed with this key, without the scheme `bearer`.
    ///
    /// - Parameter issuedAt: seconds since 1970.
    package func providerToken(issuedAt: Int64) throws -> String {
        let header = Base64URL.encode(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8)
        let claims = Base64URL.encode(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8)
        let signature = try privateKey.signature(for: Array("\(header).\(claims)".utf8))
        return "\(header).\(claims).\(Base64URL.encode(signature.rawRepresentation))"
    }
}
