/// The second factor of a person's login: an authenticator app that shares a secret with the server, and codes on paper in case its
/// phone is lost.
package struct TwoFactor: Sendable, Hashable {
    /// The secret that the app shares, sealed.
    package let secret: Sealed
    /// The step of the last code that was accepted: no code is accepted twice.
    package let lastStep: Int64
    /// The recovery codes that are left.
    package let recoveryCodeCount: Int

    package init(secret: Sealed, lastStep: Int64, recoveryCodeCount: Int) {
        self.secret = secret
        self.lastStep = lastStep
        self.recoveryCodeCount = recoveryCodeCount
    }
}

/// A code that is good for one login without the authenticator app.
package struct RecoveryCode: Sendable, Hashable {
    /// As it is shown: `abcde-fghjk`.
    package let text: String

    package static let count = 10
    private static let half = 5
    /// Without letters that look like digits. 10 of 32 are 50 bits.
    private static let alphabet = Array("abcdefghjkmnpqrstuvwxyz123456789")

    package static func random(using random: inout some RandomNumberGenerator) -> RecoveryCode {
        let letters = (0..<2 * half).compactMap { _ in alphabet.randomElement(using: &random) }
        return RecoveryCode(letters)
    }

    private init(_ letters: [Character]) {
        text = "\(String(letters.prefix(Self.half)))-\(String(letters.dropFirst(Self.half)))"
    }

    /// Reads a code that a person typed. Capitals, spaces and dashes do not matter. nil when it cannot be such a code.
    package init?(typed text: String) {
        guard text.utf8.count <= 64 else { return nil }
        let letters = text.lowercased().filter { $0 != "-" && $0 != " " }
        guard letters.count == 2 * Self.half, letters.allSatisfy(Self.alphabet.contains) else { return nil }
        self.init(Array(letters))
    }
}
