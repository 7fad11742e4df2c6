package import FoundationEssentials

/// What is kept of a device beside its row, for apps that need it.
package struct DeviceDetail: Sendable, Hashable {
    /// The number on the app's icon, as far as the server counts it.
    package let badge: Int64
    /// The token as the app wrote it, where that is not the usual spelling.
    package let spelling: String?

    package init(badge: Int64 = 0, spelling: String? = nil) {
        self.badge = badge
        self.spelling = spelling
    }
}

/// The device that has a token.
package struct TokenHolder: Sendable, Hashable {
    package let device: Key<Device>
    package let uuid: UUID
    package let isActive: Bool

    package init(device: Key<Device>, uuid: UUID, isActive: Bool) {
        self.device = device
        self.uuid = uuid
        self.isActive = isActive
    }
}
