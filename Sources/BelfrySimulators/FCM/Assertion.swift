import CryptoExtras

/// The check of a JWT bearer assertion. Source: RFC 7523 §3; Google, "Using OAuth 2.0 for server to server applications".
struct AssertionCheck {
    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    static let scopes: Set<String> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]
    static let lifeMaxSeconds: Int64 = 3600
    /// The largest difference of the sender's clock.
    static let skewMaxSeconds: Int64 = 300

    let account: ServiceAccount
    /// Another accepted `aud`, besides Google's own token endpoint.
    let audience: String

    /// The fault of the assertion, as Google's `error` and `error_description`; nil when there is none.
    func complaint(about assertion: String, at now: Int64) -> (error: String, description: String)? {
        let parts = assertion.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]).flatMap(JSON.init),
            let claims = Base64URL.decode(parts[1]).flatMap(JSON.init), let signature = Base64URL.decode(parts[2])
        else { return ("invalid_grant", "Bad Request") }
        guard header["alg"]?.string == "RS256" else { return ("invalid_grant", "Invalid JWT Signature.") }
        guard claims["iss"]?.string == account.email else {
            return ("invalid_grant", "Invalid grant: account not found")
        }
        if let keyID = header["kid"]?.string, keyID != account.keyID {
            return ("invalid_grant", "Invalid JWT Signature.")
        }
        guard isSigned(Array("\(parts[0]).\(parts[1])".utf8), signature) else {
            return ("invalid_grant", "Invalid JWT Signature.")
        }
        return complaint(about: claims, at: now)
    }

    private func complaint(about claims: JSON, at now: Int64) -> (error: String, description: String)? {
        guard let scope = claims["scope"]?.string, !scope.isEmpty else {
            return ("invalid_scope", "Empty or missing scope not allowed.")
        }
        guard scope.split(separator: " ").contains(where: { Self.scopes.contains(String($0)) }) else {
            return ("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        }
        guard let aud = claims["aud"]?.string, aud == audience || aud == "https://oauth2.googleapis.com/token" else {
            return ("invalid_grant", "Invalid JWT: Failed audience check. The right audience is \(audience)")
        }
        guard let issued = claims["iat"]?.integer, let expires = claims["exp"]?.integer,
            issued <= now + Self.skewMaxSeconds, expires > now - Self.skewMaxSeconds,
            expires > issued, expires - issued <= Self.lifeMaxSeconds
        else {
            return (
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                    + "Check your iat and exp values in the JWT claim."
            )
        }
        return nil
    }

    private func isSigned(_ text: [UInt8], _ signature: [UInt8]) -> Bool {
        account.key.publicKey.isValidSignature(
            .init(rawRepresentation: signature), for: text, padding: .insecurePKCS1v1_5)
    }
}
