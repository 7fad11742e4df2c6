package import BelfryService
import Outbound
import PAP

/// The credentials of a BlackBerry platform: the app's id and password, and its gateway.
package struct PAPPlatformCredentials: PlatformCredentials {
    let applicationID: String
    let password: String
    /// The content provider's id, which selects a public gateway.
    let contentProvider: String?
    /// A private gateway.
    let url: String?
    /// Certificates in PEM to trust instead of the system's.
    let trustRoots: String?

    package static let fields = ["application_id", "password", "content_provider_id", "url", "trust_root"]

    /// `application_id` and `password` with `content_provider_id` or `url`.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "BlackBerry", known: Self.fields)
        applicationID = try fields.text("application_id")
        password = try fields.text("password")
        contentProvider = try fields.textIfAny("content_provider_id")
        url = try fields.urlIfAny("url", schemes: ["https", "http"])
        trustRoots = try fields.textIfAny("trust_root")
    }

    /// The two that exclude each other are kept while neither is named.
    package static func kept(beside entered: [String: JSONValue], of old: Self) -> [String: JSONValue] {
        let places = ["content_provider_id", "url"]
        let isNamed = places.contains { entered[$0] != nil }
        return old.settings(unlessIn: entered).filter { !isNamed || !places.contains($0.key) }
    }

    package var entered: [String: JSONValue] {
        [
            "application_id": applicationID, "password": password, "content_provider_id": contentProvider, "url": url,
            "trust_root": trustRoots,
        ].compactMapValues { $0.map { .string($0) } }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        _ = try gateway(mode)
        _ = try Outbound.checkedTLS(trustRoots: trustRoots)
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try PAPProvider(self, mode: platform.mode, with: dependencies)
    }

    /// Platforms in development use the gateway for evaluation.
    func gateway(_ mode: Platform.Mode) throws(InvalidInput) -> String {
        switch (contentProvider, url) {
        case (nil, let url?): return url
        case (let id?, nil):
            guard !id.isEmpty, id.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
                throw InvalidInput(field: "content_provider_id", "has to be digits")
            }
            return PAPCredentials.url(contentProvider: id, isEvaluation: mode == .development)
        case (nil, nil): throw InvalidInput(field: "content_provider_id", "or url is missing")
        case (_?, _?): throw InvalidInput(field: "content_provider_id", "and url exclude each other")
        }
    }
}
