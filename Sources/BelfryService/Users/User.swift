/// A user of an application, by the id that the application chose, with the profile that it set.
///
/// The id is the custom user id of the user's devices. A user who has devices only has an empty profile.
package struct User: Sendable, Hashable {
    package let id: String
    package var profile = UserProfile()
    /// nil for a user without a profile.
    package var createdAt: Instant?
    package var updatedAt: Instant?

    /// The limit on an id, in bytes of UTF-8.
    package static let idBytesMax = 1_024

    /// The id as a name; throws unless it may be a user's. Case counts.
    package static func checked(id: String, field: String = "user_id") throws(InvalidInput) -> String {
        let id = try id.asName(field: field)
        guard id.count <= Registration.customUserIDCharactersMax, id.utf8.count <= idBytesMax else {
            throw InvalidInput(
                field: field,
                "is longer than \(Registration.customUserIDCharactersMax) characters or \(idBytesMax) bytes")
        }
        return id
    }
}

/// The language, time zone and attributes of a user.
package struct UserProfile: Sendable, Hashable {
    /// A language tag such as `de-AT`. Source: RFC 5646.
    package let language: String?
    /// A name of the IANA time zone database, such as `Europe/Vienna`.
    package let timeZone: String?
    package let attributes: [String: UserAttribute]

    package static let attributesMax = 64
    package static let nameBytesMax = 64
    package static let textBytesMax = 1_024
    /// The limit on a language tag and on the name of a time zone.
    package static let tagBytesMax = 64

    package init() { (language, timeZone, attributes) = (nil, nil, [:]) }

    /// Takes values from a store, which were checked before.
    package init(stored language: String?, timeZone: String?, attributes: [String: UserAttribute]) {
        self.language = language
        self.timeZone = timeZone
        self.attributes = attributes
    }

    package init(
        language: String?, timeZone: String?, attributes: [String: UserAttribute]
    ) throws(InvalidInput) {
        self.init(stored: language, timeZone: timeZone, attributes: attributes)
        try Self.check(tag: language, field: "language")
        try Self.check(tag: timeZone, field: "time_zone")
        guard attributes.count <= Self.attributesMax else {
            throw InvalidInput(
                field: "attributes", "has \(attributes.count) attributes, the limit is \(Self.attributesMax)")
        }
        for (name, value) in attributes { try Self.check(name, value) }
    }

    /// Throws unless it may be a language tag, or the name of a time zone.
    package static func check(tag: String?, field: String) throws(InvalidInput) {
        guard let tag else { return }
        guard 1...tagBytesMax ~= tag.utf8.count, tag.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw InvalidInput(field: field, "has to be 1 to \(tagBytesMax) visible ASCII characters")
        }
    }

    private static func check(_ name: String, _ value: UserAttribute) throws(InvalidInput) {
        guard 1...nameBytesMax ~= name.utf8.count else {
            throw InvalidInput(
                field: "attributes", "has a name of \(name.utf8.count) bytes, it has to be 1 to \(nameBytesMax)")
        }
        if case .text(let text) = value, text.utf8.count > textBytesMax {
            throw InvalidInput(
                field: "attributes.\(name)", "is \(text.utf8.count) bytes, the limit is \(textBytesMax)")
        }
    }
}

extension String {
    /// A language tag with case folded; Java and POSIX write `de_AT` for `de-AT`.
    var asLanguage: String { caseFolded.replacing("_", with: "-") }
}

extension UserProfile {
    /// Changes to a profile; nil attributes are removed, others are set.
    package struct Change: Sendable, Hashable {
        package var language: Registration.Change<String>
        package var timeZone: Registration.Change<String>
        package var attributes: [String: UserAttribute?]

        package init(
            language: Registration.Change<String> = .keep, timeZone: Registration.Change<String> = .keep,
            attributes: [String: UserAttribute?] = [:]
        ) {
            self.language = language
            self.timeZone = timeZone
            self.attributes = attributes
        }
    }

    package func changed(by change: Change) throws(InvalidInput) -> UserProfile {
        var attributes = attributes
        for (name, value) in change.attributes { attributes[name.normalized] = value }
        return try UserProfile(
            language: change.language.applied(to: language), timeZone: change.timeZone.applied(to: timeZone),
            attributes: attributes)
    }

    /// This profile, with missing values taken from another.
    package func filled(from other: UserProfile) throws(InvalidInput) -> UserProfile {
        try UserProfile(
            language: language ?? other.language, timeZone: timeZone ?? other.timeZone,
            attributes: attributes.merging(other.attributes) { own, _ in own })
    }
}

extension Registration.Change {
    package func applied(to old: Value?) -> Value? {
        switch self {
        case .keep: old
        case .clear: nil
        case .set(let value): value
        }
    }
}
