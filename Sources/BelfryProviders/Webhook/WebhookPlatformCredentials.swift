package import BelfryService
import Outbound
import Webhook

/// The credentials of a webhook platform: its URL, and the secret that signs requests.
package struct WebhookPlatformCredentials: PlatformCredentials {
    let url: String
    let secret: String
    /// Certificates in PEM to trust instead of the system's.
    let trustRoots: String?

    package static let fields = ["url", "secret", "trust_root"]

    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "webhook", known: Self.fields)
        guard let url = try fields.urlIfAny("url") else { throw InvalidInput(field: "url", "is missing") }
        self.url = url
        secret = try fields.text("secret")
        trustRoots = try fields.textIfAny("trust_root")
    }

    package var entered: [String: JSONValue] {
        ["url": url, "secret": secret, "trust_root": trustRoots].compactMapValues { $0.map { .string($0) } }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        _ = try signature()
        _ = try Outbound.checkedTLS(trustRoots: trustRoots)
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try WebhookProvider(self, with: dependencies)
    }

    func signature() throws(InvalidInput) -> WebhookSignature {
        guard let signature = WebhookSignature(secret: secret) else {
            throw InvalidInput(
                field: "secret",
                "has to be \(WebhookSignature.secretBytesMin) bytes or more, as text or as whsec_ with Base64 behind it"
            )
        }
        return signature
    }
}
