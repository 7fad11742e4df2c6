package import FoundationEssentials

/// Knows what each kind of provider needs to be told, which nothing else has to know.
package protocol ProviderCredentials: Sendable {
    /// Checks what a person entered for a platform and seals it. Throws `InvalidInput` with the field and the reason when
    /// it cannot be used.
    func sealed(
        _ entered: [String: JSONValue], kind: PlatformKind, mode: Platform.Mode, platform: UUID,
        by author: CredentialsAuthor
    ) throws -> Sealed
    /// Why a platform of this kind is parked from the start: no provider here delivers to it, and it takes no credentials. nil
    /// for a kind that is served.
    func parking(of kind: PlatformKind) -> Parking?
    /// Connects to the provider as a push does, and asks it whether it takes the platform's credentials, in a way that reaches no
    /// device.
    ///
    /// - Parameter devices: of some of the platform's devices, for providers whose hosts devices name.
    func test(_ platform: Platform, devices: [DeviceToken]) async -> CredentialsTest
    /// The broadcast channels of platforms whose provider has such.
    var channels: any BroadcastChannels { get }
    /// When the credentials will be taken no more, as far as they say. Throws when the seal does not open.
    func expiry(of platform: Platform) throws -> Instant?
    /// The public part of the credentials, by name: what an app needs, and by which a person knows the key again. Throws when the
    /// seal does not open.
    func published(of platform: Platform) throws -> [String: String]
}

/// Who enters credentials. What they say of addresses is spoken to from within the operator's network.
package enum CredentialsAuthor: Sendable, Hashable {
    case `operator`
    case tenant
}

extension ProviderCredentials {
    package var channels: any BroadcastChannels { NoChannels() }
}
