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
}
