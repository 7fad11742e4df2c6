import Crypto
import Synchronization

/// Tells good provider tokens from bad, and does the dear part (JSON and signature) once for each distinct JWT.
final class ProviderTokenCheck: Sendable {
    /// What is known of a JWT whatever the time and the connection: who signed it and when, or nil when no known key did.
    typealias Finding = ProviderToken?

    private let keys: [String: APNsSigningKey]?
    private let findings = Mutex<[[UInt8]: Finding]>([:])
    /// A sender that mints a JWT for each request must not grow the simulator without limit.
    private static let findingsMax = 4096

    /// - Parameter keys: the known keys by key id; nil believes any well-formed token unseen.
    init(keys: [String: APNsSigningKey]?) {
        self.keys = keys
    }

    func finding(for jwt: UnsafeRawBufferPointer) -> Finding {
        let bytes = Array(jwt)
        if let known = findings.withLock({ $0[bytes] }) { return known }
        let finding = examine(String(decoding: bytes, as: UTF8.self))
        findings.withLock { findings in
            if findings.count >= Self.findingsMax { findings.removeAll() }
            findings.updateValue(finding, forKey: bytes)
        }
        return finding
    }

    private func examine(_ jwt: String) -> Finding {
        guard let token = ProviderToken(jwt: jwt) else { return nil }
        guard let keys else { return token }
        guard let key = keys[token.keyID], key.teamID == token.teamID, token.isSigned(by: key.publicKey) else {
            return nil
        }
        return token
    }
}
