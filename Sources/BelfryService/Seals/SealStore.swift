import FoundationEssentials

/// Every sealed secret of a database, so that all can be resealed with another key.
package protocol SealStore: Sendable {
    /// The next secrets of a kind by their names, ascending, after `after`.
    func sealedSecrets(_ kind: SealedSecret.Kind, after: [UInt8]?, limit: Int) async throws -> [SealedSecret]
    /// Replaces the seal. Returns false, and changes nothing, if the secret has another seal by now.
    func reseal(_ secret: SealedSecret, as seal: Sealed) async throws -> Bool
}

/// One secret where it is stored.
package struct SealedSecret: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
        /// The secret of an application.
        case sharedSecret = "shared_secret"
        /// The previous secret of an application, while it is accepted beside its replacement.
        case previousSharedSecret = "previous_shared_secret"
        /// The credentials of a platform.
        case credentials
        /// The secret that a person of the dashboard shares with their authenticator app.
        case twoFactor = "two_factor"
        /// The answer that a repeated request gets.
        case answer
    }

    package let kind: Kind
    /// The bytes of the UUID of the application or platform, those of the person's key, or the name of the reservation.
    package let name: [UInt8]
    package let seal: Sealed

    package init(kind: Kind, name: [UInt8], seal: Sealed) {
        self.kind = kind
        self.name = name
        self.seal = seal
    }

    /// The purpose that the secret was sealed for; nil when its name is damaged.
    package var purpose: String? {
        switch kind {
        case .sharedSecret, .previousSharedSecret:
            name.withUnsafeBytes { UUID(bytes: $0) }.map(VaultPurpose.sharedSecret)
        case .credentials: name.withUnsafeBytes { UUID(bytes: $0) }.map(VaultPurpose.credentials)
        case .twoFactor: person.map(VaultPurpose.twoFactor)
        case .answer: VaultPurpose.answer(to: name)
        }
    }

    /// The person's key, whose bytes are the name.
    package var person: Key<Person>? { name.count == 8 ? Key(name.reduce(0) { $0 << 8 | Int64($1) }) : nil }
}

extension Key<Person> {
    /// As the name of a sealed secret: eight bytes, which ascend with the key.
    package var bytes: [UInt8] { (0..<8).reversed().map { UInt8(truncatingIfNeeded: rawValue >> (8 * Int64($0))) } }
}
