import Crypto
import SwiftASN1

/// What a text in PEM holds, for a person who gave the wrong file.
package enum PEMContents {
    package static func words(for text: String) -> String {
        let parts = text.split(separator: "\n").filter { $0.hasPrefix("-----BEGIN ") }
        guard parts.count < 2 else {
            return parts.map { part in
                part.dropFirst("-----BEGIN ".count).prefix { $0 != "-" }.lowercased()
            }.joined(separator: " and ")
        }
        guard let document = try? PEMDocument(pemString: text) else {
            return text.contains("-----BEGIN ") ? "PEM that is cut off or damaged" : "no PEM at all"
        }
        if (try? P256.Signing.PrivateKey(pemRepresentation: text)) != nil { return "a P-256 private key" }
        if (try? P384.Signing.PrivateKey(pemRepresentation: text)) != nil { return "a P-384 private key" }
        if (try? P521.Signing.PrivateKey(pemRepresentation: text)) != nil { return "a P-521 private key" }
        // A certificate has the numbers of its key in it.
        if document.discriminator == "CERTIFICATE" { return "a certificate" }
        if let bits = rsaBits(document.derBytes) { return "an RSA \(bits) key" }
        switch document.discriminator {
        case "PUBLIC KEY": return "a public key"
        case "ENCRYPTED PRIVATE KEY": return "a private key with a passphrase; take the passphrase off first"
        default: return "\(document.discriminator.lowercased()) of another kind"
        }
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
