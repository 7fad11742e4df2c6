package import FoundationEssentials

/// Knows which credentials each type of platform needs; nothing else has to.
package protocol ProviderCredentials: Sendable {
    /// Validates the credentials entered for a platform and seals them. Throws `InvalidInput` with the field and the
    /// reason when they cannot be used.
    func sealed(
        _ entered: [String: JSONValue], kind: PlatformKind, mode: Platform.Mode, platform: UUID,
        by author: CredentialsAuthor
    ) throws -> Sealed
    /// Validates what was entered in place of a platform's credentials and seals it, with the fields that stay unless
    /// they are named. Throws as `sealed` does.
    func replacement(
        of platform: Platform, by entered: [String: JSONValue], of author: CredentialsAuthor
    ) throws -> CredentialsReplacement
    /// Why a platform of this type is parked from the start: no provider here delivers to it, and it takes no
    /// credentials. nil for a type that is served.
    func parking(of kind: PlatformKind) -> Parking?
    /// Connects to the provider as a push does, and asks it whether it accepts the platform's credentials, in a way
    /// that reaches no device.
    ///
    /// - Parameter devices: tokens of some of the platform's devices, for providers whose hosts are named by devices.
    func test(_ platform: Platform, devices: [DeviceToken]) async -> CredentialsTest
    /// Asks the provider of each token whether a message to it would be taken, and sends none. nil where a provider cannot be asked so.
    func validate(_ tokens: [DeviceToken], of platform: Platform) async throws -> [Outcome]?
    /// The broadcast channels of platforms whose provider has them.
    var channels: any BroadcastChannels { get }
    /// When the credentials expire, as far as they say. Throws when the seal does not open.
    func expiry(of platform: Platform) throws -> Instant?
    /// The public part of the credentials, by name: what an app needs, and what identifies the key to an operator.
    /// Throws when the seal does not open.
    func published(of platform: Platform) throws -> [String: String]
}

/// The author of credentials; decides whether they may name private addresses.
package enum CredentialsAuthor: Sendable, Hashable {
    case `operator`
    case tenant
}

/// Credentials in place of a platform's.
package struct CredentialsReplacement: Sendable, Hashable {
    package let sealed: Sealed
    /// The names of the fields that stayed as they were.
    package let kept: [String]

    package init(sealed: Sealed, kept: [String]) {
        self.sealed = sealed
        self.kept = kept
    }
}

extension ProviderCredentials {
    package func replacement(
        of platform: Platform, by entered: [String: JSONValue], of author: CredentialsAuthor
    ) throws -> CredentialsReplacement {
        let sealed = try sealed(
            entered, kind: platform.kind, mode: platform.mode, platform: platform.uuid, by: author)
        return CredentialsReplacement(sealed: sealed, kept: [])
    }

    package func validate(_ tokens: [DeviceToken], of platform: Platform) async throws -> [Outcome]? { nil }

    package var channels: any BroadcastChannels { NoChannels() }
}
