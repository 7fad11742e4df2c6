/// A path without credentials that serves one application: it has an unguessable part, the key, of which the hash is kept.
///
/// For clients that were written against a server that asked for none.
package struct OpenEndpoint: Sendable, Hashable {
    package let key: Key<OpenEndpoint>
    package let kind: Kind
    package let application: Key<Application>
    /// The networks whose callers are served, such as `10.0.0.0/8`; all when empty.
    package let allowed: [String]
    /// What the kind needs besides, such as a template.
    package let options: [String: String]
    package let createdAt: Instant

    /// What is served there.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The token maintainer of Genero.
        case genero
        /// The push token reporter of Acrobits.
        case acrobitsReporter = "acrobits-reporter"
        /// The push mediator of Acrobits.
        case acrobitsMediator = "acrobits-mediator"
    }

    package static let allowedMax = 64
    package static let optionBytesMax = 4_096

    package init(
        key: Key<OpenEndpoint>, kind: Kind, application: Key<Application>, allowed: [String],
        options: [String: String], createdAt: Instant
    ) {
        self.key = key
        self.kind = kind
        self.application = application
        self.allowed = allowed
        self.options = options
        self.createdAt = createdAt
    }
}

/// An endpoint before it is created.
package struct NewOpenEndpoint: Sendable, Hashable {
    package let kind: OpenEndpoint.Kind
    package let application: Key<Application>
    package let keyHash: [UInt8]
    package let allowed: [String]
    package let options: [String: String]

    package init(
        kind: OpenEndpoint.Kind, application: Key<Application>, keyHash: [UInt8], allowed: [String] = [],
        options: [String: String] = [:]
    ) throws(InvalidInput) {
        guard allowed.count <= OpenEndpoint.allowedMax else {
            throw InvalidInput(
                field: "allowed", "has \(allowed.count) networks, the limit is \(OpenEndpoint.allowedMax)")
        }
        for (name, value) in options where name.utf8.count + value.utf8.count > OpenEndpoint.optionBytesMax {
            throw InvalidInput(field: "options.\(name)", "is longer than \(OpenEndpoint.optionBytesMax) bytes")
        }
        self.kind = kind
        self.application = application
        self.keyHash = keyHash
        self.allowed = allowed
        self.options = options
    }
}
