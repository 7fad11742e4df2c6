package import FoundationEssentials

/// Seals secrets that must be read again, such as provider credentials, with a key that is not in the database.
package protocol Vault: Sendable {
    /// - Parameter purpose: bound into the seal, so that one secret cannot be passed off as another.
    func seal(_ secret: [UInt8], for purpose: String) throws -> Sealed
    /// Throws `VaultError` with the id of the missing key, or when the seal is broken.
    func open(_ sealed: Sealed, for purpose: String) throws -> [UInt8]
}

/// The reason why a sealed secret could not be opened.
package enum VaultError: Error, Sendable, Hashable {
    case unknownKey(id: UInt32)
    case broken
}

/// The purposes of a database's sealed secrets, as sealing and opening name them.
package enum VaultPurpose {
    /// `Application.sharedSecret`: the 32 bytes that sign custom user ids.
    package static func sharedSecret(of application: UUID) -> String {
        "shared-secret/\(application.lowercased)"
    }

    /// `Platform.credentials`: the data that a provider adapter needs to send.
    package static func credentials(of platform: UUID) -> String {
        "credentials/\(platform.lowercased)"
    }

    /// `Webhook.secrets`: those that sign what is posted.
    package static func webhook(_ uuid: UUID) -> String { "webhook/\(uuid.lowercased)" }

    /// The proof that a browser returns when a push has reached it.
    package static func proof(on platform: UUID) -> String { "proof/\(platform.lowercased)" }

    /// `TwoFactor.secret`: the secret that a person's authenticator app shares with the server.
    package static func twoFactor(of person: Key<Person>) -> String { "two-factor/\(person)" }

    /// The half login that a browser holds between the right password and the code.
    ///
    /// - Parameter visit: the cookie of the visit, without which it is worth nothing.
    package static func halfLogin(of visit: String) -> String { "half-login/\(visit)" }

    /// The cookie of a visit before the login.
    package static let visit = "visit"

    /// The mark in the forms of a page, which shows that this server made them even when their session is over.
    package static func page(_ address: String) -> String { "page/\(address)" }

    /// A file that a person chose in a form that came back.
    package static func keptFile(of person: Key<Person>, _ field: String) -> String { "kept-file/\(person)/\(field)" }

    /// The cookie in which a browser keeps the accounts that logged in with it.
    package static let knownBrowser = "known-browser"

    /// The state that an issuer of OpenID Connect returns together with its answer.
    ///
    /// - Parameter visit: the cookie of the visit, without which it is worth nothing.
    package static func signOn(of visit: String) -> String { "sign-on/\(visit)" }

    /// `StoredResponse.content`: the answer to a repeated request.
    ///
    /// - Parameter name: of `IdempotencyRecord`.
    package static func answer(to name: [UInt8]) -> String {
        "answer/\(name.map { String($0, radix: 16) }.joined(separator: "."))"
    }
}

extension VaultError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownKey(let id):
            "it was sealed with key \(id), which the key ring does not hold: bring the ring that has it to this node"
        case .broken: "the seal is broken: other bytes, another purpose, or another key of that id"
        }
    }
}
