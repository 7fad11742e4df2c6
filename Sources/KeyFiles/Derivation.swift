import CNIOBoringSSL

/// A hash of PKCS #5 and PKCS #12.
enum Digest {
    case md5, sha1, sha224, sha256, sha384, sha512

    init(_ identifier: OID) throws(KeyFileError) {
        switch identifier {
        case .rsa(2, 5): self = .md5
        case OID(bytes: [0x2B, 0x0E, 0x03, 0x02, 0x1A]): self = .sha1
        case .nist(2, 1): self = .sha256
        case .nist(2, 2): self = .sha384
        case .nist(2, 3): self = .sha512
        case .nist(2, 4): self = .sha224
        default: throw KeyFileError(.unsupported, "the hash \(identifier.dotted) is not supported")
        }
    }

    /// The digest of an HMAC's identifier.
    init(hmac identifier: OID) throws(KeyFileError) {
        switch identifier {
        case .rsa(2, 7): self = .sha1
        case .rsa(2, 8): self = .sha224
        case .rsa(2, 9): self = .sha256
        case .rsa(2, 10): self = .sha384
        case .rsa(2, 11): self = .sha512
        default: throw KeyFileError(.unsupported, "the code \(identifier.dotted) is not supported")
        }
    }

    fileprivate var algorithm: OpaquePointer? {
        switch self {
        case .md5: EVP_md5()
        case .sha1: EVP_sha1()
        case .sha224: EVP_sha224()
        case .sha256: EVP_sha256()
        case .sha384: EVP_sha384()
        case .sha512: EVP_sha512()
        }
    }

    /// Bytes.
    var size: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha224: 28
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// The bytes that it works on at a time.
    fileprivate var block: Int {
        switch self {
        case .md5, .sha1, .sha224, .sha256: 64
        case .sha384, .sha512: 128
        }
    }

    func hmac(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: size)
        var count: UInt32 = 0
        _ = HMAC(algorithm, key, key.count, bytes, bytes.count, &code, &count)
        return code
    }

    /// The hash of the hash of …
    fileprivate func repeated(_ bytes: [UInt8], _ iterations: Int) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: size)
        _ = EVP_Digest(bytes, bytes.count, &hash, nil, algorithm, nil)
        hash.withUnsafeMutableBufferPointer { hash in
            for _ in 1..<max(iterations, 1) {
                _ = EVP_Digest(hash.baseAddress, size, hash.baseAddress, nil, algorithm, nil)
            }
        }
        return hash
    }
}

/// How a key is made of a passphrase: salt, iterations and hash stand in the file.
struct Derivation {
    let salt: [UInt8]
    let iterations: Int
    let digest: Digest

    /// Iterations are made anew for each block of the hash.
    func blocks(of count: Int) -> Int { (count + digest.size - 1) / digest.size }

    /// Source: RFC 8018 §5.2.
    func pbkdf2(_ passphrase: [UInt8], count: Int) -> [UInt8] {
        var key = [UInt8](repeating: 0, count: count)
        passphrase.withUnsafeBytes { passphrase in
            _ = PKCS5_PBKDF2_HMAC(
                passphrase.baseAddress?.assumingMemoryBound(to: CChar.self), passphrase.count, salt, salt.count,
                UInt32(iterations), digest.algorithm, count, &key)
        }
        return key
    }

    /// The purpose of a derived key. Source: RFC 7292 appendix B.3.
    enum Purpose: UInt8 {
        case encryption = 1
        case iv = 2
        case mac = 3
    }

    /// Source: RFC 7292 appendix B.2.
    func pkcs12(_ passphrase: [UInt8], _ purpose: Purpose, count: Int) -> [UInt8] {
        let block = digest.block
        let prefix = [UInt8](repeating: purpose.rawValue, count: block)
        var input = Self.filled(salt, block) + Self.filled(passphrase, block)
        var key: [UInt8] = []
        while true {
            let hash = digest.repeated(prefix + input, iterations)
            key += hash
            if key.count >= count { return Array(key.prefix(count)) }
            let addend = (0..<block).map { hash[$0 % hash.count] }
            for start in stride(from: 0, to: input.count, by: block) {
                var carry = 1
                for place in (0..<block).reversed() {
                    carry += Int(input[start + place]) + Int(addend[place])
                    input[start + place] = UInt8(carry & 0xFF)
                    carry >>= 8
                }
            }
        }
    }

    /// Repeated to a multiple of a block.
    private static func filled(_ bytes: [UInt8], _ block: Int) -> [UInt8] {
        let count = (bytes.count + block - 1) / block * block
        return (0..<count).map { bytes[$0 % bytes.count] }
    }
}

/// The work that opening one file may cost. The file itself says how often a hash is computed for each of its keys, so this is counted
/// before anything is derived.
///
/// A file of OpenSSL takes 2,048 iterations for each of three keys, one of Firefox 600,000. A million cost a third of a second.
package struct DerivationBudget {
    /// The most iterations for one key.
    package static let iterationsMax = 1_000_000
    /// The most iterations for all keys of a file together, each counted for each block of a hash that it takes.
    package static let totalMax = 2_400_000

    private let most: (each: Int, total: Int)
    private var spent = 0

    var totalMax: Int { most.total }

    package init(each: Int = Self.iterationsMax, total: Int = Self.totalMax) { most = (each, total) }

    /// Counts the derivation of a key. Throws when it is beyond the limits.
    ///
    /// - Parameter blocks: how many times the iterations are made for one key.
    mutating func charge(_ iterations: Int, blocks: Int) throws(KeyFileError) {
        guard iterations > 0 else { throw KeyFileError(.format, "a key of the file is derived in no iteration") }
        guard iterations <= most.each else {
            throw KeyFileError(
                .cost,
                "the file asks for \(iterations == .max ? "too many" : String(iterations)) iterations to derive a key, at most "
                    + "\(most.each) are made; export it again with fewer")
        }
        spent += iterations * blocks
        guard spent <= most.total else {
            throw KeyFileError(
                .cost,
                "the keys of the file take more than \(most.total) iterations together; export it again with fewer")
        }
    }
}
