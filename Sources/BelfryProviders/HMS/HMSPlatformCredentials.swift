package import BelfryService
import HMS
import Outbound

/// The credentials of a platform for Huawei's Push Kit: the app's id and secret, or a service account. Stored sealed.
package struct HMSPlatformCredentials: PlatformCredentials {
    /// The app's id and, with `appSecret`, its login for HMS on Android.
    package let appID: String?
    package let appSecret: String?
    /// The project's id, for sending by v2.
    package let projectID: String?
    /// The JSON that Huawei's API console issues, for HarmonyOS 5 and later.
    package let serviceAccount: String?
    /// `https://host` or `https://host:port`; nil for Huawei's.
    package let endpoint: String?
    package let tokenURL: String?
    /// Certificates in PEM to trust instead of the system's.
    package let trustRootsPEM: String?

    package static let fields = [
        "app_id", "app_secret", "project_id", "service_account", "endpoint", "token_url", "trust_root",
    ]

    /// Creates credentials for v1, or with a project for v2.
    package init(
        appID: String, appSecret: String, projectID: String? = nil, endpoint: String? = nil, tokenURL: String? = nil,
        trustRootsPEM: String? = nil
    ) {
        self.appID = appID
        self.appSecret = appSecret
        self.projectID = projectID
        serviceAccount = nil
        self.endpoint = endpoint
        self.tokenURL = tokenURL
        self.trustRootsPEM = trustRootsPEM
    }

    /// Reads `app_id` and `app_secret`, with or without `project_id`; or `service_account`, the file as a text or as an
    /// object. `endpoint`, `token_url` and `trust_root` (PEM) are for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "HMS", known: Self.fields)
        serviceAccount = try fields.documentIfAny("service_account")
        if serviceAccount == nil {
            appID = try fields.text("app_id")
            appSecret = try fields.text("app_secret")
            projectID = try fields.textIfAny("project_id")
        } else {
            for field in ["app_id", "app_secret", "project_id", "token_url"] where fields[field] != nil {
                throw InvalidInput(field: field, "and service_account exclude each other")
            }
            (appID, appSecret, projectID) = (nil, nil, nil)
        }
        endpoint = try fields.textIfAny("endpoint")
        tokenURL = try fields.urlIfAny("token_url")
        trustRootsPEM = try fields.textIfAny("trust_root")
    }

    package var entered: [String: JSONValue] {
        [
            "app_id": appID, "app_secret": appSecret, "project_id": projectID, "service_account": serviceAccount,
            "endpoint": endpoint, "token_url": tokenURL, "trust_root": trustRootsPEM,
        ].compactMapValues { $0.map { .string($0) } }
    }

    package var unguardedAddresses: [String] {
        ["endpoint": endpoint, "token_url": tokenURL].filter { $1 != nil }.keys.sorted()
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        _ = try open()
        _ = try address()
    }

    package func published() throws -> [String: String] {
        guard let serviceAccount else { return ["app_id": appID].compactMapValues(\.self) }
        let account = try JSONValue(json: serviceAccount.utf8)
        return ["project_id": account["project_id"], "key_id": account["key_id"]].compactMapValues { $0?.stringValue }
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try HMSProvider(self, with: dependencies)
    }

    func open() throws(InvalidInput) -> HMSCredentials {
        do throws(HMSCredentialsError) {
            if let serviceAccount { return try HMSCredentials(serviceAccount: Array(serviceAccount.utf8)) }
            return try HMSCredentials(appID: appID ?? "", appSecret: appSecret ?? "", projectID: projectID)
        } catch {
            if let serviceAccount {
                let isKey = error.reason.hasPrefix("private_key ")
                throw InvalidInput(
                    field: "service_account",
                    "cannot be used: \(error.reason)" + (isKey ? foundKey(in: serviceAccount) : ""))
            }
            throw InvalidInput(field: "app_id", "or app_secret cannot be used: \(error.reason)")
        }
    }

    func address() throws(InvalidInput) -> HMSClient.Configuration {
        var address = HMSClient.Configuration()
        if let endpoint { address.pushURL = try Origin(endpoint, field: "endpoint").text }
        if let tokenURL { address.tokenURL = tokenURL }
        address.tls = try Outbound.checkedTLS(trustRoots: trustRootsPEM)
        return address
    }
}
