import Foundation

@testable import BelfrySimulators

/// Signatures and digests by the `openssl` command, which shares nothing with the simulators.
enum OpenSSL {
    /// RSA with SHA-256, padded as PKCS #1 v1.5 or PSS say.
    static func sign(_ text: String, keyPEM: String, isPSS: Bool) async throws -> [UInt8] {
        try await Tool.withFile(keyPEM) { key in
            try await Tool.withFile(text) { input in
                let output = input + ".sig"
                defer { try? FileManager.default.removeItem(atPath: output) }
                let padding = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"]
                let arguments = ["dgst", "-sha256", "-sign", key, "-out", output] + (isPSS ? padding : []) + [input]
                _ = try await Tool.run("/usr/bin/openssl", arguments)
                return Array(try Data(contentsOf: URL(fileURLWithPath: output)))
            }
        }
    }

    /// A JWT signed with RS256 or PS256.
    static func jwt(header: String, claims: String, keyPEM: String, isPSS: Bool = false) async throws -> String {
        let text = "\(Base64URL.encode(header.utf8)).\(Base64URL.encode(claims.utf8))"
        return "\(text).\(Base64URL.encode(try await sign(text, keyPEM: keyPEM, isPSS: isPSS)))"
    }
}
