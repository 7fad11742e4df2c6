import Crypto
package import NIOSSL

extension PEMFile {
    /// The private key of the text in DER: PKCS#8, SEC1 or PKCS#1. What stands beside it, such as `EC PARAMETERS`, is left out.
    package func privateKey() throws(KeyFileError) -> [UInt8] {
        let keys = Set(blocks.filter { $0.label.hasSuffix("PRIVATE KEY") }.map(\.bytes))
        guard keys.count < 2 else { throw KeyFileError(.format, "it holds \(keys.count) private keys") }
        guard let key = keys.first else { throw KeyFileError(.incomplete, "it holds no private key, but \(words)") }
        guard !key.isEmpty else {
            throw KeyFileError(.passphrase, "it is a private key with a passphrase; take the passphrase off first")
        }
        return key
    }

    /// The certificates of the text in DER, in their order.
    package func certificates() throws(KeyFileError) -> [[UInt8]] {
        let certificates = blocks.filter { ["CERTIFICATE", "X509 CERTIFICATE"].contains($0.label) }.map(\.bytes)
        guard !certificates.isEmpty else { throw KeyFileError(.incomplete, "it holds no certificate, but \(words)") }
        return certificates
    }

    /// The certificates of a text for TLS.
    package static func certificates(in text: [UInt8]) throws(KeyFileError) -> [NIOSSLCertificate] {
        var certificates: [NIOSSLCertificate] = []
        for (index, bytes) in try PEMFile(text).certificates().enumerated() {
            guard let certificate = try? NIOSSLCertificate(bytes: bytes, format: .der) else {
                throw KeyFileError(.format, "certificate \(index + 1) of it is damaged")
            }
            certificates.append(certificate)
        }
        return certificates
    }

    /// The private key of a text for TLS.
    package static func privateKey(in text: [UInt8]) throws(KeyFileError) -> NIOSSLPrivateKey {
        let bytes = try PEMFile(text).privateKey()
        guard let key = try? NIOSSLPrivateKey(bytes: bytes, format: .der) else {
            throw KeyFileError(.format, "its private key is damaged or of a kind that is not supported")
        }
        return key
    }

    /// Describes the contents of a PEM text to a person who gave the wrong file.
    package static func words(for text: String) -> String {
        do throws(KeyFileError) {
            return try PEMFile(text).words
        } catch {
            return text.contains("BEGIN ") || text.contains("-----END ")
                ? "PEM that is damaged: \(error.reason)" : "no PEM at all"
        }
    }

    private var words: String {
        let blocks = blocks.filter { $0.label != "EC PARAMETERS" }
        guard let block = blocks.first, blocks.count == 1 else {
            return (blocks.isEmpty ? self.blocks : blocks).map { $0.label.lowercased() }.joined(separator: " and ")
        }
        if (try? P256.Signing.PrivateKey(derRepresentation: block.bytes)) != nil { return "a P-256 private key" }
        if (try? P384.Signing.PrivateKey(derRepresentation: block.bytes)) != nil { return "a P-384 private key" }
        if (try? P521.Signing.PrivateKey(derRepresentation: block.bytes)) != nil { return "a P-521 private key" }
        // A certificate, and a request for one, has the numbers of its key in it.
        guard block.label.hasSuffix("KEY") else { return "a \(block.label.lowercased())" }
        if block.label.hasSuffix("PRIVATE KEY"), block.bytes.isEmpty {
            return "a private key with a passphrase; take the passphrase off first"
        }
        if let bits = Self.rsaBits(block.bytes) { return "an RSA \(bits) key" }
        return block.label == "PUBLIC KEY" ? "a public key" : "\(block.label.lowercased()) of another kind"
    }

    /// The length of the first number that is longer than any other part of a key: an RSA key's modulus.
    private static func rsaBits(_ der: [UInt8]) -> Int? {
        for place in der.indices.dropLast(4) where der[place] == 0x02 && der[place + 1] == 0x82 {
            let length = Int(der[place + 2]) << 8 | Int(der[place + 3])
            if length >= 128, place + 4 + length <= der.count { return length / 64 * 512 }
        }
        return nil
    }
}

/// Why a file with a key or a certificate cannot be used.
package struct KeyFileError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        /// The bytes are not what the name says, or are damaged.
        case format
        /// The passphrase does not open the file, or there is none.
        case passphrase
        /// A key or a certificate is missing.
        case incomplete
        /// The key belongs to none of the certificates.
        case mismatch
        /// Opening it would cost more than the limits say.
        case cost
        /// An algorithm that is not supported.
        case unsupported
    }

    package let kind: Kind
    /// A human-readable reason; contains no secret.
    package let reason: String

    package var description: String { reason }

    init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }
}
