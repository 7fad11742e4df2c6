/// A keyword that devices subscribe to. Topics compare without case, so they are kept in lower case.
package struct Topic: Sendable, Hashable {
    package let key: Key<Topic>
    package let name: String
    /// When the topic ends and its name is free; nil for never.
    package let expiresAt: Instant?

    package init(key: Key<Topic>, name: String, expiresAt: Instant?) {
        self.key = key
        self.name = name
        self.expiresAt = expiresAt
    }

    /// The normalized form of a topic's name; throws on an empty or over-long one.
    package static func normalized(_ name: String, field: String) throws(InvalidInput) -> String {
        guard !name.isEmpty else { throw InvalidInput(field: field, "is an empty topic name") }
        let lower = name.isLowerASCII ? name : name.lowercased()
        guard lower.utf8.count <= Registration.topicBytesMax else {
            throw InvalidInput(
                field: field, "is \(lower.utf8.count) bytes, the limit is \(Registration.topicBytesMax)")
        }
        return lower
    }

    /// The normalized names; throws on the first invalid one, naming its position.
    package static func normalized(_ names: [String], field: String) throws(InvalidInput) -> [String] {
        var normalized: [String] = []
        normalized.reserveCapacity(names.count)
        for (index, name) in names.enumerated() {
            do {
                normalized.append(try Self.normalized(name, field: ""))
            } catch {
                throw InvalidInput(field: "\(field)[\(index)]", error.problem)
            }
        }
        return normalized
    }
}

extension String {
    /// Most topics are lower-case ASCII already, and `lowercased()` is the most expensive call of a registration.
    fileprivate var isLowerASCII: Bool {
        utf8.allSatisfy { $0 < 0x80 && !(0x41...0x5A).contains($0) }
    }
}
