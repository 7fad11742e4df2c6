package import FoundationEssentials

/// Seals what must be read again, such as provider credentials, with a key that is not in the database.
package protocol Vault: Sendable {
    /// - Parameter purpose: bound into the seal, so that one secret cannot be passed off as another.
    func seal(_ secret: [UInt8], for purpose: String) throws -> Sealed
    /// Throws `VaultError` with the id of the key that is missing, or when the seal is broken.
    func open(_ sealed: Sealed, for purpose: String) throws -> [UInt8]
}

package enum VaultError: Error, Sendable, Hashable {
    case unknownKey(id: UInt32)
    case broken
}

extension Application {
    /// What the seal of an application's shared secret is bound to.
    package static func sharedSecretPurpose(_ application: UUID) -> String {
        "shared-secret/\(application.uuidString.lowercased())"
    }
}

extension Platform {
    /// What the seal of a platform's credentials is bound to.
    package static func credentialsPurpose(_ platform: UUID) -> String {
        "credentials/\(platform.uuidString.lowercased())"
    }
}
