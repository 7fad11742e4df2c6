import ADM
package import BelfryService
import Outbound

/// The credentials of an Amazon platform: the app's security profile.
package struct ADMPlatformCredentials: PlatformCredentials {
    let clientID: String
    let clientSecret: String
    /// `https://host` in place of Amazon's.
    let endpoint: String?
    /// Certificates in PEM to trust instead of the system's.
    let trustRoots: String?

    package static let fields = ["client_id", "client_secret", "endpoint", "trust_root"]

    /// `endpoint` and `trust_root` are for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "ADM", known: Self.fields)
        clientID = try fields.text("client_id")
        clientSecret = try fields.text("client_secret")
        endpoint = try fields.urlIfAny("endpoint")
        trustRoots = try fields.textIfAny("trust_root")
    }

    package var entered: [String: JSONValue] {
        ["client_id": clientID, "client_secret": clientSecret, "endpoint": endpoint, "trust_root": trustRoots]
            .compactMapValues { $0.map { .string($0) } }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        _ = try Outbound.checkedTLS(trustRoots: trustRoots)
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try ADMProvider(self, with: dependencies)
    }
}
