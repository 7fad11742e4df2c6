/// The ascending integer that identifies a thing inside the server; outside it has a UUID.
///
/// The phantom type keeps a device's key from being taken for a push's.
package struct Key<Noun>: Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(_ rawValue: Int64) { self.rawValue = rawValue }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension Key: Codable {
    package init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(Int64.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

extension Key: CustomStringConvertible {
    package var description: String { String(rawValue) }
}
