/// Credentials of a Carma customer, as its apps and back ends have them built in.
package struct CarmaAccount: Sendable, Hashable {
    package let key: Key<CarmaAccount>
    package let customerID: Int64
    package let user: String
    /// The form that `PasswordHashing` makes, as text.
    package let passwordHash: [UInt8]
    package let tokenHash: [UInt8]
    package let createdAt: Instant

    package static let userBytesMax = 255
    /// The usual length of a password; shorter ones are easy to guess. They are accepted all the same, since shipped
    /// apps have them built in.
    package static let passwordBytesUsual = 8

    /// The sentence for an operator who gives a short password; nil for one that is long enough.
    package static func warning(of password: String) -> String? {
        let count = password.utf8.count
        return count < passwordBytesUsual
            ? "the password has \(count) bytes; one of \(passwordBytesUsual) or more is guessed less soon" : nil
    }

    package init(
        key: Key<CarmaAccount>, customerID: Int64, user: String, passwordHash: [UInt8], tokenHash: [UInt8],
        createdAt: Instant
    ) {
        self.key = key
        self.customerID = customerID
        self.user = user
        self.passwordHash = passwordHash
        self.tokenHash = tokenHash
        self.createdAt = createdAt
    }
}

/// An app of a Carma customer: its bundle id or package name, and its application here.
package struct CarmaApp: Sendable, Hashable {
    package let key: Key<CarmaApp>
    package let customerID: Int64
    package let appID: String
    package let applicationKey: Key<Application>

    package init(key: Key<CarmaApp>, customerID: Int64, appID: String, applicationKey: Key<Application>) {
        self.key = key
        self.customerID = customerID
        self.appID = appID
        self.applicationKey = applicationKey
    }

    /// The list that the app's contacts are on. Source: the guide's sample has 1000000005.
    package var listID: Int64 { 1_000_000_000 + key.rawValue }
}

/// Messages that a back end sends by naming a trigger and a contact.
package struct CarmaTrigger: Sendable, Hashable {
    package let key: Key<CarmaTrigger>
    package let app: Key<CarmaApp>
    package let template: CarmaTemplate

    package init(key: Key<CarmaTrigger>, app: Key<CarmaApp>, template: CarmaTemplate) {
        self.key = key
        self.app = app
        self.template = template
    }
}
