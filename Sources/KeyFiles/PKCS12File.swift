import CNIOBoringSSL

/// A certificate with its key and chain out of a PKCS#12 file, the form in which Apple's tools export them.
///
/// Read by our own reader, since BoringSSL's derives keys in as many iterations as the file asks for, and knows neither RC2 with
/// 128 bits nor files without a code of authentication. See docs/decisions/0025-p12-files-have-a-reader-of-our-own.md.
package struct PKCS12File: Sendable {
    /// The certificates in DER, that of the key first.
    package let certificates: [[UInt8]]
    /// PKCS#8 in DER.
    package let key: [UInt8]

    /// Bytes; a certificate with its chain has some thousand.
    package static let bytesMax = 1 << 20
    /// Encrypted parts, certificates and keys of a file.
    static let partsMax = 128

    /// - Parameter file: the bytes, or their Base64 as a text.
    package init(
        _ file: [UInt8], passphrase: String, budget: DerivationBudget = DerivationBudget()
    ) throws(KeyFileError) {
        let bytes = try Self.binary(file)
        var contents = Contents(budget: budget)
        let integrity = try contents.read(bytes)
        let spellings = try contents.spellings(of: passphrase, integrity)
        try contents.open(spellings, isGiven: !passphrase.isEmpty)
        (certificates, key) = try contents.pair()
    }

    /// Files come as they are, as Base64 and as PEM.
    private static func binary(_ file: [UInt8]) throws(KeyFileError) -> [UInt8] {
        guard file.count <= bytesMax else {
            throw KeyFileError(.format, "the file has \(file.count) bytes, a PKCS#12 file has \(bytesMax) at most")
        }
        guard file.first != BERValue.sequence else { return file }
        let text = String(decoding: file, as: UTF8.self)
        if let blocks = try? PEMFile(text).blocks {
            if blocks.count == 1, ["PKCS12", "PKCS 12"].contains(blocks[0].label) { return blocks[0].bytes }
            if blocks.allSatisfy(\.isHeaded) {
                throw KeyFileError(
                    .format,
                    "the file holds \(PEMFile.words(for: text)) in PEM, not PKCS#12; `openssl pkcs12 -export -in certificate.pem "
                        + "-inkey key.pem -out push.p12` makes one of a certificate and its key")
            }
        }
        guard let bytes = Base64.decode(pasted: file), bytes.first == BERValue.sequence else { throw .malformed }
        return bytes
    }
}

/// The contents of a file: first read as they are, then decrypted.
private struct Contents {
    private var budget: DerivationBudget
    private var encrypted: [(encryption: Encryption, bytes: [UInt8])] = []
    private var shrouded: [(encryption: Encryption, bytes: [UInt8])] = []
    private var keys: [[UInt8]] = []
    private var certificates: [[UInt8]] = []
    private var partCount = 0

    init(budget: DerivationBudget) { self.budget = budget }

    /// The code that says whether the passphrase is right and the file as it was made.
    struct Integrity {
        let derivation: Derivation
        /// The hash of a PBMAC1; nil for the older kind, which derives its key by the rules of PKCS #12.
        let pbmac: Digest?
        let keySize: Int
        let code: [UInt8]
        let contents: [UInt8]

        func matches(_ passphrase: Passphrase) -> Bool {
            let key =
                pbmac == nil
                ? derivation.pkcs12(passphrase.wide, .mac, count: keySize)
                : derivation.pbkdf2(passphrase.utf8, count: keySize)
            return (pbmac ?? derivation.digest).hmac(contents, key: key) == code
        }
    }

    /// Reads all that is not encrypted and counts what the keys cost that are seen; nothing is derived yet.
    mutating func read(_ file: [UInt8]) throws(KeyFileError) -> Integrity? {
        var outer = BERReader(file[...])
        var fields = try outer.next(BERValue.sequence).children
        guard try fields.next().number() == 3 else { throw .malformed }
        var safe = try fields.next(BERValue.sequence).children
        let kind = try safe.next().oid()
        guard kind == .rsa(1, 7, 1) else {
            throw KeyFileError(
                .unsupported, "the file is signed by a key instead of a passphrase, which is not supported")
        }
        var wrapped = try safe.next(BERValue.explicit0).children
        let bytes = try wrapped.next().bytes()
        var list = BERReader(bytes[...], depth: 4)
        var parts = try list.next(BERValue.sequence).children
        while !parts.isAtEnd { try readPart(try parts.next(BERValue.sequence)) }
        guard let code = try fields.nextIfAny(BERValue.sequence) else { return nil }
        return try integrity(code, bytes)
    }

    private mutating func readPart(_ part: BERValue) throws(KeyFileError) {
        var fields = part.children
        let kind = try fields.next().oid()
        var wrapped = try fields.next(BERValue.explicit0).children
        switch kind {
        case .rsa(1, 7, 1): try readBags(try wrapped.next().bytes())
        case .rsa(1, 7, 6):
            var data = try wrapped.next(BERValue.sequence).children
            _ = try data.next(BERValue.integer)
            var content = try data.next(BERValue.sequence).children
            _ = try content.next().oid()
            let encryption = try Encryption(try content.next(BERValue.sequence), &budget)
            try count()
            encrypted.append((encryption, try content.next().bytes()))
        default:
            throw KeyFileError(
                .unsupported, "a part of the file is of kind \(kind.dotted), which no passphrase opens")
        }
    }

    private mutating func readBags(_ bytes: [UInt8]) throws(KeyFileError) {
        var list = BERReader(bytes[...], depth: 8)
        try readBags(of: try list.next(BERValue.sequence))
    }

    /// Source: RFC 7292 §4.2.
    private mutating func readBags(of list: BERValue) throws(KeyFileError) {
        var bags = list.children
        while !bags.isAtEnd {
            try count()
            var bag = try bags.next(BERValue.sequence).children
            let kind = try bag.next().oid()
            var wrapped = try bag.next(BERValue.explicit0).children
            let value = try wrapped.next()
            switch kind {
            case .rsa(1, 12, 10, 1, 1): keys.append([value.tag] + Self.length(value.content.count) + value.content)
            case .rsa(1, 12, 10, 1, 2):
                var fields = value.children
                let encryption = try Encryption(try fields.next(BERValue.sequence), &budget)
                shrouded.append((encryption, try fields.next().bytes()))
            case .rsa(1, 12, 10, 1, 3):
                var fields = value.children
                guard try fields.next().oid() == .rsa(1, 9, 22, 1) else { continue }
                var certificate = try fields.next(BERValue.explicit0).children
                certificates.append(try certificate.next().bytes())
            case .rsa(1, 12, 10, 1, 6): try readBags(of: value)
            // Lists of revoked certificates and secrets of other kinds.
            default: continue
            }
        }
    }

    private mutating func count() throws(KeyFileError) {
        partCount += 1
        guard partCount <= PKCS12File.partsMax else {
            throw KeyFileError(
                .cost, "the file holds more than \(PKCS12File.partsMax) keys, certificates and other parts")
        }
    }

    private mutating func integrity(_ value: BERValue, _ contents: [UInt8]) throws(KeyFileError) -> Integrity {
        var fields = value.children
        var code = try fields.next(BERValue.sequence).children
        var algorithm = try code.next(BERValue.sequence).children
        let kind = try algorithm.next().oid()
        let digest = try code.next(BERValue.octets).bytes()
        guard kind != .rsa(1, 5, 14) else {
            // Source: RFC 9579.
            var parameters = try algorithm.next(BERValue.sequence).children
            let function = try parameters.next(BERValue.sequence)
            var scheme = try parameters.next(BERValue.sequence).children
            let hash = try Digest(hmac: try scheme.next().oid())
            let derivation = try Derivation(pbkdf2: function, keySize: hash.size, &budget)
            return Integrity(
                derivation: derivation, pbmac: hash, keySize: hash.size, code: digest, contents: contents)
        }
        let hash = try Digest(kind)
        let salt = try fields.next(BERValue.octets).bytes()
        let iterations = try fields.nextIfAny(BERValue.integer)?.number() ?? 1
        try budget.charge(iterations, blocks: 1)
        return Integrity(
            derivation: Derivation(salt: salt, iterations: iterations, digest: hash), pbmac: nil, keySize: hash.size,
            code: digest, contents: contents)
    }

    /// The spelling of the passphrase that the file was made with; all of them where the file does not say.
    mutating func spellings(of text: String, _ integrity: Integrity?) throws(KeyFileError) -> [Passphrase] {
        let spellings = Passphrase.spellings(of: text)
        guard let integrity else { return spellings }
        for (place, spelling) in spellings.enumerated() {
            // What a PBMAC1 is made of is the UTF-8 alone.
            guard
                place == 0 || integrity.pbmac == nil
                    || !spellings[..<place].contains(where: { $0.utf8 == spelling.utf8 })
            else { continue }
            // Other spellings are tried for as long as the file is cheap enough.
            guard place == 0 || (try? budget.charge(integrity.derivation.iterations, blocks: 1)) != nil else {
                throw .spellings(tried: place, of: spellings.count, budget)
            }
            if integrity.matches(spelling) { return [spelling] }
        }
        throw .passphrase(isGiven: !text.isEmpty)
    }

    mutating func open(_ spellings: [Passphrase], isGiven: Bool) throws(KeyFileError) {
        for part in encrypted { try readBags(try decrypt(part, spellings, isGiven)) }
        for key in shrouded { keys.append(try decrypt(key, spellings, isGiven)) }
    }

    private mutating func decrypt(
        _ part: (encryption: Encryption, bytes: [UInt8]), _ spellings: [Passphrase], _ isGiven: Bool
    ) throws(KeyFileError) -> [UInt8] {
        for (place, spelling) in spellings.enumerated() {
            guard place == 0 || (try? part.encryption.charge(&budget)) != nil else {
                throw .spellings(tried: place, of: spellings.count, budget)
            }
            // A wrong key leaves a padding that looks right once in 256 times.
            if let plain = part.encryption.decrypt(part.bytes, spelling), plain.first == BERValue.sequence {
                return plain
            }
        }
        throw .passphrase(isGiven: isGiven)
    }

    /// The key with its certificate first.
    func pair() throws(KeyFileError) -> (certificates: [[UInt8]], key: [UInt8]) {
        guard !keys.isEmpty else { throw KeyFileError(.incomplete, "the p12 file holds no private key") }
        guard !certificates.isEmpty else { throw KeyFileError(.incomplete, "the p12 file holds no certificate") }
        guard keys.count <= Self.keysMax else {
            throw KeyFileError(.cost, "the p12 file holds \(keys.count) private keys, at most \(Self.keysMax) are read")
        }
        var refusal: KeyFileError?
        for key in keys {
            do throws(KeyFileError) {
                guard let leaf = try KeyPair.place(of: key, in: certificates) else { continue }
                var others = certificates
                return ([others.remove(at: leaf)] + others, key)
            } catch { refusal = error }
        }
        if let refusal { throw refusal }
        throw KeyFileError(.mismatch, "the private key in the p12 file belongs to none of its certificates")
    }

    /// Comparing a key with a certificate takes a part of a millisecond.
    private static let keysMax = 8

    /// The length of a value as DER has it.
    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        var bytes: [UInt8] = []
        var rest = count
        while rest > 0 {
            bytes.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(bytes.count)] + bytes
    }
}

enum KeyPair {
    /// A handshake takes eight times as long with a key of twice the length.
    private static let bitsMax = 8_192

    /// - Returns: the place of the certificate; nil for none, and for a key that cannot be read.
    static func place(of key: [UInt8], in certificates: [[UInt8]]) throws(KeyFileError) -> Int? {
        defer { ERR_clear_error() }
        let parsed = key.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_AutoPrivateKey(nil, &start, bytes.count)
        }
        defer { EVP_PKEY_free(parsed) }
        guard let key = parsed else { return nil }
        let bits = Int(EVP_PKEY_bits(key))
        guard bits <= Self.bitsMax else {
            throw KeyFileError(
                .cost, "a private key in the p12 file has \(bits) bits, at most \(Self.bitsMax) are taken")
        }
        return certificates.firstIndex { bytes in
            let certificate = bytes.withUnsafeBufferPointer { bytes in
                var start = bytes.baseAddress
                return d2i_X509(nil, &start, bytes.count)
            }
            defer { X509_free(certificate) }
            guard let leaf = certificate else { return false }
            return X509_check_private_key(leaf, key) == 1
        }
    }
}

extension KeyFileError {
    /// Not all spellings of a passphrase were tried.
    fileprivate static func spellings(tried: Int, of count: Int, _ budget: DerivationBudget) -> KeyFileError {
        KeyFileError(
            .cost,
            "the passphrase was tried in \(tried) of the \(count) ways to write its characters, and more would take over "
                + "\(budget.totalMax) iterations; export the p12 file again with fewer, or with a passphrase in ASCII")
    }

    fileprivate static func passphrase(isGiven: Bool) -> KeyFileError {
        KeyFileError(
            .passphrase,
            isGiven ? "the passphrase does not open the p12 file" : "the p12 file has a passphrase, and none was given")
    }
}
