import BelfryService
import FoundationEssentials
import NIOSSL
import Outbound

extension EnteredFields {
    /// An https URL; nil when it was not entered.
    func urlIfAny(_ field: String, schemes: Set<String> = ["https"]) throws(InvalidInput) -> String? {
        guard let text = try textIfAny(field) else { return nil }
        guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), let url = URL(string: text), let scheme = url.scheme,
            schemes.contains(scheme),
            url.host()?.isEmpty == false, url.user() == nil, 1...65_535 ~= url.port ?? 443
        else {
            throw InvalidInput(
                field: field,
                "is not a URL that begins with \(schemes.sorted().map { "\($0)://" }.joined(separator: " or "))")
        }
        return text
    }
}

extension Outbound {
    /// Makes the TLS configuration, or throws with a human-readable reason.
    static func checkedTLS(
        trustRoots: String?, certificate: String? = nil, key: String? = nil
    ) throws(InvalidInput) -> TLSConfiguration? {
        do {
            return try tls(trustRoots: trustRoots, certificate: certificate, key: key)
        } catch {
            let field = certificate == nil ? "trust_root" : "certificate or private_key"
            throw InvalidInput(field: field, "cannot be used: \(error)")
        }
    }
}
