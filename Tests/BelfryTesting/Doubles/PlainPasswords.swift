package import BelfryService

/// Keeps passwords as they are, for tests that log in often.
package struct PlainPasswords: PasswordHashing {
    package init() {}

    package func hash(_ password: Password, for caller: DerivationCaller) async throws -> String {
        Self.hash(password.text)
    }

    package func matches(_ password: String, _ hash: String?, for caller: DerivationCaller) async throws -> Bool {
        hash == Self.hash(password)
    }

    package static func hash(_ text: String) -> String { "plain$\(text)" }
}
