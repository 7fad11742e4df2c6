package import FoundationEssentials

/// What is kept of a device beside its row, for apps that need it.
package struct DeviceDetail: Sendable, Hashable {
    /// The number on the app's icon, as far as the server counts it.
    package let badge: Int64
    /// The token as the app wrote it, where that is not the usual spelling.
    package let spelling: String?
    /// What the device is set to, a tag such as `de-AT`; for users whose profile says nothing else.
    package let language: String?
    /// Where the device is, such as `Europe/Vienna`; likewise.
    package let timeZone: String?

    package init(badge: Int64 = 0, spelling: String? = nil, language: String? = nil, timeZone: String? = nil) {
        self.badge = badge
        self.spelling = spelling
        self.language = language
        self.timeZone = timeZone
    }

    /// What is to be kept from now on; nil leaves what is kept.
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

        /// What a registration says; throws where it is no tag. An empty text says nothing.
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
