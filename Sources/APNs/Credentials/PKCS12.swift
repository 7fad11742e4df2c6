import CNIOBoringSSL
import NIOSSL

/// Opens PKCS#12 files, the form in which Apple's tools export a certificate with its key.
///
/// BoringSSL reads AES (PBES2) as well as the old RC2-40 and 3DES that Keychain Access still writes.
enum PKCS12 {
    static func open(_ bytes: [UInt8], passphrase: String) throws(APNsCredentialsError) -> NIOSSLPKCS12Bundle {
        try check(bytes, passphrase)
        do {
            return try NIOSSLPKCS12Bundle(buffer: bytes, passphrase: Array(passphrase.utf8))
        } catch {
            throw APNsCredentialsError(.p12, "the p12 file cannot be read: \(error)")
        }
    }

    /// Inspects the file first: `NIOSSLPKCS12Bundle` stops the process when a file opens and contains no key, or no
    /// certificate for its key. See APNsCertificateTests, "a key that belongs to another certificate is refused", and
    /// docs/decisions/0025-p12-files-are-looked-into-before-they-are-opened.md.
    private static func check(_ bytes: [UInt8], _ passphrase: String) throws(APNsCredentialsError) {
        ERR_clear_error()
        let text = String(decoding: bytes, as: UTF8.self)
        guard !text.contains("-----BEGIN ") else {
            throw APNsCredentialsError(
                .p12,
                "the file holds \(PEMContents.words(for: text)) in PEM, not PKCS#12; `openssl pkcs12 -export -in certificate.pem -inkey key.pem "
                    + "-out push.p12` makes one of a certificate and its key")
        }
        guard let file = bytes.withUnsafeBytes({ parse($0) }) else {
            throw APNsCredentialsError(.p12, "the bytes are not a PKCS#12 file")
        }
        defer { PKCS12_free(file) }
        var key: OpaquePointer?
        var certificate: OpaquePointer?
        var others: OpaquePointer?
        defer {
            EVP_PKEY_free(key)
            X509_free(certificate)
            free(others)
        }
        guard PKCS12_parse(file, passphrase, &key, &certificate, &others) == 1 else {
            throw failure(isGiven: !passphrase.isEmpty)
        }
        guard key != nil else { throw APNsCredentialsError(.incomplete, "the p12 file holds no private key") }
        guard certificate == nil else { return }
        throw sk_X509_num(others) == 0
            ? APNsCredentialsError(.incomplete, "the p12 file holds no certificate")
            : APNsCredentialsError(.keyMismatch, "the private key in the p12 file belongs to none of its certificates")
    }

    private static func parse(_ bytes: UnsafeRawBufferPointer) -> OpaquePointer? {
        let source = BIO_new_mem_buf(bytes.baseAddress, bytes.count)
        defer { BIO_free(source) }
        return d2i_PKCS12_bio(source, nil)
    }

    private static func free(_ certificates: OpaquePointer?) {
        while let certificate = sk_X509_pop(certificates) { X509_free(certificate) }
        sk_X509_free(certificates)
    }

    /// The last error. The passphrase is checked first, by the file's own MAC.
    ///
    /// - Parameter isGiven: whether there was a passphrase.
    private static func failure(isGiven: Bool) -> APNsCredentialsError {
        let code = ERR_peek_error()
        let reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
        ERR_clear_error()
        switch reason {
        case "INCORRECT_PASSWORD" where isGiven:
            return APNsCredentialsError(.passphrase, "the passphrase does not open the p12 file")
        case "INCORRECT_PASSWORD":
            return APNsCredentialsError(.passphrase, "the p12 file has a passphrase, and none was given")
        case "BAD_PKCS12_DATA": return APNsCredentialsError(.p12, "the bytes are not a PKCS#12 file")
        default: return APNsCredentialsError(.p12, "the p12 file cannot be read: \(reason)")
        }
    }
}
