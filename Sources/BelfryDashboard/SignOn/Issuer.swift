package import BelfryService
package import FoundationEssentials

/// An issuer of OpenID Connect whose people may log in at the dashboard.
package struct Issuer: Sendable, Hashable {
    /// The name in settings, addresses and the audit log.
    package let name: String
    /// The name of the issuer on the login page.
    package let title: String
    /// The issuer identifier, exactly as ID tokens have it.
    package let url: String
    package let clientID: String
    /// nil for a client that PKCE alone protects.
    package let clientSecret: String?
    package let scopes: [String]
    /// The first that matches gives the role. Without rules, people need an account or an invitation.
    package let rules: [RoleRule]
    /// Whether it may be at a private address, and at this machine without TLS.
    package let isPrivate: Bool
    /// Whether e-mail addresses are taken that the issuer does not call verified.
    package let takesUnverifiedEmail: Bool
    /// Certificates in PEM to trust instead of the system's; nil for the system's.
    package let trustRoots: String?

    package init(
        name: String, title: String, url: String, clientID: String, clientSecret: String?, scopes: [String],
        rules: [RoleRule], isPrivate: Bool, takesUnverifiedEmail: Bool, trustRoots: String? = nil
    ) {
        self.name = name
        self.title = title
        self.url = url
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.scopes = scopes
        self.rules = rules
        self.isPrivate = isPrivate
        self.takesUnverifiedEmail = takesUnverifiedEmail
        self.trustRoots = trustRoots
    }

    /// Whether this may be an address of the issuer: HTTPS, or HTTP on this machine where that is allowed.
    package static func isAcceptable(_ url: String, isPrivate: Bool) -> Bool {
        guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !url.contains("#"), !url.contains("@") else {
            return false
        }
        if url.hasPrefix("https://") { return url.utf8.count > 8 }
        let rest = url.dropFirst("http://".count)
        let host = rest.prefix { $0 != "/" && $0 != "?" }
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        return isPrivate && url.hasPrefix("http://") && ["127.0.0.1", "localhost", "[::1]"].contains(String(name))
    }
}

/// A rule that maps a claim to a role: `groups=push-admins:tenant-admin/<tenant UUID>`.
package struct RoleRule: Sendable, Hashable {
    package let claim: String
    /// `*` for any.
    package let value: String
    package let scope: AdminKey.Scope
    /// A tenant or an application; nil for operators.
    package let bounds: UUID?

    /// Throws `InvalidInput` with what is wrong.
    package init(_ text: String, field: String) throws(InvalidInput) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let source = parts.dropLast().joined(separator: ":")
        let role = (parts.last ?? "").split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let pair = source.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard pair.count == 2, !pair[0].isEmpty, !pair[1].isEmpty else {
            throw InvalidInput(
                field: field, "is `\(text.quotable)`, a rule has the form claim=value:role or claim=value:role/UUID")
        }
        (claim, value) = (String(pair[0]), String(pair[1]))
        guard let scope = AdminKey.Scope(rawValue: String(role[0])) else {
            let scopes = AdminKey.Scope.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidInput(
                field: field, "gives the role `\(String(role[0]).quotable)`, it has to be one of: \(scopes)")
        }
        let uuid = role.count == 2 ? UUID(uuidString: String(role[1])) : nil
        guard (scope == .operator) == (role.count == 1), role.count == 1 || uuid != nil else {
            throw InvalidInput(
                field: field,
                "is `\(text.quotable)`: operator takes no UUID, any other role needs that of a tenant or an application"
            )
        }
        self.scope = scope
        bounds = uuid
    }

    /// Whether the claims have the value, alone or in a list. A name with dots is one claim, or a path into objects.
    func matches(_ claims: JSONValue) -> Bool {
        let found = claims[claim] ?? claim.split(separator: ".").reduce(claims as JSONValue?) { $0?[String($1)] }
        switch found {
        case nil, .null: return false
        case .array(let items): return items.contains { value == "*" || $0.flat == value }
        case .some(let single): return value == "*" || single.flat == value
        }
    }
}
