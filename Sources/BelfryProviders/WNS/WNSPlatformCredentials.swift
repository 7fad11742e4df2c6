package import BelfryService
import Outbound
import WNS

/// The credentials of a Windows platform: an app of the Store, or one of Entra ID.
package struct WNSPlatformCredentials: PlatformCredentials {
    let identity: Identity
    /// The token service; nil for Microsoft's.
    let tokenURL: String?
    /// The suffix of channel hosts; nil for Microsoft's.
    let domain: String?
    /// Certificates in PEM to trust instead of the system's.
    let trustRoots: String?

    enum Identity: Sendable, Hashable, Codable {
        case store(packageSID: String, secret: String)
        case entra(tenant: String, clientID: String, secret: String)
    }

    package static let fields = [
        "package_sid", "tenant_id", "client_id", "client_secret", "token_url", "domain", "trust_root",
    ]

    /// Reads `client_secret` with `package_sid`, or with `tenant_id` and `client_id`. `token_url`, `domain` and
    /// `trust_root` are for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "WNS", known: Self.fields)
        let secret = try fields.text("client_secret")
        if fields["package_sid"] != nil {
            guard fields["tenant_id"] == nil, fields["client_id"] == nil else {
                throw InvalidInput(field: "package_sid", "and tenant_id with client_id exclude each other")
            }
            identity = .store(packageSID: try fields.text("package_sid"), secret: secret)
        } else {
            identity = .entra(
                tenant: try fields.text("tenant_id"), clientID: try fields.text("client_id"), secret: secret)
        }
        tokenURL = try fields.urlIfAny("token_url")
        domain = try fields.textIfAny("domain")
        trustRoots = try fields.textIfAny("trust_root")
    }

    package var entered: [String: JSONValue] {
        var values = ["token_url": tokenURL, "domain": domain, "trust_root": trustRoots]
        switch identity {
        case .store(let packageSID, let secret):
            values["package_sid"] = packageSID
            values["client_secret"] = secret
        case .entra(let tenant, let clientID, let secret):
            values["tenant_id"] = tenant
            values["client_id"] = clientID
            values["client_secret"] = secret
        }
        return values.compactMapValues { $0.map { .string($0) } }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        switch identity {
        case .store(let packageSID, _):
            guard packageSID.hasPrefix("ms-app://") else {
                throw InvalidInput(field: "package_sid", "has to begin with ms-app://")
            }
        case .entra(let tenant, _, _):
            guard tenant.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "/") }) else {
                throw InvalidInput(field: "tenant_id", "has to be the id of a directory")
            }
        }
        if domain == "" { throw InvalidInput(field: "domain", "is empty") }
        _ = try Outbound.checkedTLS(trustRoots: trustRoots)
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try WNSProvider(self, with: dependencies)
    }

    var credentials: WNSCredentials {
        switch identity {
        case .store(let packageSID, let secret):
            if let tokenURL {
                .store(packageSID: packageSID, secret: secret, url: tokenURL)
            } else {
                .store(packageSID: packageSID, secret: secret)
            }
        case .entra(let tenant, let clientID, let secret):
            .entra(tenant: tenant, clientID: clientID, secret: secret, url: tokenURL)
        }
    }
}
