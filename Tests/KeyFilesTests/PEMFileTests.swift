import Crypto
import Foundation
import KeyFiles
import Testing

@Suite struct PEMFileTests {
    /// Forms that people, consoles and environment variables give to a key that openssl wrote.
    private static let shapes: [(name: String, made: @Sendable (String) -> String)] = [
        ("as it is", { $0 }),
        ("in one line", { $0.replacing("\n", with: "") }),
        ("in one line with blanks", { $0.replacing("\n", with: " ") }),
        ("without its last line's end", { String($0.dropLast()) }),
        ("48 columns", { columns(48, $0) }),
        ("76 columns", { columns(76, $0) }),
        ("7 columns", { columns(7, $0) }),
        ("CRLF", { $0.replacing("\n", with: "\r\n") }),
        ("CR", { $0.replacing("\n", with: "\r") }),
        ("trailing blanks", { $0.replacing("\n", with: " \t\n") }),
        ("indented", { $0.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n") }),
        ("empty lines", { $0.replacing("\n", with: "\n\n") }),
        ("byte order mark", { "\u{FEFF}\($0)" }),
        ("bag attributes", { "Bag Attributes\n    friendlyName: x\nKey Attributes: <No Attributes>\n\($0)" }),
        ("spelled line ends", { $0.replacing("\n", with: #"\n"#) }),
        ("spelled twice", { $0.replacing("\n", with: #"\\n"#) }),
        ("spelled CRLF", { $0.replacing("\n", with: #"\r\n"#) }),
        (
            "as JSON has it",
            { $0.replacing("\n", with: #"\n"#).replacing("/", with: #"\/"#).replacing("=", with: #"\u003d"#) }
        ),
        ("in quotes", { "\"\($0)\"" }),
        ("bare Base64", { $0.split(separator: "\n").dropFirst().dropLast().joined(separator: "\n") }),
        ("Base64 of all", { Data($0.utf8).base64EncodedString() }),
        ("without padding", { $0.replacing("=", with: "") }),
        ("no-break spaces", { $0.replacing("\n", with: "\n\u{A0}") }),
    ]

    private static func columns(_ count: Int, _ pem: String) -> String {
        let lines = pem.split(separator: "\n")
        let body = Array(lines.dropFirst().dropLast().joined())
        let wrapped = stride(from: 0, to: body.count, by: count).map { String(body[$0..<min($0 + count, body.count)]) }
        return ([String(lines[0])] + wrapped + [String(lines[lines.count - 1])]).joined(separator: "\n") + "\n"
    }

    @Test func `a key is read in every common shape`() throws {
        try OpenSSLFiles.with { files in
            try files.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", files.path("sec1"))
            try files.openssl("pkcs8", "-topk8", "-nocrypt", "-in", files.path("sec1"), "-out", files.path("pkcs8"))
            try files.openssl("ecparam", "-name", "prime256v1", "-genkey", "-out", files.path("parameters"))
            for name in ["sec1", "pkcs8"] {
                let text = try files.text(name)
                let key = try P256.Signing.PrivateKey(pemRepresentation: text).rawRepresentation
                for shape in Self.shapes {
                    let read = try PEMFile(shape.made(text)).privateKey()
                    #expect(
                        try P256.Signing.PrivateKey(derRepresentation: read).rawRepresentation == key, "\(shape.name)")
                }
            }
            let before = try files.text("parameters")
            #expect(before.contains("EC PARAMETERS"))
            for shape in Self.shapes where shape.name != "bare Base64" && !shape.name.hasSuffix("columns") {
                let read = try PEMFile(shape.made(before)).privateKey()
                #expect(throws: Never.self, "\(shape.name)") { try P256.Signing.PrivateKey(derRepresentation: read) }
            }
        }
    }

    @Test func `certificates and RSA keys are read in every shape too`() throws {
        try OpenSSLFiles.with { files in
            try files.makePair()
            try files.openssl("genrsa", "-traditional", "-out", files.path("pkcs1"), "2048")
            let (certificate, key) = (try files.text("own.pem"), try files.text("pkcs1"))
            for shape in Self.shapes {
                #expect(try PEMFile.certificates(in: Array(shape.made(certificate).utf8)).count == 1, "\(shape.name)")
                #expect(throws: Never.self, "\(shape.name)") {
                    try PEMFile.privateKey(in: Array(shape.made(key).utf8))
                }
            }
            let both = "\(certificate)\n\(certificate)\n\(key)"
            #expect(try PEMFile.certificates(in: Array(both.utf8)).count == 2)
            #expect(try PEMFile(both).privateKey() == PEMFile(key).privateKey())
        }
    }

    @Test func `damage is named with its line`() throws {
        try OpenSSLFiles.with { files in
            try files.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", files.path("key"))
            let text = try files.text("key")
            var lines = text.split(separator: "\n").map(String.init)
            lines[2] = "*" + lines[2].dropFirst()
            let cases: [(String, String)] = [
                (lines.joined(separator: "\n"), "line 3 of EC PRIVATE KEY has '*', which is no Base64"),
                (
                    text.split(separator: "\n").dropLast().joined(separator: "\n"),
                    "EC PRIVATE KEY, which begins at line 1, has no END EC PRIVATE KEY: it is cut off"
                ),
                (
                    text.split(separator: "\n").enumerated().filter { $0.offset != 2 }.map(\.element).joined(
                        separator: "\n"),
                    "EC PRIVATE KEY, lines 1 to 4, is cut off: it has"
                ),
                (text.replacing("END EC PRIVATE", with: "END RSA PRIVATE"), "ends as RSA PRIVATE KEY at line 5"),
                (text.replacing("-----BEGIN", with: "----BEGIN"), "line 1 has BEGIN, but not as PEM begins"),
                (text.replacing("-----BEGIN", with: "—BEGIN"), "line 1 has BEGIN, but not as PEM begins"),
                (text.replacing("=", with: "=A"), "which is behind the end of its Base64"),
                (
                    text.split(separator: "\n").dropFirst().joined(separator: "\n"),
                    "line 4 has END EC PRIVATE KEY, and no line before it has BEGIN EC PRIVATE KEY"
                ),
                ("hello", "there is no PEM in it"), ("", "there is no PEM in it"),
                ("-----BEGIN X-----\n-----END X-----", "X, which begins at line 1, is empty"),
            ]
            for (text, words) in cases {
                let error = #expect(throws: KeyFileError.self) { try PEMFile(text) }
                #expect(error?.reason.contains(words) == true, "\(error?.reason ?? "taken") instead of \(words)")
            }
        }
    }

    /// A key's encryption says how often a hash is made.
    @Test func `a key with a passphrase is refused without derivation`() throws {
        try OpenSSLFiles.with { files in
            try files.openssl("genrsa", "-out", files.path("key"), "2048")
            try files.openssl(
                "pkcs8", "-topk8", "-iter", "3000000", "-passout", "pass:x", "-in", files.path("key"), "-out",
                files.path("slow"))
            try files.openssl(
                "rsa", "-traditional", "-aes128", "-passout", "pass:x", "-in", files.path("key"), "-out",
                files.path("old"))
            for name in ["slow", "old"] {
                let error = try #require(throws: KeyFileError.self) { try PEMFile(files.text(name)).privateKey() }
                #expect(error.kind == .passphrase && error.reason.contains("take the passphrase off first"))
            }
        }
    }

    @Test func `a text's contents are named`() throws {
        try OpenSSLFiles.with { files in
            try files.makePair()
            try files.openssl("genrsa", "-out", files.path("rsa"), "2048")
            try files.openssl("ecparam", "-name", "secp384r1", "-genkey", "-out", files.path("p384"))
            try files.openssl("req", "-new", "-subj", "/CN=a", "-key", files.path("rsa"), "-out", files.path("request"))
            #expect(PEMFile.words(for: try files.text("own.pem")) == "a certificate")
            #expect(PEMFile.words(for: try files.text("request")) == "a certificate request")
            #expect(PEMFile.words(for: try files.text("own.key")) == "a P-256 private key")
            #expect(PEMFile.words(for: try files.text("rsa")) == "an RSA 2048 key")
            #expect(PEMFile.words(for: try files.text("p384")) == "a P-384 private key")
            #expect(
                PEMFile.words(for: try files.text("own.pem") + files.text("own.key")) == "certificate and private key")
            #expect(PEMFile.words(for: "hello") == "no PEM at all")
        }
    }
}
