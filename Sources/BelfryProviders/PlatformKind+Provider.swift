package import BelfryCore

// The one place where the kinds of platform are listed with their providers.

extension PlatformKind {
    /// What the credentials of its platforms are, and so what delivers to them; nil for a kind that no provider here delivers to.
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

    /// Why nothing can be sent to a platform of this kind.
    var absence: String { "this version has no provider for \(rawValue)" }
}
