import CNIOBoringSSL
@_spi(_Unicode) import Swift

/// How a part of a p12 file is encrypted, and what its key costs.
struct Encryption {
    private let cipher: Cipher
    private let derivation: Derivation
    /// Stands in the file for PBES2 and is derived for the older kind.
    private let iv: [UInt8]?

    enum Cipher {
        case aes128, aes192, aes256, tripleDES, twoKeyDES, rc2, rc2Short, rc4, rc4Short

        /// The key in bytes.
        var keySize: Int {
            switch self {
            case .aes128, .twoKeyDES, .rc2, .rc4: 16
            case .aes192, .tripleDES: 24
            case .aes256: 32
            case .rc2Short, .rc4Short: 5
            }
        }

        /// Bytes.
        var ivSize: Int {
            switch self {
            case .aes128, .aes192, .aes256: 16
            case .tripleDES, .twoKeyDES, .rc2, .rc2Short: 8
            case .rc4, .rc4Short: 0
            }
        }
    }

    /// Reads an AlgorithmIdentifier and counts what its key costs.
    init(_ value: BERValue, _ budget: inout DerivationBudget) throws(KeyFileError) {
        var fields = value.children
        let algorithm = try fields.next().oid()
        let parameters = try fields.next(BERValue.sequence)
        if algorithm == .rsa(1, 5, 13) {
            try self.init(pbes2: parameters, &budget)
        } else {
            try self.init(pkcs12: algorithm, parameters, &budget)
        }
    }

    /// Source: RFC 7292 appendix C.
    private init(
        pkcs12 algorithm: OID, _ parameters: BERValue, _ budget: inout DerivationBudget
    ) throws(KeyFileError) {
        switch algorithm {
        case .rsa(1, 12, 1, 1): cipher = .rc4
        case .rsa(1, 12, 1, 2): cipher = .rc4Short
        case .rsa(1, 12, 1, 3): cipher = .tripleDES
        case .rsa(1, 12, 1, 4): cipher = .twoKeyDES
        case .rsa(1, 12, 1, 5): cipher = .rc2
        case .rsa(1, 12, 1, 6): cipher = .rc2Short
        default: throw KeyFileError(.unsupported, "the encryption \(algorithm.dotted) is not supported")
        }
        var fields = parameters.children
        derivation = Derivation(
            salt: try fields.next(BERValue.octets).bytes(), iterations: try fields.next().number(), digest: .sha1)
        iv = nil
        try budget.charge(derivation.iterations, blocks: derivation.blocks(of: cipher.keySize) + 1)
    }

    /// Source: RFC 8018 §6.2 and appendix A.4.
    private init(pbes2 parameters: BERValue, _ budget: inout DerivationBudget) throws(KeyFileError) {
        var parts = parameters.children
        let function = try parts.next(BERValue.sequence)
        var scheme = try parts.next(BERValue.sequence).children
        let algorithm = try scheme.next().oid()
        switch algorithm {
        case .nist(1, 2): cipher = .aes128
        case .nist(1, 22): cipher = .aes192
        case .nist(1, 42): cipher = .aes256
        case .rsa(3, 7): cipher = .tripleDES
        default: throw KeyFileError(.unsupported, "the encryption \(algorithm.dotted) is not supported")
        }
        let iv = try scheme.next(BERValue.octets).bytes()
        guard iv.count == cipher.ivSize else { throw .malformed }
        self.iv = iv
        derivation = try Derivation(pbkdf2: function, keySize: cipher.keySize, &budget)
    }

    /// Decrypts; nil when the passphrase is another.
    func decrypt(_ bytes: [UInt8], _ passphrase: Passphrase) -> [UInt8]? {
        if let iv { return run(bytes, derivation.pbkdf2(passphrase.utf8, count: cipher.keySize), iv) }
        let key = derivation.pkcs12(passphrase.wide, .encryption, count: cipher.keySize)
        let iv = cipher.ivSize == 0 ? [] : derivation.pkcs12(passphrase.wide, .iv, count: cipher.ivSize)
        return run(bytes, key, iv)
    }

    /// Charges the budget for another try.
    func charge(_ budget: inout DerivationBudget) throws(KeyFileError) {
        try budget.charge(derivation.iterations, blocks: derivation.blocks(of: cipher.keySize) + (iv == nil ? 1 : 0))
    }

    private func run(_ bytes: [UInt8], _ derived: [UInt8], _ iv: [UInt8]) -> [UInt8]? {
        let key = cipher == .twoKeyDES ? derived + derived.prefix(8) : derived
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        defer {
            EVP_CIPHER_CTX_free(context)
            ERR_clear_error()
        }
        var plain = [UInt8](repeating: 0, count: bytes.count + 32)
        var (count, last): (CInt, CInt) = (0, 0)
        guard EVP_DecryptInit_ex(context, algorithm, nil, nil, nil) == 1,
            cipher != .rc4Short || EVP_CIPHER_CTX_set_key_length(context, UInt32(key.count)) == 1,
            EVP_DecryptInit_ex(context, nil, nil, key, iv) == 1,
            EVP_DecryptUpdate(context, &plain, &count, bytes, CInt(bytes.count)) == 1
        else { return nil }
        let isWhole = plain.withUnsafeMutableBufferPointer { plain in
            EVP_DecryptFinal_ex(context, plain.baseAddress.map { $0 + Int(count) }, &last) == 1
        }
        return isWhole ? Array(plain.prefix(Int(count + last))) : nil
    }

    private var algorithm: OpaquePointer? {
        switch cipher {
        case .aes128: EVP_aes_128_cbc()
        case .aes192: EVP_aes_192_cbc()
        case .aes256: EVP_aes_256_cbc()
        case .tripleDES, .twoKeyDES: EVP_des_ede3_cbc()
        case .rc2: EVP_rc2_cbc()
        case .rc2Short: EVP_rc2_40_cbc()
        case .rc4, .rc4Short: EVP_rc4()
        }
    }
}

extension Derivation {
    /// Reads the AlgorithmIdentifier of a PBKDF2 and counts what it costs. Source: RFC 8018 appendix A.2.
    init(pbkdf2 value: BERValue, keySize: Int, _ budget: inout DerivationBudget) throws(KeyFileError) {
        var fields = value.children
        let function = try fields.next().oid()
        guard function == .rsa(1, 5, 12) else {
            throw KeyFileError(
                .unsupported, "keys derived by \(function.dotted) are not supported, those by PBKDF2 are")
        }
        var parameters = try fields.next(BERValue.sequence).children
        salt = try parameters.next(BERValue.octets).bytes()
        iterations = try parameters.next().number()
        if let length = try parameters.nextIfAny(BERValue.integer)?.number(), length != keySize {
            throw KeyFileError(.format, "a key of the file is \(length) bytes long where \(keySize) are needed")
        }
        var digest = Digest.sha1
        if let code = try parameters.nextIfAny(BERValue.sequence) {
            var code = code.children
            digest = try Digest(hmac: try code.next().oid())
        }
        self.digest = digest
        try budget.charge(iterations, blocks: blocks(of: keySize))
    }
}

/// A passphrase in the forms that files are encrypted with.
struct Passphrase {
    let utf8: [UInt8]
    /// UTF-16 with a zero behind it. Source: RFC 7292 appendix B.1.
    let wide: [UInt8]
}

extension Passphrase {
    /// The ways in which a program may have taken the text: none at all and an empty one are two, an accent may be a character of its
    /// own or not, and OpenSSL before 1.1 took each byte of the UTF-8 for a character.
    static func spellings(of text: String) -> [Passphrase] {
        if text.isEmpty { return [Passphrase(text), Passphrase(utf8: [], wide: [])] }
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return [Passphrase(text)] }
        var forms: [String] = []
        for form in [text, text.inForm(text._nfc), text.inForm(text._nfd)]
        where !forms.contains(where: { $0.utf8.elementsEqual(form.utf8) }) {
            forms.append(form)
        }
        return forms.map(Passphrase.init)
            + forms.map { Passphrase(utf8: Array($0.utf8), wide: wide($0.utf8.map(UInt16.init))) }
    }

    private init(_ text: String) { self.init(utf8: Array(text.utf8), wide: Self.wide(text.utf16)) }

    private static func wide(_ units: some Sequence<UInt16>) -> [UInt8] {
        units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } + [0, 0]
    }
}

extension String {
    fileprivate func inForm(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var view = UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }
}
