import Crypto
import Synchronization

/// Verifies provider tokens, and does the expensive part (JSON and signature) once for each distinct JWT.
final class ProviderTokenCheck: Sendable {
    /// The facts of a JWT that do not depend on time and connection: its signer and time, or nil when no known key
    /// signed it.
    typealias Finding = ProviderToken?

    private let keys: [String: APNsSigningKey]?
    private let findings = Mutex<[[UInt8]: Finding]>([:])
    /// Bounds the memory for a sender that makes a new JWT for each request.
    private static let findingsMax = 4096

    /// - Parameter keys: the known keys by key id; nil accepts any well-formed token.
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
