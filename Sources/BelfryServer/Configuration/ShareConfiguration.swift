import BelfryAPI
import BelfryService

extension ConcurrencyLimiter {
    /// `share.<name>.max` for each `Share` except `uploads`, and `share.uploads.mib`: what one application, and one
    /// admin key, may use at once on a node. A tenant may use a quarter of the total.
    static func limits(_ settings: Settings) -> Limits {
        Dictionary(uniqueKeysWithValues: Share.allCases.map { ($0, settings.limit(of: $0)) })
    }
}

extension Settings {
    fileprivate func limit(of share: Share) -> ShareLimit {
        let standard = ShareLimit.standard[share] ?? ShareLimit(perCaller: 1, total: 1)
        // Uploads are counted in KiB.
        let unit = share == .uploads ? 1_024 : 1
        let most = share == .streams || share == .uploads ? 1_024 : 64
        let each = int("share.\(share.settingName)", default: standard.perCaller / unit, in: 1...most)
        return ShareLimit(perCaller: each * unit, total: standard.total)
    }
}
