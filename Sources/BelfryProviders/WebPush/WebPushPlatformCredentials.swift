package import BelfryService
import KeyFiles
import Outbound
import WebPush

/// The credentials of a web platform: the key pair that its subscriptions are bound to, and a contact for complaints.
package struct WebPushPlatformCredentials: PlatformCredentials {
    /// The private key, 32 bytes in Base64 for URLs or PEM.
    let vapidKey: String
    /// `mailto:` or `https:`.
    let subject: String?
    /// Certificates in PEM to trust instead of the system's.
    let trustRoots: String?

    package static let fields = ["vapid_key", "subject", "trust_root"]

    /// Without `vapid_key` a new pair is made.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "Web Push", known: Self.fields)
        vapidKey = try fields.textIfAny("vapid_key") ?? VAPIDKey().privateText
        subject = try fields.textIfAny("subject").map(VAPIDSubjectFault.normalized)
        trustRoots = try fields.textIfAny("trust_root")
    }

    /// Subscriptions are bound to the key: another loses them all, so it has to be given.
    package static func kept(beside entered: [String: JSONValue], of old: Self) -> [String: JSONValue] {
        var kept = old.settings(unlessIn: entered)
        if entered["vapid_key", default: .null] == .null { kept["vapid_key"] = .string(old.vapidKey) }
        return kept
    }

    package var entered: [String: JSONValue] {
        ["vapid_key": vapidKey, "subject": subject, "trust_root": trustRoots].compactMapValues {
            $0.map { .string($0) }
        }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        // What is stored goes on: Chrome and Firefox take it.
        if let fault = VAPIDSubjectFault.of(subject), fault.isCertain {
            throw InvalidInput(field: "subject", fault.reason)
        }
        _ = try identity()
        _ = try Outbound.checkedTLS(trustRoots: trustRoots)
    }

    package func published() throws -> [String: String] {
        var published = ["vapid_public_key": try identity().publicKey]
        published["subject"] = subject
        published["warning"] = VAPIDSubjectFault.of(subject).map { "subject \($0)" }
        return published
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try WebPushProvider(self, with: dependencies)
    }

    func identity() throws(InvalidInput) -> VAPID {
        let key: VAPIDKey
        do {
            key = try VAPIDKey(vapidKey)
        } catch {
            let found = vapidKey.contains("BEGIN ") ? ", but it is \(PEMFile.words(for: vapidKey))" : ""
            throw InvalidInput(field: "vapid_key", "cannot be used: \(error)\(found)")
        }
        do {
            return try VAPID(key: key, subject: subject)
        } catch {
            throw InvalidInput(field: "subject", "cannot be used: \(error)")
        }
    }
}
