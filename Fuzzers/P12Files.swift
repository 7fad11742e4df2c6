import KeyFiles

/// Whatever is entered as a p12 file, it opens or is refused with a reason, and derives no more than its limits say: here a few
/// thousand iterations, whose cost is that of a short input.
func p12Files(_ bytes: [UInt8]) {
    for passphrase in ["", "secret"] {
        do throws(KeyFileError) {
            let file = try PKCS12File(
                bytes, passphrase: passphrase, budget: DerivationBudget(each: 4_096, total: 8_192))
            precondition(!file.certificates.isEmpty && !file.key.isEmpty)
        } catch {
            precondition(!error.reason.isEmpty)
        }
    }
}
