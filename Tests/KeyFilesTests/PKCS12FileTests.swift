import Foundation
import KeyFiles
import NIOSSL
import Testing

@Suite struct PKCS12FileTests {
    @Test(arguments: [
        [], ["-certpbe", "AES-128-CBC", "-keypbe", "AES-192-CBC"], ["-macalg", "sha512"], ["-macalg", "sha1"],
        ["-nomac"],
        ["-nomaciter", "-noiter"], ["-legacy"],
        ["-legacy", "-certpbe", "PBE-SHA1-RC2-40", "-keypbe", "PBE-SHA1-3DES"],
        ["-legacy", "-certpbe", "PBE-SHA1-RC2-128", "-keypbe", "PBE-SHA1-RC2-128"],
        ["-legacy", "-certpbe", "PBE-SHA1-2DES", "-keypbe", "PBE-SHA1-2DES"],
        ["-legacy", "-certpbe", "PBE-SHA1-RC4-128", "-keypbe", "PBE-SHA1-RC4-40"],
        ["-legacy", "-certpbe", "PBE-SHA1-RC2-128", "-keypbe", "PBE-SHA1-3DES", "-nomac"],
        ["-certpbe", "NONE", "-keypbe", "NONE"], ["-certpbe", "DES-EDE3-CBC", "-keypbe", "DES-EDE3-CBC"],
        ["-iter", "600000"],
    ])
    func `a file of openssl opens in every encryption and spelling`(options: [String]) throws {
        try OpenSSLFiles.with { files in
            try files.makePair()
            let passphrases = ["secret", "", "pässwörd", "пароль", "密碼", "🔑🗝️", "  two words "]
            // Derivation of many iterations costs the same for each.
            for passphrase in options.contains("600000") ? Array(passphrases.prefix(1)) : passphrases {
                try files.openssl(
                    [
                        "pkcs12", "-export", "-in", files.path("own.pem"), "-inkey", files.path("own.key"), "-out",
                        files.path("own.p12"), "-passout", "pass:\(passphrase)",
                    ] + options)
                let file = try PKCS12File(try files.bytes("own.p12"), passphrase: passphrase)
                let expected = try PEMFile(try files.text("own.pem")).certificates()
                #expect(file.certificates == expected, "\(passphrase)")
                #expect(throws: Never.self) { try NIOSSLPrivateKey(bytes: file.key, format: .der) }
            }
        }
    }

    /// Keyboards, clipboards and consoles write accents in one of two ways.
    @Test(arguments: [[], ["-macalg", "sha1"], ["-nomac"], ["-legacy"]])
    func `a passphrase opens in either form of its accents`(options: [String]) throws {
        try OpenSSLFiles.with { files in
            try files.makePair()
            let (composed, apart) = ("p\u{E4}ssw\u{F6}rd", "pa\u{308}sswo\u{308}rd")
            for (made, given) in [(composed, apart), (apart, composed)] {
                try files.openssl(
                    [
                        "pkcs12", "-export", "-in", files.path("own.pem"), "-inkey", files.path("own.key"), "-out",
                        files.path("own.p12"), "-passout", "pass:\(made)",
                    ] + options)
                #expect(throws: Never.self) { try PKCS12File(try files.bytes("own.p12"), passphrase: given) }
                #expect(throws: KeyFileError.self) {
                    try PKCS12File(try files.bytes("own.p12"), passphrase: given + "x")
                }
            }
        }
    }

    /// Another spelling costs as much as the first, and more than is left of the budget.
    @Test(arguments: [[], ["-nomac"]])
    func `a budget that ends between two spellings is named`(options: [String]) throws {
        try OpenSSLFiles.with { files in
            try files.makePair()
            try files.openssl(
                [
                    "pkcs12", "-export", "-in", files.path("own.pem"), "-inkey", files.path("own.key"), "-out",
                    files.path("own.p12"), "-iter", "1000", "-passout", "pass:pa\u{308}sswo\u{308}rd",
                ] + options)
            let bytes = try files.bytes("own.p12")
            var limits: [KeyFileError.Kind?: Int] = [:]
            for total in stride(from: 500, through: 40_000, by: 500) {
                let budget = DerivationBudget(each: 1_000_000, total: total)
                do {
                    _ = try PKCS12File(bytes, passphrase: "p\u{E4}ssw\u{F6}rd", budget: budget)
                    limits[nil, default: 0] += 1
                } catch let error as KeyFileError {
                    limits[error.kind, default: 0] += 1
                    #expect(error.reason.contains("\(total) iterations"), "\(total): \(error.reason)")
                }
            }
            #expect(Set(limits.keys) == [nil, .cost], "\(limits)")
        }
    }

    @Test func `a file is read as base64 and PEM`() throws {
        try OpenSSLFiles.with { files in
            let bytes = try files.p12("x")
            let plain = try PKCS12File(bytes, passphrase: "x")
            let data = Data(bytes)
            for text in [
                data.base64EncodedString(),
                data.base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed]),
                data.base64EncodedString(options: [.lineLength64Characters, .endLineWithCarriageReturn]) + "\r\n",
                "-----BEGIN PKCS12-----\n\(data.base64EncodedString())\n-----END PKCS12-----\n",
            ] {
                #expect(try PKCS12File(Array(text.utf8), passphrase: "x").key == plain.key)
            }
        }
    }

    @Test func `a file with too many iterations is refused before derivation`() throws {
        try OpenSSLFiles.with { files in
            try files.makePair()
            let key = Self.shrouded(iterations: 50_000_000)
            let bags = Self.p12(bags: (0..<3).map { _ in Self.shrouded(iterations: 900_000) }, mac: 1)
            for (name, bytes) in [
                ("a key's", Self.p12(bags: [key], mac: 1)),
                ("the code's", Self.p12(bags: [Self.shrouded(iterations: 1)], mac: 50_000_000)),
                (
                    "beyond an Int",
                    Self.p12(
                        bags: [Self.shrouded(iterations: 1)], macBytes: [0x7F] + [UInt8](repeating: 0xFF, count: 11))
                ),
                ("of many keys", bags),
                ("in an inner list", Self.p12(bags: [Self.nested(Self.nested(key))], mac: 1)),
            ] {
                let error = #expect(throws: KeyFileError.self, "\(name)") { try PKCS12File(bytes, passphrase: "x") }
                #expect(error?.kind == .cost, "\(name): \(error?.reason ?? "opened")")
            }
        }
    }

    @Test func `a file with many parts or odd key is refused`() throws {
        let many = Self.p12(bags: (0..<200).map { _ in Self.shrouded(iterations: 1) }, mac: 1)
        #expect(#expect(throws: KeyFileError.self) { try PKCS12File(many, passphrase: "x") }?.kind == .cost)
        let long = Self.p12(bags: [Self.shrouded(iterations: 900_000, keyLength: 1 << 30)], mac: 1)
        let error = #expect(throws: KeyFileError.self) { try PKCS12File(long, passphrase: "x") }
        #expect(error?.reason.contains("is 1073741824 bytes long where 32 are needed") == true)
        let deep = (0..<500).reduce(Self.shrouded(iterations: 1)) { bag, _ in Self.nested(bag) }
        #expect(throws: KeyFileError.self) { try PKCS12File(Self.p12(bags: [deep], mac: 1), passphrase: "x") }
    }

    @Test func `a key of more than 8,192 bits is refused`() {
        let certificate = Self.value(0x30, Self.oid(1, 9, 22, 1) + Self.value(0xA0, Self.value(4, [0x30, 0])))
        let bags = [
            Self.value(0x30, Self.oid(1, 12, 10, 1, 1) + Self.value(0xA0, Self.longKey)),
            Self.value(0x30, Self.oid(1, 12, 10, 1, 3) + Self.value(0xA0, certificate)),
        ]
        let file = Self.value(0x30, Self.value(2, [3]) + Self.contents(bags))
        let error = #expect(throws: KeyFileError.self) { try PKCS12File(file, passphrase: "") }
        #expect(error?.kind == .cost && error?.reason.contains("8200 bits") == true, "\(error?.reason ?? "opened")")
    }

    @Test func `cut and changed files are refused and trap nothing`() throws {
        try OpenSSLFiles.with { files in
            let bytes = try files.p12("x", "-iter", "1")
            for place in stride(from: 0, to: bytes.count, by: 3) {
                #expect(throws: KeyFileError.self) { try PKCS12File(Array(bytes.prefix(place)), passphrase: "x") }
                var changed = bytes
                changed[place] ^= 0x41
                _ = try? PKCS12File(changed, passphrase: "x")
            }
            #expect(throws: KeyFileError.self) { try PKCS12File(bytes, passphrase: "y") }
        }
    }

    // MARK: Files made by hand

    private static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            count < 0x80 ? [UInt8(count)] : [0x83, UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
        return [tag] + length + content
    }

    private static func oid(_ rest: UInt8...) -> [UInt8] { value(6, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D] + rest) }

    private static func number(_ number: Int) -> [UInt8] {
        value(2, [0] + (0..<7).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) })
    }

    /// A bag with a key that is encrypted by PBES2.
    private static func shrouded(iterations: Int, keyLength: Int? = nil) -> [UInt8] {
        let derivation = value(
            0x30, value(4, [1, 2, 3, 4, 5, 6, 7, 8]) + number(iterations) + (keyLength.map(number) ?? []))
        let scheme = value(
            0x30, value(6, [0x60, 0x86, 0x48, 0x01, 0x65, 3, 4, 1, 42]) + value(4, [UInt8](repeating: 0, count: 16)))
        let parameters = value(0x30, value(0x30, oid(1, 5, 12) + derivation) + scheme)
        let key = value(0x30, value(0x30, oid(1, 5, 13) + parameters) + value(4, [UInt8](repeating: 7, count: 32)))
        return value(0x30, oid(1, 12, 10, 1, 2) + value(0xA0, key))
    }

    private static func nested(_ bag: [UInt8]) -> [UInt8] {
        value(0x30, oid(1, 12, 10, 1, 6) + value(0xA0, value(0x30, bag)))
    }

    private static func p12(bags: [[UInt8]], mac: Int) -> [UInt8] {
        p12(bags: bags, macBytes: (0..<8).reversed().map { UInt8(truncatingIfNeeded: mac >> ($0 * 8)) })
    }

    private static func p12(bags: [[UInt8]], macBytes: [UInt8]) -> [UInt8] {
        let digest = value(
            0x30,
            value(0x30, value(6, [0x2B, 0x0E, 3, 2, 0x1A]) + [5, 0]) + value(4, [UInt8](repeating: 0, count: 20)))
        let code = value(0x30, digest + value(4, [1, 2, 3, 4, 5, 6, 7, 8]) + value(2, macBytes))
        return value(0x30, value(2, [3]) + contents(bags) + code)
    }

    private static func contents(_ bags: [[UInt8]]) -> [UInt8] {
        let safe = value(0x30, bags.flatMap(\.self))
        let list = value(0x30, value(0x30, oid(1, 7, 1) + value(0xA0, value(4, safe))))
        return value(0x30, oid(1, 7, 1) + value(0xA0, value(4, list)))
    }

    /// An RSA key of 8,200 bits that is made at once: it is of 2^4100 + 1 and 2^4099 + 1, which are no primes, and nobody checks.
    private static var longKey: [UInt8] {
        func number(_ first: UInt8, _ fill: UInt8, _ last: UInt8) -> [UInt8] {
            [first] + [UInt8](repeating: fill, count: 511) + [last]
        }
        let modulus: [UInt8] = [0] + number(0x80, 0, 0x18) + number(0, 0, 1).dropFirst()
        let (p, q) = (number(0x10, 0, 1), number(0x08, 0, 1))
        // The inverse of 3, by 2^4100 and 2^4099, and of q by p.
        let (byP, byQ) = (number(0x0A, 0xAA, 0xAB), number(0x02, 0xAA, 0xAB))
        let numbers: [[UInt8]] = [[0], modulus, [3], byP, p, q, byP, byQ, [2]]
        return value(
            0x30,
            numbers.flatMap { bytes -> [UInt8] in
                let count = bytes.count
                let length = count < 0x80 ? [UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
                return [2] + length + bytes
            })
    }
}
