package import BelfryService

/// A vault that does not encrypt. It still checks the purpose of a secret.
package struct PlaintextVault: Vault {
    package init() {}

    package func seal(_ secret: [UInt8], for purpose: String) throws -> Sealed {
        Sealed(bytes: Array(purpose.utf8) + [0] + secret)
    }

    package func open(_ sealed: Sealed, for purpose: String) throws -> [UInt8] {
        let label = Array(purpose.utf8) + [0]
        guard sealed.bytes.starts(with: label) else { throw VaultError.broken }
        return Array(sealed.bytes.dropFirst(label.count))
    }
}
