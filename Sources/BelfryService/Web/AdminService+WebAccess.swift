import FoundationEssentials

/// An operator's changes to a platform's web access; nil leaves a field as it is.
package struct WebAccessEdit: Sendable, Hashable {
    package let origins: [WebOrigin]?
    package let provesRegistrations: Bool?
    /// Whether pages with the present key are refused from now on.
    package let replacesKey: Bool

    package init(origins: [WebOrigin]? = nil, provesRegistrations: Bool? = nil, replacesKey: Bool = false) {
        self.origins = origins
        self.provesRegistrations = provesRegistrations
        self.replacesKey = replacesKey
    }
}

extension AdminService {
    /// Lets web pages register browsers on a platform, or changes which pages may and how.
    package func setWebAccess(
        of platform: Platform, of application: Application, _ edit: WebAccessEdit, by author: AuditAuthor
    ) async throws -> WebAccess {
        guard platform.kind == .web else {
            throw InvalidInput(
                field: "platform", "is of type \(platform.kind.rawValue), web pages register on type web")
        }
        let known = platform.webAccess
        let key = edit.replacesKey ? nil : known?.key
        let access = try WebAccess(
            key: key ?? RegistrationKey(for: platform.uuid, random: UUID()),
            origins: edit.origins ?? known?.origins ?? [],
            provesRegistrations: edit.provesRegistrations ?? known?.provesRegistrations ?? true)
        let details = [
            "origins": access.origins.map(\.text).joined(separator: " "),
            "proof": String(access.provesRegistrations), "new_key": String(access.key != known?.key),
        ]
        let change = AuditedChange(by: author, "platform.set_web_access", platform, of: application, details)
        try await store.audited(change) { try await store.setWebAccess(of: platform.key, to: access) }
        return access
    }

    /// Ends the registration of browsers by web pages. Registered browsers stay.
    package func endWebAccess(
        of platform: Platform, of application: Application, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(by: author, "platform.end_web_access", platform, of: application)
        try await store.audited(change) { try await store.setWebAccess(of: platform.key, to: nil) }
    }
}
