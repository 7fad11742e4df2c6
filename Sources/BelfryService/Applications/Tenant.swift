package import FoundationEssentials

/// The owner of applications. Tenants cannot see each other.
package struct Tenant: Sendable, Hashable {
    package let key: Key<Tenant>
    package let uuid: UUID
    package let name: String
    package let createdAt: Instant

    /// The tenant that every database begins with, named `default`. Applications belong to it unless another is named.
    package static let first = Key<Tenant>(1)
}

/// The display name of a tenant, an application, a platform or a key.
package struct Name: Sendable, Hashable {
    package let text: String

    package static let bytesMax = 255

    package init(_ text: String, field: String = "name") throws(InvalidInput) {
        let text = try text.storable(field).normalized
        guard !text.isEmpty, text.utf8.count <= Self.bytesMax else {
            throw InvalidInput(field: field, "has to be 1 to \(Self.bytesMax) bytes, it is \(text.utf8.count)")
        }
        guard !text.allSatisfy(\.isWhitespace) else { throw InvalidInput(field: field, "holds nothing but spaces") }
        self.text = text
    }
}

/// A text that people write about an application or a platform; may be empty.
package struct Description: Sendable, Hashable {
    package let text: String

    package static let bytesMax = 1_024

    package init(_ text: String, field: String = "description") throws(InvalidInput) {
        guard text.utf8.count <= Self.bytesMax else {
            throw InvalidInput(field: field, "is \(text.utf8.count) bytes, the limit is \(Self.bytesMax)")
        }
        self.text = try text.storable(field)
    }
}
