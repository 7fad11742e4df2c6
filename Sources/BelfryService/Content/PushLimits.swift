/// The limits on what one push may name. Source: PCF Push API, "Push a message", LIMITS.
package enum PushLimits {
    package static let devicesMax = 4_096
    package static let customUserIDsMax = 4_096
    package static let topicsMax = 1_024
    /// The size of a push's content, body and custom parts together, as it is stored. Our own limit: no provider
    /// accepts more than 5,120 bytes, and each of a dozen platforms may have its own part.
    package static let contentBytesMax = 65_536
    /// The size of the content as a caller writes it, with spaces and escapes; longer content is not read.
    package static let contentWrittenBytesMax = 2 * contentBytesMax
}

extension Lane {
    /// The most devices or users a push may name individually and still go before the broadcasts.
    package static let urgentTargetsMax = 100

    /// The lane of a push that names none: urgent when it has few recipients, normal otherwise.
    package init(for audience: Audience) {
        self = audience.namedTargets.map { $0 <= Self.urgentTargetsMax } ?? false ? .urgent : .normal
    }
}

extension Audience {
    /// The number of devices and users that are named individually; nil when it includes a list of any size.
    var namedTargets: Int? {
        switch self {
        case .list(.devices(let devices)): devices.count
        case .list(.customUser): 1
        case .list: nil
        case .any(let parts):
            parts.reduce(0) { sum, part in sum.flatMap { sum in part.namedTargets.map { sum + $0 } } }
        case .all(let parts): parts.compactMap(\.namedTargets).min()
        case .except(let whole, _), .checked(let whole, _), .meant(_, let whole): whole.namedTargets
        }
    }

    /// Whether a few steps find its first devices, or that there are few. Others may take as long as there are devices, or lists.
    var isReadAtOnce: Bool {
        if let namedTargets { return namedTargets <= Lane.urgentTargetsMax }
        return switch self {
        case .list: true
        case .any(let parts):
            parts.count <= Lane.urgentTargetsMax && parts.allSatisfy { if case .list = $0 { true } else { false } }
        case .all, .except, .checked, .meant: false
        }
    }
}
