package import BelfryCore
package import FoundationEssentials
import NIOSSL

/// Validates and seals the credentials entered for a platform, by the rules of its provider.
package struct CredentialsService: ProviderCredentials {
    private let dependencies: ProviderDependencies

    package init(dependencies: ProviderDependencies) { self.dependencies = dependencies }

    package func sealed(
        _ entered: [String: JSONValue], kind: PlatformKind, mode: Platform.Mode, platform: UUID,
        by author: CredentialsAuthor
    ) throws -> Sealed {
        try sealed(entered, keeping: [:], kind: kind, mode: mode, platform: platform, by: author)
    }

    package func replacement(
        of platform: Platform, by entered: [String: JSONValue], of author: CredentialsAuthor
    ) throws -> CredentialsReplacement {
        let kept = platform.kind.provider?.kept(beside: entered, on: platform, with: dependencies.vault) ?? [:]
        // An empty setting is one that is to go.
        let named = entered.filter { !CredentialSettings.names.contains($0.key) || $0.value != .string("") }
        return CredentialsReplacement(
            sealed: try sealed(
                named, keeping: kept, kind: platform.kind, mode: platform.mode, platform: platform.uuid, by: author),
            kept: kept.keys.sorted())
    }

    /// - Parameter kept: what stays of the credentials before, for whose addresses their author answered.
    private func sealed(
        _ entered: [String: JSONValue], keeping kept: [String: JSONValue], kind: PlatformKind, mode: Platform.Mode,
        platform: UUID, by author: CredentialsAuthor
    ) throws -> Sealed {
        guard let provider = kind.provider else {
            guard entered.isEmpty else { throw InvalidInput(field: "credentials", "are not taken: \(kind.absence)") }
            return Sealed(bytes: [])
        }
        do {
            let credentials = try provider.init(entered: entered.merging(kept) { _, kept in kept })
            if author == .tenant, let field = credentials.unguardedAddresses.first(where: { kept[$0] == nil }) {
                throw InvalidInput(field: field, "names an address of its own, which needs a key of scope operator")
            }
            try credentials.checkTrustRoots()
            try credentials.check(for: kind)
            try credentials.check(mode: mode, now: dependencies.clock.now)
            return try credentials.sealed(by: dependencies.vault, platform: platform)
        } catch let error as InvalidInput {
            throw InvalidInput(field: "credentials.\(error.field)", error.problem)
        }
    }

    package func parking(of kind: PlatformKind) -> Parking? {
        kind.provider == nil ? Parking(cause: .noProvider, detail: kind.absence, since: dependencies.clock.now) : nil
    }

    package func test(_ platform: Platform, devices: [DeviceToken]) async -> CredentialsTest {
        let began = dependencies.clock.now
        do {
            let provider = try Providers.make(platform, with: dependencies)
            var result = await provider.test()
            if case .refused = result {} else { result = await provider.testConnection(to: devices) ?? result }
            await provider.shutdown(within: .seconds(1))
            guard case .unknown = result else { return result }
            return dependencies.routes.trouble(of: platform.kind.families, since: began).map { .unknown($0) } ?? result
        } catch {
            return .refused("\(error)")
        }
    }

    package func validate(_ tokens: [DeviceToken], of platform: Platform) async throws -> [Outcome]? {
        let provider = try Providers.make(platform, with: dependencies)
        let outcomes = await provider.validate(tokens)
        await provider.shutdown(within: .seconds(1))
        return outcomes
    }

    package var channels: any BroadcastChannels { APNsBroadcastChannels(dependencies: dependencies) }

    package func expiry(of platform: Platform) throws -> Instant? {
        guard let provider = platform.kind.provider else { return nil }
        return try provider.init(opening: platform, with: dependencies.vault).expiry(now: dependencies.clock.now)
    }

    package func published(of platform: Platform) throws -> [String: String] {
        guard let provider = platform.kind.provider else { return [:] }
        let credentials = try provider.init(opening: platform, with: dependencies.vault)
        var published = try credentials.published()
        // Another endpoint than the provider's own is what explains most of what a platform does.
        published["endpoint"] = credentials.entered["endpoint"]?.stringValue
        return published
    }
}

extension PlatformCredentials {
    /// Throws `InvalidInput` where the certificates to trust are none.
    fileprivate func checkTrustRoots() throws(InvalidInput) {
        guard let pem = entered["trust_root"]?.stringValue else { return }
        let roots = try? NIOSSLCertificate.fromPEMBytes(Array(pem.utf8))
        guard roots?.isEmpty == false else {
            throw InvalidInput(field: "trust_root", "holds no certificate in PEM")
        }
    }
}
