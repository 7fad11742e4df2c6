package import FoundationEssentials

/// The details of a device that are kept beside its row, for apps that need them.
package struct DeviceDetail: Sendable, Hashable {
    /// The number on the app's icon, as far as the server counts it.
    package let badge: Int64
    /// The token as the app wrote it, where that is not the usual spelling.
    package let spelling: String?
    /// The language that the device is set to, a tag such as `de-AT`; used where the user's profile has none.
    package let language: String?
    /// The time zone that the device is in, such as `Europe/Vienna`; used where the user's profile has none.
    package let timeZone: String?

    package init(badge: Int64 = 0, spelling: String? = nil, language: String? = nil, timeZone: String? = nil) {
        self.badge = badge
        self.spelling = spelling
        self.language = language
        self.timeZone = timeZone
    }

    /// The details to keep from now on; nil leaves a detail as it is.
    package struct Change: Sendable, Hashable {
        package var badge: Int64?
        package var spelling: String?
        package var language: String?
        package var timeZone: String?

        package init(
            badge: Int64? = nil, spelling: String? = nil, language: String? = nil, timeZone: String? = nil
        ) {
            self.badge = badge
            self.spelling = spelling
            self.language = language
            self.timeZone = timeZone
        }

        /// Reads the tags of a registration and throws where one is invalid. An empty text counts as missing.
        package init(told language: String?, timeZone: String?) throws(InvalidInput) {
            self.init(
                language: language.flatMap { $0.isEmpty ? nil : $0 },
                timeZone: timeZone.flatMap { $0.isEmpty ? nil : $0 })
            try UserProfile.check(tag: self.language, field: "language")
            try UserProfile.check(tag: self.timeZone, field: "time_zone")
        }

        package var isEmpty: Bool { self == Change() }
    }

    package func changed(by change: Change) -> DeviceDetail {
        DeviceDetail(
            badge: change.badge ?? badge, spelling: change.spelling ?? spelling, language: change.language ?? language,
            timeZone: change.timeZone ?? timeZone)
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
