import BelfryCore

/// The providers, by the names under which an operator says through which proxy each is reached.
package enum ProviderFamily: String, Sendable, Hashable, CaseIterable {
    case apns, fcm, gcm, hms, webpush, wns, mpns, adm, pap, webhook
}

extension PlatformKind {
    /// Who may deliver to platforms of this kind.
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
