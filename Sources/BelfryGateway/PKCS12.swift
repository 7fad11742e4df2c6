import Crypto
import CryptoExtras
import FoundationEssentials

/// A certificate and its key in a file that a passphrase opens.
///
/// The key is encrypted by PBES2 (PBKDF2 of HMAC-SHA-256, AES-256-CBC), the certificate is not, and the whole has a MAC of SHA-256.
/// Source: RFC 7292 §4; RFC 8018 §6.2 and appendix A.
struct PKCS12 {
    let bytes: [UInt8]

    private static let rounds = 210_000
    private static let macRounds = 2_048

    init(certificate: [UInt8], key: [UInt8], passphrase: String) throws {
        let localKeyID = Array(Insecure.SHA1.hash(data: certificate))
        let bags = [
            DER.content(.data, DER.sequence(Self.certificateBag(certificate, localKeyID))),
            DER.content(.data, DER.sequence(try Self.keyBag(key, passphrase, localKeyID))),
        ]
        let safe = DER.sequence(bags.flatMap(\.self))
        bytes = DER.sequence(DER.integer(3) + DER.content(.data, safe) + Self.mac(of: safe, passphrase))
    }

    private static func certificateBag(_ certificate: [UInt8], _ id: [UInt8]) -> [UInt8] {
        let bag = DER.sequence(DER.identifier(.x509Certificate) + DER.explicit(0, DER.octets(certificate)))
        return DER.sequence(DER.identifier(.certificateBag) + DER.explicit(0, bag) + attributes(id))
    }

    private static func keyBag(_ key: [UInt8], _ passphrase: String, _ id: [UInt8]) throws -> [UInt8] {
        let salt = random(16)
        let iv = random(16)
        let secret = try KDF.Insecure.PBKDF2.deriveKey(
            from: Array(passphrase.utf8), salt: salt, using: .sha256, outputByteCount: 32, rounds: rounds)
        let encrypted = try AES._CBC.encrypt(key, using: secret, iv: AES._CBC.IV(ivBytes: iv))
        let derivation = DER.sequence(
            DER.octets(salt) + DER.integer(rounds) + DER.sequence(DER.identifier(.hmacSHA256) + DER.null))
        let parameters = DER.sequence(
            DER.sequence(DER.identifier(.pbkdf2) + derivation)
                + DER.sequence(DER.identifier(.aes256CBC) + DER.octets(iv)))
        let shrouded = DER.sequence(
            DER.sequence(DER.identifier(.pbes2) + parameters) + DER.octets(Array(encrypted)))
        return DER.sequence(DER.identifier(.shroudedKeyBag) + DER.explicit(0, shrouded) + attributes(id))
    }

    /// Says that the key belongs to the certificate.
    private static func attributes(_ id: [UInt8]) -> [UInt8] {
        DER.set(DER.sequence(DER.identifier(.localKeyID) + DER.set(DER.octets(id))))
    }

    private static func mac(of safe: [UInt8], _ passphrase: String) -> [UInt8] {
        let salt = random(8)
        let key = macKey(passphrase, salt)
        let mac = Array(HMAC<SHA256>.authenticationCode(for: safe, using: SymmetricKey(data: key)))
        let digest = DER.sequence(DER.sequence(DER.identifier(.sha256) + DER.null) + DER.octets(mac))
        return DER.sequence(digest + DER.octets(salt) + DER.integer(macRounds))
    }

    /// One block of the derivation of PKCS #12, which is enough for a key of 32 bytes. Source: RFC 7292 appendix B.2, with ID 3.
    private static func macKey(_ passphrase: String, _ salt: [UInt8]) -> [UInt8] {
        let block = 64
        let password = (Array(passphrase.utf16) + [0]).flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        var digest = [UInt8](repeating: 3, count: block) + filled(salt, block) + filled(password, block)
        for _ in 0..<macRounds { digest = Array(SHA256.hash(data: digest)) }
        return digest
    }

    /// Repeated to a multiple of a block.
    private static func filled(_ bytes: [UInt8], _ block: Int) -> [UInt8] {
        let count = (bytes.count + block - 1) / block * block
        return (0..<count).map { bytes[$0 % bytes.count] }
    }

    private static func random(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max) }
    }
}
