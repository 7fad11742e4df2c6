package import BelfryCore
import HMS

/// What a platform needs to send through Huawei's Push Kit: the app's id and secret. Kept sealed.
package struct HMSPlatformCredentials: PlatformCredentials {
    package let appID: String
    package let appSecret: String
    /// `https://host` or `https://host:port`; nil for Huawei's.
    package let endpoint: String?
    package let tokenURL: String?
    /// Certificates in PEM to trust instead of the system's.
    package let trustRootsPEM: String?

    package init(
        appID: String, appSecret: String, endpoint: String? = nil, tokenURL: String? = nil,
        trustRootsPEM: String? = nil
    ) {
        self.appID = appID
        self.appSecret = appSecret
        self.endpoint = endpoint
        self.tokenURL = tokenURL
        self.trustRootsPEM = trustRootsPEM
    }

    /// From `app_id` and `app_secret`. `endpoint`, `token_url` and `trust_root` (PEM) are for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(
            entered, of: "HMS", known: ["app_id", "app_secret", "endpoint", "token_url", "trust_root"])
        appID = try fields.text("app_id")
        appSecret = try fields.text("app_secret")
        endpoint = try fields.textIfAny("endpoint")
        tokenURL = try fields.textIfAny("token_url")
        trustRootsPEM = try fields.textIfAny("trust_root")
    }

    package var entered: [String: JSONValue] {
        [
            "app_id": appID, "app_secret": appSecret, "endpoint": endpoint, "token_url": tokenURL,
            "trust_root": trustRootsPEM,
        ].compactMapValues { $0.map { .string($0) } }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        _ = try open()
        _ = try address()
    }

    package func makeProvider(for platform: Platform, with means: ProviderMeans) throws -> any DrainableProvider {
        try HMSProvider(platform, self, with: means)
    }

    func open() throws(InvalidInput) -> HMSCredentials {
        do throws(HMSCredentialsError) {
            return try HMSCredentials(appID: appID, appSecret: appSecret)
        } catch {
            throw InvalidInput(field: "app_id", "or app_secret cannot be used: \(error.reason)")
        }
    }

    func address() throws(InvalidInput) -> HMSEndpoint {
        var address = HMSEndpoint.production
        if let endpoint { address.pushURL = try Origin(endpoint, field: "endpoint").text }
        if let tokenURL {
            guard tokenURL.hasPrefix("https://") else {
                throw InvalidInput(field: "token_url", "has to be an https URL")
            }
            address.tokenURL = tokenURL
        }
        address.trustRoots = trustRootsPEM.map { Array($0.utf8) }
        return address
    }
}
