import FoundationEssentials

/// A path without credentials that serves one application: it has an unguessable part, the key, of which the hash is kept.
///
/// For clients that were written against a server that asked for none.
package struct OpenEndpoint: Sendable, Hashable {
    package let key: Key<OpenEndpoint>
    package let kind: Kind
    package let application: Key<Application>
    /// The networks whose callers are served, such as `10.0.0.0/8`; all when empty.
    package let allowed: [String]
    /// Further settings of the kind, such as a template.
    package let options: [String: String]
    /// Whether the path without a key, which all applications share, leads here too. It is only for callers of `allowed`, whose
    /// networks are then those of one tenant.
    package let isPlain: Bool
    package let createdAt: Instant

    /// The service at the endpoint.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The token maintainer of Genero.
        case genero
        /// The push token reporter of Acrobits.
        case acrobitsReporter = "acrobits-reporter"
        /// The push mediator of Acrobits.
        case acrobitsMediator = "acrobits-mediator"
        /// The gateways of servers that give the device tokens with each message; see `TokenGateway`.
        case matrix, mattermost
        case rocketChat = "rocket-chat"
        case gorush, sip
        /// Messages as an ntfy server takes them.
        case ntfy
        /// Messages as a Gotify server takes them.
        case gotify
        /// Messages of Apprise's `json://`.
        case apprise
        /// The webhooks of Alertmanager and Grafana.
        case alerts

        var isForPublishers: Bool { [.ntfy, .gotify, .apprise, .alerts].contains(self) }
    }

    package static let allowedMax = 64
    package static let optionBytesMax = 4_096

    /// Throws where one more endpoint is not allowed.
    ///
    /// - Parameters:
    ///   - count: of the application, and of all applications of its tenant.
    ///   - plain: those of other tenants that the path without a key leads to.
    package static func check(
        _ new: NewOpenEndpoint, count: (application: Int, tenant: Int), plain: [OpenEndpoint]
    ) throws(StoreError) {
        try RowLimit.openEndpoints.check(count.application)
        try RowLimit.tenantOpenEndpoints.check(count.tenant)
        guard new.isPlain else { return }
        let taken = plain.flatMap(\.allowed).compactMap { NetworkBlock($0) }
        for text in new.allowed {
            guard let block = NetworkBlock(text), taken.contains(where: { $0.overlaps(block) }) else { continue }
            throw .conflict(
                "the path without a key serves another tenant at addresses of \(text): a network there is of one tenant, and "
                    + "others take the path with their key")
        }
    }
}

/// An endpoint before it is created.
package struct NewOpenEndpoint: Sendable, Hashable {
    package let kind: OpenEndpoint.Kind
    package let application: Key<Application>
    package let keyHash: [UInt8]
    package let allowed: [String]
    package let options: [String: String]
    package let isPlain: Bool

    package init(
        kind: OpenEndpoint.Kind, application: Key<Application>, keyHash: [UInt8], allowed: [String] = [],
        options: [String: String] = [:], isPlain: Bool = false
    ) throws(InvalidInput) {
        guard allowed.count <= OpenEndpoint.allowedMax else {
            throw InvalidInput(
                field: "allowed", "has \(allowed.count) networks, the limit is \(OpenEndpoint.allowedMax)")
        }
        // Nothing else is asked of callers there.
        if isPlain, allowed.isEmpty { throw InvalidInput(field: "allowed", "is missing") }
        for (name, value) in options where name.utf8.count + value.utf8.count > OpenEndpoint.optionBytesMax {
            throw InvalidInput(field: "options.\(name)", "is longer than \(OpenEndpoint.optionBytesMax) bytes")
        }
        if kind.isForPublishers { _ = try PublisherOptions(options, of: kind) }
        self.kind = kind
        self.application = application
        self.keyHash = keyHash
        self.allowed = allowed
        self.options = options
        self.isPlain = isPlain
    }
}

/// Opens and closes paths without credentials, each with its line in the audit log.
package struct OpenEndpointService: Sendable {
    let store: any Store

    /// Opens an endpoint. Returns the key too: it is shown once.
    ///
    /// - Parameter isPlain: see `OpenEndpoint.isPlain`; only operators may set it, since all applications share the path.
    package func create(
        _ kind: OpenEndpoint.Kind, of application: Application, allowed: [String] = [],
        options: [String: String] = [:], isPlain: Bool = false, by author: AuditAuthor
    ) async throws -> (endpoint: OpenEndpoint, key: String) {
        let options = kind.takesTokens ? try await platforms(options, of: application, kind) : options
        let key = UUID().lowercased.replacing("-", with: "")
        let new = try NewOpenEndpoint(
            kind: kind, application: application.key, keyHash: SecretHash.of(key), allowed: allowed, options: options,
            isPlain: isPlain)
        if kind.isForPublishers, let template = try PublisherOptions(options, of: kind).template,
            try await store.templateContent(template, of: application.key) == nil
        {
            throw InvalidInput(field: "options.template", "is '\(template.text)', and there is no such template")
        }
        var details = ["kind": kind.rawValue, "allowed": allowed.joined(separator: ", ")]
        if isPlain { details["plain_path"] = "true" }
        let change = AuditedChange(by: author, "open_endpoint.create", application, details)
        return (try await store.audited(change) { try await store.create(new) }, key)
    }

    package func delete(
        _ endpoint: Key<OpenEndpoint>, of application: Application, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(by: author, "open_endpoint.delete", application, ["endpoint": "\(endpoint)"])
        try await store.audited(change, orUnknown: "open endpoint") {
            try await store.delete(endpoint, of: application.key)
        }
    }

    /// The endpoint that a request names by its key.
    package func endpoint(_ kind: OpenEndpoint.Kind, key: String) async throws -> OpenEndpoint? {
        try await store.openEndpoint(kind, keyHash: SecretHash.of(key))
    }
}
