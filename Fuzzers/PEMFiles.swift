import KeyFiles

/// Whatever is entered as a key or certificate in PEM, it is read or refused with a reason, and described in words.
func pemFiles(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    do throws(KeyFileError) {
        let file = try PEMFile(text)
        precondition(!file.blocks.isEmpty)
        _ = try file.privateKey()
    } catch {
        precondition(!error.reason.isEmpty)
    }
    precondition(!PEMFile.words(for: text).isEmpty)
    _ = try? PEMFile.certificates(in: bytes)
}
