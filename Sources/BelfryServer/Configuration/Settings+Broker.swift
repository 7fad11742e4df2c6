import BelfryAPI
import FoundationEssentials

extension Broker.Options {
    /// `broker.user`, `broker.password.file`, and `broker.api.url`, the address for bound applications. All of them, or
    /// none.
    init?(_ settings: Settings) {
        let user = settings.optionalString("broker.user")
        let file = settings.optionalString("broker.password.file")
        let apiURL = settings.optionalString("broker.api.url")
        guard user != nil || file != nil || apiURL != nil else { return nil }
        guard let user, let file, let apiURL else {
            settings.note("broker.user, broker.password.file and broker.api.url go together, some of them are not set")
            return nil
        }
        guard let data = settings.contents("broker.password.file", file) else { return nil }
        let password = String(decoding: data, as: UTF8.self).filter { !$0.isNewline }
        guard password.utf8.count >= Self.passwordBytesMin else {
            settings.note("broker.password.file holds less than \(Self.passwordBytesMin) bytes")
            return nil
        }
        self.init(user: user, password: password, apiURL: apiURL)
    }

    /// The fewest bytes of a password. A shorter one might be guessed.
    private static let passwordBytesMin = 16
}
