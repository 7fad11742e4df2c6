package import BelfryCore

/// A vault that anybody can look into. It still holds a secret to its purpose.
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
