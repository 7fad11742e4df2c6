import APNs

/// Whatever is entered as a p12 file, it opens or is refused with a reason.
func p12Files(_ bytes: [UInt8]) {
    for passphrase in ["", "secret"] {
        do throws(APNsCredentialsError) {
            _ = try APNsCredentials.certificate(p12: bytes, passphrase: passphrase, now: 1_800_000_000)
        } catch {
            precondition(!"\(error)".isEmpty)
        }
    }
}
