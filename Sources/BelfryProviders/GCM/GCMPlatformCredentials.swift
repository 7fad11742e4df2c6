package import BelfryService
import GCM
import Outbound

/// The credentials of a platform for `gcm/send`: the server key, and the endpoint. Stored sealed.
package struct GCMPlatformCredentials: PlatformCredentials {
    package let key: String
    /// `https://host/path`; nil for FCM's own, which Google shut down.
    package let endpoint: String?
    /// Certificates in PEM to trust instead of the system's.
    package let trustRootsPEM: String?

    package static let fields = ["gcm_api_key", "endpoint", "trust_root"]

    package init(key: String, endpoint: String? = nil, trustRootsPEM: String? = nil) {
        self.key = key
        self.endpoint = endpoint
        self.trustRootsPEM = trustRootsPEM
    }

    /// Reads `gcm_api_key`, and `endpoint`: the whole URL of the gateway. `trust_root` (PEM) is for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "GCM", known: Self.fields)
        key = try fields.text("gcm_api_key")
        endpoint = try fields.urlIfAny("endpoint")
        trustRootsPEM = try fields.textIfAny("trust_root")
    }

    package var entered: [String: JSONValue] {
        ["gcm_api_key": key, "endpoint": endpoint, "trust_root": trustRootsPEM]
            .compactMapValues { $0.map { .string($0) } }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        guard Outbound.isWord(key) else {
            throw InvalidInput(field: "gcm_api_key", "holds other than visible ASCII")
        }
        _ = try Outbound.checkedTLS(trustRoots: trustRootsPEM)
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try GCMProvider(platform, self, with: dependencies)
    }
}
