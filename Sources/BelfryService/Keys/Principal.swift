/// An authenticated caller, as limits and idempotency identify it.
package struct Principal: Sendable, Hashable {
    package enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        /// The devices of a platform, which share its secret.
        case devices = 1
        /// The back end of an application.
        case sender = 2
        /// The holder of a key of the admin API.
        case admin = 3
        /// The browsers at one network address, of one web platform.
        case browsers = 4
    }

    package let kind: Kind
    /// The key of the platform, the application or the admin key; for browsers a hash.
    package let id: Int64

    package init(_ kind: Kind, _ id: Int64) {
        self.kind = kind
        self.id = id
    }

    package init(_ platform: Platform) { self.init(.devices, platform.key.rawValue) }

    package init(_ application: Application) { self.init(.sender, application.key.rawValue) }
}
