#if canImport(CNIOBoringSSL)
import CNIOBoringSSL
#elseif canImport(CryptoKit)
import CryptoKit
#else
import Crypto
#endif

/// The hash and the cipher of RFC 8188.
///
/// A server encrypts thousands of messages a second, by BoringSSL itself: five hashes and a cipher of swift-crypto's, with its objects
/// for each, cost ten times as much, which was a fifth of a message.
enum Primitives {
    /// HMAC with SHA-256.
    static func code(of data: [UInt8], key: [UInt8]) -> [UInt8] {
        #if canImport(CNIOBoringSSL)
        [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            var length: UInt32 = 0
            let code = HMAC(EVP_sha256(), key, key.count, data, data.count, buffer.baseAddress, &length)
            precondition(code != nil, "there is no memory")
            count = Int(length)
        }
        #else
        Array(HMAC<SHA256>.authenticationCode(for: data, using: SymmetricKey(data: key)))
        #endif
    }

    /// Encrypts by AES-128-GCM: the ciphertext, then its tag of 16 bytes.
    static func seal(_ text: [UInt8], key: [UInt8], nonce: [UInt8]) throws(MessageEncryptionError) -> [UInt8] {
        #if canImport(CNIOBoringSSL)
        guard let context = EVP_AEAD_CTX_new(EVP_aead_aes_128_gcm(), key, key.count, ContentCoding.tagBytes) else {
            throw .badKeys
        }
        defer { EVP_AEAD_CTX_free(context) }
        let most = text.count + ContentCoding.tagBytes
        let sealed = [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            let isSealed = EVP_AEAD_CTX_seal(
                context, buffer.baseAddress, &count, most, nonce, nonce.count, text, text.count, nil, 0)
            if isSealed != 1 { count = 0 }
        }
        guard sealed.count == most else { throw .badKeys }
        return sealed
        #else
        do {
            let sealed = try AES.GCM.seal(text, using: SymmetricKey(data: key), nonce: AES.GCM.Nonce(data: nonce))
            return Array(sealed.ciphertext) + Array(sealed.tag)
        } catch { throw .badKeys }
        #endif
    }
}
