/// What one push may name. Source: PCF Push API, "Push a message", LIMITS.
package enum PushLimits {
    package static let devicesMax = 4_096
    package static let customUserIDsMax = 4_096
    package static let topicsMax = 1_024
    /// What a push says, body and custom parts and all, as it is stored. Ours: no provider takes more than 5,120 bytes, and
    /// each of a dozen platforms may have a part of its own.
    package static let contentBytesMax = 65_536
    /// The same as a caller writes it, with spaces and escapes: more is not even read.
    package static let contentWrittenBytesMax = 2 * contentBytesMax
}

extension Lane {
    /// The most devices or users a push may name one by one and still go before the broadcasts.
    package static let urgentTargetsMax = 100

    /// The lane of a push that names none: urgent when it is meant for a few, normal otherwise.
    package init(for audience: Audience) {
        self = audience.namedTargets.map { $0 <= Self.urgentTargetsMax } ?? false ? .urgent : .normal
    }
}

extension Audience {
    /// How many devices and users are named one by one; nil when a list of any size takes part.
    fileprivate var namedTargets: Int? {
        switch self {
        case .list(.devices(let devices)): devices.count
        case .list(.customUser): 1
        case .list: nil
        case .any(let parts):
            parts.reduce(0) { sum, part in sum.flatMap { sum in part.namedTargets.map { sum + $0 } } }
        case .all(let parts): parts.compactMap(\.namedTargets).min()
        case .except(let whole, _): whole.namedTargets
        }
    }
}
