package import BelfryService
import KeyFiles
import MPNS
import NIOSSL
import Outbound

/// The credentials of a Windows Phone platform: none, or the certificate of an authenticated web service.
package struct MPNSPlatformCredentials: PlatformCredentials {
    /// A chain in PEM, the leaf first.
    let certificate: String?
    /// The key in PEM.
    let privateKey: String?
    /// The suffix of channel hosts; nil for Microsoft's.
    let domain: String?
    /// Certificates in PEM to trust instead of the system's.
    let trustRoots: String?

    package static let fields = ["certificate", "private_key", "domain", "trust_root"]

    /// `certificate` and `private_key` together or neither. `domain` and `trust_root` are for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "MPNS", known: Self.fields)
        certificate = try fields.textIfAny("certificate")
        privateKey = try fields.textIfAny("private_key")
        domain = try fields.textIfAny("domain")
        trustRoots = try fields.textIfAny("trust_root")
        guard (certificate == nil) == (privateKey == nil) else {
            throw InvalidInput(field: "certificate", "and private_key go together")
        }
    }

    package var entered: [String: JSONValue] {
        ["certificate": certificate, "private_key": privateKey, "domain": domain, "trust_root": trustRoots]
            .compactMapValues { $0.map { .string($0) } }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        _ = try tls()
        if domain == "" { throw InvalidInput(field: "domain", "is empty") }
        if let expiry = expiry(now: now), expiry <= now {
            throw InvalidInput(field: "certificate", "expired on \(expiry.text)")
        }
    }

    package func expiry(now: Instant) -> Instant? {
        guard let certificate, let leaf = try? PEMFile.certificates(in: Array(certificate.utf8)).first else {
            return nil
        }
        return Instant(milliseconds: Int64(leaf.notValidAfter) * 1_000)
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try MPNSProvider(self, with: dependencies)
    }

    func tls() throws(InvalidInput) -> TLSConfiguration? {
        try Outbound.checkedTLS(trustRoots: trustRoots, certificate: certificate, key: privateKey)
    }
}
