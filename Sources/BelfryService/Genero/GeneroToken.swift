/// A row of the view `genero_tokens`.
package struct GeneroToken: Sendable, Hashable {
    package let id: Int64
    /// `APNS` or `FCM`.
    package let type: String
    /// As the app wrote it.
    package let token: String
    package let badge: Int64
    package let user: String
    /// In UTC, with milliseconds.
    package let registeredAt: String

    package init(id: Int64, type: String, token: String, badge: Int64, user: String, registeredAt: String) {
        self.id = id
        self.type = type
        self.token = token
        self.badge = badge
        self.user = user
        self.registeredAt = registeredAt
    }
}
