package import FoundationEssentials

/// One installation of an app: a token of its platform's provider, and what the app reported about itself.
package struct Device: Sendable, Hashable {
    /// Stops counting inactive devices of a platform here.
    package static let inactiveCountMax = 10_000

    package let key: Key<Device>
    /// The public UUID: an imported one until its app uses `ownUUID`.
    package let uuid: UUID
    /// The UUID that this server assigned; it stays valid beside an imported one.
    package let ownUUID: UUID
    package let platformKey: Key<Platform>
    /// nil when another registration took over the token.
    package let token: DeviceToken?
    package let isActive: Bool
    package let about: About
    package let customUserID: String?
    /// The names of its topics, sorted.
    package let topics: [String]
    /// When the app or the provider last reported this token, by our clock. A provider's verdict older than this does
    /// not count.
    package let registeredAt: Instant
    /// nil unless it was brought over from another server.
    package let importMark: ImportMark?

    /// The app's report on the machine it runs on. Only `osVersion` is ever interpreted.
    package struct About: Sendable, Hashable {
        package var os: String?
        package var osVersion: String?
        package var model: String?
        package var manufacturer: String?
        package var alias: String?

        package init(
            os: String? = nil, osVersion: String? = nil, model: String? = nil, manufacturer: String? = nil,
            alias: String? = nil
        ) {
            self.os = os
            self.osVersion = osVersion
            self.model = model
            self.manufacturer = manufacturer
            self.alias = alias
        }

        /// These values, with missing ones taken from `older`.
        package func filled(from older: About) -> About {
            About(
                os: os ?? older.os, osVersion: osVersion ?? older.osVersion, model: model ?? older.model,
                manufacturer: manufacturer ?? older.manufacturer,
                // An alias that was taken away is stored empty.
                alias: alias ?? older.alias.flatMap { $0.isEmpty ? nil : $0 })
        }
    }

    package init(
        key: Key<Device>, uuid: UUID, platformKey: Key<Platform>, token: DeviceToken?, isActive: Bool, about: About,
        customUserID: String?, topics: [String], registeredAt: Instant, importMark: ImportMark? = nil,
        ownUUID: UUID? = nil
    ) {
        self.key = key
        self.uuid = uuid
        self.platformKey = platformKey
        self.token = token
        self.isActive = isActive
        self.about = about
        self.customUserID = customUserID
        self.topics = topics
        self.registeredAt = registeredAt
        self.importMark = importMark
        self.ownUUID = ownUUID ?? uuid
    }
}

/// Whether a device is inactive, active, or active with support for notification buttons. Ordered by capability.
package enum DeviceState: Int64, Sendable, Hashable, CaseIterable {
    case inactive = 0
    case active = 1
    /// Active, and its system shows notifications with buttons: iOS 8, Android 4.1 or later.
    case interactive = 2
}
