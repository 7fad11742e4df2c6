package import BelfryService
import FCM
import FoundationEssentials

/// The credentials of a platform for FCM: a service account, and the endpoint. Stored sealed.
package struct FCMPlatformCredentials: PlatformCredentials {
    /// The JSON that the Firebase console issues.
    package let serviceAccount: String
    /// `https://host` or `https://host:port`; nil for Google's.
    package let endpoint: String?
    /// Certificates in PEM to trust instead of the system's.
    package let trustRootsPEM: String?

    package static let fields = ["service_account", "endpoint", "trust_root"]

    package init(serviceAccount: String, endpoint: String? = nil, trustRootsPEM: String? = nil) {
        self.serviceAccount = serviceAccount
        self.endpoint = endpoint
        self.trustRootsPEM = trustRootsPEM
    }

    /// Reads `service_account`, the file as a text or as an object. `endpoint` and `trust_root` (PEM) are for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "FCM", known: Self.fields)
        guard let account = try fields.documentIfAny("service_account") else {
            throw InvalidInput(field: "service_account", "is missing")
        }
        serviceAccount = account
        endpoint = try fields.textIfAny("endpoint")
        trustRootsPEM = try fields.textIfAny("trust_root")
    }

    package var entered: [String: JSONValue] {
        ["service_account": serviceAccount, "endpoint": endpoint, "trust_root": trustRootsPEM]
            .compactMapValues { $0.map { .string($0) } }
    }

    package var unguardedAddresses: [String] {
        if endpoint != nil { return ["endpoint"] }
        let host = (try? open()).flatMap { URL(string: $0.tokenURI)?.host() }
        return host?.hasSuffix(".googleapis.com") ?? true ? [] : ["service_account.token_uri"]
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        _ = try open()
        _ = try address()
    }

    package func published() throws -> [String: String] {
        let account = try JSONValue(json: serviceAccount.utf8)
        return ["project_id": account["project_id"], "key_id": account["private_key_id"]]
            .compactMapValues { $0?.stringValue }
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try FCMProvider(platform, self, with: dependencies)
    }

    func open() throws(InvalidInput) -> FCMCredentials {
        do throws(FCMCredentialsError) {
            return try FCMCredentials(serviceAccount: Array(serviceAccount.utf8))
        } catch {
            let isKey = error.code == .key
            throw InvalidInput(
                field: "service_account",
                "cannot be used: \(error.reason)" + (isKey ? foundKey(in: serviceAccount) : ""))
        }
    }

    func address() throws(InvalidInput) -> FCMEndpoint {
        var address = FCMEndpoint.production
        if let endpoint {
            let origin = try Origin(endpoint, field: "endpoint")
            address = FCMEndpoint(host: origin.host, port: origin.port)
        }
        address.trustRoots = trustRootsPEM
        return address
    }
}
