package import BelfryCore
import Synchronization

/// Hands out one fake provider for each platform.
package final class FakeProviders: ProviderDirectory {
    private let objection: @Sendable (Platform) -> String?
    private let make: @Sendable (Platform) -> any Provider
    private let made = Mutex<[Key<Platform>: any Provider]>([:])

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
            let provider = made[platform.key] ?? make(platform)
            made[platform.key] = provider
            return provider
        }
    }

    package func room() -> [Key<Platform>: Int] { made.withLock { $0.mapValues(\.room) } }
}
