package import BelfryService
import Synchronization

/// Returns one fake provider for each platform, and another when its credentials change.
package final class FakeProviders: ProviderDirectory {
    private let objection: @Sendable (Platform) -> String?
    private let make: @Sendable (Platform) -> any Provider
    private let made = Mutex<[Key<Platform>: (version: Int64, provider: any Provider)]>([:])

    /// - Parameter objection: why the platform's credentials cannot be used; nil while they can.
    package init(
        objection: @escaping @Sendable (Platform) -> String? = { _ in nil },
        make: @escaping @Sendable (Platform) -> any Provider
    ) {
        self.objection = objection
        self.make = make
    }

    package func provider(for platform: Platform) async throws -> any Provider {
        if let words = objection(platform) { throw ProviderError.credentials(words) }
        return made.withLock { made in
            if let kept = made[platform.key], kept.version == platform.credentialsVersion { return kept.provider }
            let provider = make(platform)
            made[platform.key] = (platform.credentialsVersion, provider)
            return provider
        }
    }

    /// In the order of the platforms, so that a random room is repeatable.
    package func room() -> [Key<Platform>: Int] {
        let providers = made.withLock { $0 }.sorted { $0.key < $1.key }
        return Dictionary(uniqueKeysWithValues: providers.map { ($0.key, $0.value.provider.room) })
    }
}
