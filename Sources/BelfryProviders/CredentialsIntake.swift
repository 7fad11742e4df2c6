package import BelfryCore
package import FoundationEssentials

/// Takes in what a person entered for a platform: the kind of its provider decides what that has to be.
package struct CredentialsIntake: ProviderCredentials {
    private let vault: any Vault
    private let clock: any WallClock

    package init(vault: any Vault, clock: any WallClock) {
        self.vault = vault
        self.clock = clock
    }

    package func sealed(
        _ entered: [String: JSONValue], kind: PlatformKind, mode: Platform.Mode, platform: UUID
    ) throws -> Sealed {
        switch kind {
        case .ios:
            do {
                let credentials = try APNsPlatformCredentials(entered: entered)
                try credentials.check(mode: mode, now: clock.now)
                return try credentials.sealed(by: vault, platform: platform)
            } catch let error as InvalidInput {
                throw InvalidInput(field: "credentials.\(error.field)", error.problem)
            }
        case .android, .androidFCM, .androidBaidu, .windows8, .windowsPhone, .bb10:
            guard entered.isEmpty else {
                let reason = parking(of: kind)?.detail ?? "there is no provider"
                throw InvalidInput(field: "credentials", "are not taken: \(reason)")
            }
            return Sealed(bytes: [])
        }
    }

    package func parking(of kind: PlatformKind) -> Parking? { Providers.parking(of: kind, since: clock.now) }
}
