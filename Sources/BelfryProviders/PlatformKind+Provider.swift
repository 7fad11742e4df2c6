package import BelfryService

// The only list of the types of platform with their providers.

extension PlatformKind {
    /// The type of its platforms' credentials, and so the provider; nil for a type that no provider here delivers to.
    package var provider: (any PlatformCredentials.Type)? {
        switch self {
        case .apple: APNsPlatformCredentials.self
        case .android: AndroidPlatformCredentials.self
        case .androidFCM: FCMPlatformCredentials.self
        case .androidBaidu: nil
        case .windows8: WNSPlatformCredentials.self
        case .windowsPhone: MPNSPlatformCredentials.self
        case .bb10: PAPPlatformCredentials.self
        case .web: WebPushPlatformCredentials.self
        case .huawei: HMSPlatformCredentials.self
        case .amazon: ADMPlatformCredentials.self
        case .webhook: WebhookPlatformCredentials.self
        }
    }

    /// Why nothing can be sent to a platform of this type.
    var absence: String { "this version has no provider for \(rawValue)" }
}
