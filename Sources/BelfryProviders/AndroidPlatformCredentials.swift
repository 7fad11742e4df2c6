package import BelfryService

/// The credentials of a platform of type `android`: a service account for FCM, or the key of a gateway that speaks
/// GCM's protocol.
package enum AndroidPlatformCredentials: PlatformCredentials {
    case fcm(FCMPlatformCredentials)
    case gcm(GCMPlatformCredentials)

    package static let fields = ["service_account", "gcm_api_key", "endpoint", "trust_root"]

    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let isGiven = { (field: String) in entered[field].map { !$0.isNull } ?? false }
        switch (isGiven("service_account"), isGiven("gcm_api_key")) {
        case (true, false): self = .fcm(try FCMPlatformCredentials(entered: entered))
        case (false, true): self = .gcm(try GCMPlatformCredentials(entered: entered))
        case (false, false): throw InvalidInput(field: "service_account", "or gcm_api_key is missing")
        case (true, true): throw InvalidInput(field: "service_account", "and gcm_api_key exclude each other")
        }
    }

    /// Fields of FCM are not kept beside a key of a gateway, nor the other way round: their endpoints differ.
    package static func kept(beside entered: [String: JSONValue], of old: Self) -> [String: JSONValue] {
        switch old {
        case .fcm(let old) where entered["gcm_api_key"] == nil: FCMPlatformCredentials.kept(beside: entered, of: old)
        case .gcm(let old) where entered["service_account"] == nil:
            GCMPlatformCredentials.kept(beside: entered, of: old)
        case .fcm, .gcm: [:]
        }
    }

    package var entered: [String: JSONValue] { own.entered }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) { try own.check(mode: mode, now: now) }

    package var unguardedAddresses: [String] { own.unguardedAddresses }

    package func expiry(now: Instant) -> Instant? { own.expiry(now: now) }

    package func published() throws -> [String: String] { try own.published() }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try own.makeProvider(for: platform, with: dependencies)
    }

    private var own: any PlatformCredentials {
        switch self {
        case .fcm(let credentials): credentials
        case .gcm(let credentials): credentials
        }
    }
}
