package import FoundationEssentials

/// A device of another service, with fields that suit all services.
package struct ImportRow: Sendable, Hashable {
    /// The types of platform that it may belong to, the likeliest first; empty where its service does not say.
    package var kinds: [PlatformKind] = []
    /// The provider's environment that it belongs to; nil where its service does not say.
    package var mode: Platform.Mode?
    package var token = ""
    /// The id as text. If it is not a UUID, the device gets a new one here.
    package var id: String?
    package var about = Device.About()
    package var customUserID: String?
    package var topics: [String] = []
    package var isActive = true
    package var lastSeenAt: Instant?
    /// Its badge, language and time zone, where its service has them.
    package var detail = DeviceDetail.Change()

    package init() {}

    package var uuid: UUID? { id.flatMap { UUID(uuidString: $0) } }

    /// The device as one of a platform; throws on the first field that cannot be taken.
    package func device(for kind: PlatformKind) throws(InvalidInput) -> DeviceImport {
        guard !token.isEmpty else { throw InvalidInput(field: "token", "is missing") }
        if let customUserID, customUserID.utf16.count > Registration.customUserIDCharactersMax {
            throw InvalidInput(
                field: "custom_user_id",
                "is \(customUserID.utf16.count) characters, the limit is \(Registration.customUserIDCharactersMax)")
        }
        let user = customUserID.flatMap { $0.isEmpty ? nil : $0 }
        return DeviceImport(
            registration: try Registration(
                token: try DeviceToken(token, for: kind), about: about,
                customUserID: user.map { .set($0) } ?? .clear,
                topics: .replace(Set(try Topic.normalized(topics, field: "topics")))),
            uuid: uuid, isActive: isActive, lastSeenAt: lastSeenAt ?? .zero, detail: detail)
    }

    /// Notes language and time zone, and skips what is not a language tag or the name of a time zone: a device is
    /// worth more than its language.
    package mutating func note(language: String?, timeZone: String? = nil) {
        detail.language = (try? DeviceDetail.Change(told: language, timeZone: nil))?.language
        // Some services have an offset in seconds there.
        detail.timeZone = (try? DeviceDetail.Change(told: nil, timeZone: timeZone))?.timeZone.flatMap {
            $0.contains { $0.isLetter } ? $0 : nil
        }
    }

    /// 0 is the default, and a number that no icon can show is ignored.
    package mutating func note(badge: Int64?) {
        detail.badge = badge.flatMap { 1...BadgeChange.keptMax ~= $0 ? $0 : nil }
    }
}
