/// A new application, with its secrets, which are shown this once.
package struct CreatedApplication: Sendable {
    package let application: Application
    package let apiKey: String
    /// 64 hex digits. Source: PCF Push dashboard, "Configuration", shared secret.
    package let sharedSecret: String
}

/// A new platform, with its secret, which is shown this once.
package struct CreatedPlatform: Sendable {
    package let platform: Platform
    /// The secret that its devices authenticate with.
    package let secret: String
}
