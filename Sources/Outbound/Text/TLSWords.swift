extension Outbound {
    /// A human-readable form of a TLS error; without the library's own wrapping.
    ///
    /// - Parameter error: the description of an error of NIOSSL. BoringSSL has no other access to its reason.
    public static func tlsWords(_ error: String) -> String {
        for (mark, words) in knownTLSErrors where error.contains(mark) { return words }
        // As in `SSL routines:OPENSSL_internal:UNSUPPORTED_PROTOCOL`.
        guard let reason = error.firstMatch(of: #/OPENSSL_internal:([A-Z0-9_]+)/#) else {
            return "the handshake failed"
        }
        return reason.1.lowercased().replacing("_", with: " ")
    }

    private static let knownTLSErrors = [
        (
            "CERTIFICATE_VERIFY_FAILED",
            "the server's certificate is not trusted: its issuer is unknown, or it has expired"
        ),
        ("failedToValidateHostname", "the server's certificate is for another host"),
        ("unableToValidateCertificate", "the server's certificate is not trusted"),
        ("WRONG_VERSION_NUMBER", "the server does not speak TLS"),
        ("ALERT_UNKNOWN_CA", "the server does not trust our certificate: it knows no issuer of it"),
        ("ALERT_BAD_CERTIFICATE", "the server refuses our certificate"),
        ("ALERT_CERTIFICATE_EXPIRED", "the server refuses our certificate: it has expired"),
        ("ALERT_CERTIFICATE_REVOKED", "the server refuses our certificate: it was revoked"),
        ("CERTIFICATE_REQUIRED", "the server wants a certificate of ours, and was given none"),
    ]
}
