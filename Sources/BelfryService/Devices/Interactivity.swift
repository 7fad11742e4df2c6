extension DeviceState {
    /// The reach of an active device, from its report on its system.
    ///
    /// Source: PCF Push API, `interactive-only`: iOS 8 and later, Android 4.1 and later.
    package init(kind: PlatformKind, osVersion: String?) {
        let version = osVersion.flatMap(OSVersion.init)
        let least: OSVersion? =
            switch kind {
            case .apple: OSVersion(8, 0)
            case .android, .androidFCM, .androidBaidu, .amazon: OSVersion(4, 1)
            case .windows8, .windowsPhone, .bb10, .web, .huawei, .webhook: nil
            }
        guard let version, let least else {
            self = .active
            return
        }
        self = version < least ? .active : .interactive
    }
}

/// The first two numbers of a version, such as 8.1 of "8.1.3".
private struct OSVersion: Comparable {
    let major: Int
    let minor: Int

    init(_ major: Int, _ minor: Int) {
        self.major = major
        self.minor = minor
    }

    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 2, omittingEmptySubsequences: false)
        let numbers = parts.prefix(2).map { Int(Substring($0)) }
        guard case let major?? = numbers.first else { return nil }
        self.init(major, numbers.count > 1 ? numbers[1] ?? 0 : 0)
    }

    static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }
}
