/// The urgency of a push. A lane's batches go before those of all lanes after it.
package enum Lane: Int64, Sendable, Hashable, CaseIterable, Comparable, Codable {
    case urgent = 0
    case normal = 1
    case bulk = 2

    package var word: String { "\(self)" }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
