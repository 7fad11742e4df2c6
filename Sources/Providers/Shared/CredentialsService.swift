package import BelfryService
import DNS
package import FoundationEssentials
import KeyFiles

/// Validates and seals the credentials entered for a platform, by the rules of its provider.
package struct CredentialsService: ProviderCredentials {
    private let dependencies: ProviderDependencies
    private let limit: ShareLimit
    private let countRefusal: @Sendable (Share) -> Void

    /// - Parameters:
    ///   - limit: how many credentials are opened at once.
    ///   - countRefusal: called where a caller's share is used up.
    package init(
        dependencies: ProviderDependencies, limit: ShareLimit? = nil,
        countRefusal: @escaping @Sendable (Share) -> Void = { _ in }
    ) {
        self.dependencies = dependencies
        self.countRefusal = countRefusal
        self.limit = limit ?? ShareLimit.standard[.credentials] ?? ShareLimit(perCaller: 1, total: 1)
    }

    package func sealed(
        _ entered: [String: JSONValue], kind: PlatformKind, mode: Platform.Mode, platform: UUID,
        by author: CredentialsAuthor, for holder: ShareHolder
    ) async throws -> SealedCredentials {
        try await open(for: holder) {
            try sealed(entered, kind: kind, mode: mode, platform: platform, by: author)
        }
    }

    package func replacement(
        of platform: Platform, by entered: [String: JSONValue], of author: CredentialsAuthor, for holder: ShareHolder
    ) async throws -> CredentialsReplacement {
        try await open(for: holder) { try replacement(of: platform, by: entered, of: author) }
    }

    private func open<Value: Sendable>(
        for holder: ShareHolder, _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        do {
            return try await CredentialOpener.entered.open(for: holder, under: limit, work)
        } catch let error as ShareExceeded {
            countRefusal(error.share)
            throw error
        }
    }

    /// Does the work of `sealed` for a holder, on the caller's thread.
    func sealed(
        _ entered: [String: JSONValue], kind: PlatformKind, mode: Platform.Mode, platform: UUID,
        by author: CredentialsAuthor
    ) throws -> SealedCredentials {
        try sealed(entered, keeping: [:], kind: kind, mode: mode, platform: platform, by: author)
    }

    /// Does the work of `replacement` for a holder, on the caller's thread.
    func replacement(
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
    ) throws -> SealedCredentials {
        guard let provider = kind.provider else {
            guard entered.isEmpty else { throw InvalidInput(field: "credentials", "are not taken: \(kind.absence)") }
            return SealedCredentials(seal: Sealed(bytes: []), facts: .none)
        }
        do {
            let credentials = try provider.init(entered: entered.merging(kept) { _, kept in kept }).opened()
            if author == .tenant, let field = credentials.unguardedAddresses.first(where: { kept[$0] == nil }) {
                throw InvalidInput(
                    field: field,
                    "names an address of its own, or what is this machine's, which needs a key of scope operator")
            }
            try credentials.checkTrustRoots()
            try credentials.check(for: kind)
            try credentials.check(mode: mode, now: dependencies.clock.now)
            return SealedCredentials(
                seal: try credentials.sealed(by: dependencies.vault, platform: platform),
                facts: credentials.facts(now: dependencies.clock.now))
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
            let provider = try await Providers.make(platform, with: dependencies)
            let result = await NameCaller.$current.withValue(await dependencies.caller(.doors, platform)) {
                let result = await provider.test()
                if case .refused = result { return result }
                return await provider.testConnection(to: devices) ?? result
            }
            await provider.shutdown(within: .seconds(1))
            guard case .unknown = result else { return result }
            return dependencies.routes.trouble(of: platform.kind.families, since: began).map { .unknown($0) } ?? result
        } catch {
            return .refused("\(error)")
        }
    }

    package func validate(_ tokens: [DeviceToken], of platform: Platform) async throws -> [Outcome]? {
        let provider = try await Providers.make(platform, with: dependencies)
        let outcomes = await provider.validate(tokens)
        await provider.shutdown(within: .seconds(1))
        return outcomes
    }

    package var channels: any BroadcastChannels { APNsBroadcastChannels(dependencies: dependencies) }

    package func examine(_ platform: Platform) async throws -> ExaminedCredentials {
        guard let provider = platform.kind.provider else { return ExaminedCredentials(facts: .none) }
        return try await CredentialOpener.stored.open {
            try examined(provider.init(opening: platform, with: dependencies.vault), of: platform)
        }
    }

    private func examined(_ stored: some PlatformCredentials, of platform: Platform) throws -> ExaminedCredentials {
        let now = dependencies.clock.now
        do {
            let opened = try stored.opened()
            let isOther = opened != stored
            return ExaminedCredentials(
                facts: opened.facts(now: now),
                seal: isOther ? try opened.sealed(by: dependencies.vault, platform: platform.uuid) : nil)
        } catch let error as InvalidInput {
            var published = stored.facts(now: now).published
            published["problem"] = error.description
            return ExaminedCredentials(facts: CredentialFacts(expiresAt: nil, published: published))
        }
    }
}

extension PlatformCredentials {
    /// Throws `InvalidInput` where the certificates to trust are none.
    fileprivate func checkTrustRoots() throws(InvalidInput) {
        guard let pem = entered["trust_root"]?.stringValue else { return }
        do throws(KeyFileError) {
            _ = try PEMFile.certificates(in: Array(pem.utf8))
        } catch {
            throw InvalidInput(field: "trust_root", "holds no certificate in PEM: \(error.reason)")
        }
    }
}
