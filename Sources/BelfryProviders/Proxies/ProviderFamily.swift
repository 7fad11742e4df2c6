import BelfryService

/// The families of providers, by the names in the operator's proxy settings.
package enum ProviderFamily: String, Sendable, Hashable, CaseIterable {
    case apns, fcm, gcm, hms, webpush, wns, mpns, adm, pap, webhook
}

extension PlatformKind {
    /// The providers that may deliver to platforms of this type.
    var families: [ProviderFamily] {
        switch self {
        case .apple: [.apns]
        case .android: [.fcm, .gcm]
        case .androidFCM: [.fcm]
        case .androidBaidu: []
        case .windows8: [.wns]
        case .windowsPhone: [.mpns]
        case .bb10: [.pap]
        case .web: [.webpush]
        case .huawei: [.hms]
        case .amazon: [.adm]
        case .webhook: [.webhook]
        }
    }
}
