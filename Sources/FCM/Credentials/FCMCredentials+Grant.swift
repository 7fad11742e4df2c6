import NIOSSL
import Outbound

extension FCMCredentials {
    /// Exchanges an assertion for a token. Source: RFC 7523 §2.1.
    ///
    /// - Parameter now: Unix seconds.
    func grant(
        by outbound: Outbound, tls: TLSConfiguration?, now: Int64
    ) async -> Result<AccessGrant, AccessTokenError> {
        do throws(FCMCredentialsError) {
            let assertion = try key.assertion(at: now)
            return await outbound.grant(
                from: tokenURI,
                form: ["grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion], tls: tls)
        } catch {
            return .failure(AccessTokenError(isRefusal: true, error.reason))
        }
    }
}
