package import FoundationEssentials

/// A device of another service, with fields that suit all services.
package struct ImportRow: Sendable, Hashable {
    /// The types of platform that it may belong to, the likeliest first; empty where its service does not say.
    package var kinds: [PlatformKind] = []
    /// The platform whose list it is from; nil where a list is of several.
    package var platform: UUID?
    /// The provider's environment that it belongs to; nil where its service does not say.
    package var mode: Platform.Mode?
    package var token = ""
    /// The id as text. If it is not a UUID, the device gets a new one here.
    package var id: String?
    package var about = Device.About()
    /// Empty clears the id that the device has; nil keeps it.
    package var customUserID: String?
    /// All topics of the device; nil keeps those that it has.
    package var topics: [String]?
    /// Topics besides those, where the list has a part of the device's topics in each row.
    package var addedTopics: [String] = []
    package var isActive = true
    package var lastSeenAt: Instant?
    /// Its badge, language and time zone, where its service has them.
    package var detail = DeviceDetail.Change()
    /// Its app's version, country and attributes.
    package var profile = DeviceProfile()

    package init() {}

    package var uuid: UUID? { id.flatMap { UUID(text: $0) } }

    /// The device as one of a platform; throws on the first field that cannot be taken. Topics with unusable names are skipped, and
    /// overlong texts about the device are cut: a device is worth more than these.
    package func device(for kind: PlatformKind) throws(InvalidInput) -> DeviceImport {
        guard !token.isEmpty else { throw InvalidInput(field: "token", "is missing") }
        if let customUserID, customUserID.utf16.count > Registration.customUserIDCharactersMax {
            throw InvalidInput(
                field: "custom_user_id",
                "is \(customUserID.utf16.count) characters, the limit is \(Registration.customUserIDCharactersMax)")
        }
        try kind.check(detail)
        let user: Registration.Change<String> = customUserID.map { $0.isEmpty ? .clear : .set($0) } ?? .keep
        return DeviceImport(
            registration: try Registration(
                token: try DeviceToken(token, for: kind), about: about.cut, customUserID: user, topics: topicChange,
                detail: detail, profile: profile),
            uuid: uuid, isActive: isActive, lastSeenAt: lastSeenAt ?? .zero)
    }

    private var topicChange: Registration.TopicChange {
        let added = Self.usable(addedTopics)
        guard let topics else { return .change(subscribe: added, unsubscribe: []) }
        return .replace(Self.usable(topics).union(added))
    }

    private static func usable(_ topics: [String]) -> Set<String> {
        Set(topics.compactMap { try? Topic.normalized($0, field: "topics") })
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

    /// Notes what can be kept, and skips the rest: a device is worth more than its attributes.
    package mutating func note(appVersion: String?, country: String?, attributes: JSONValue? = nil) {
        profile.appVersion = (try? DeviceProfile(appVersion: appVersion, country: nil, attributes: [:]))?.appVersion
        profile.country = (try? DeviceProfile(appVersion: nil, country: country, attributes: [:]))?.country
        guard case .object(let members)? = attributes else { return }
        var room = Self.attributeValuesMax
        for member in members where room > 0 {
            guard let read = try? DeviceProfile.attributes(JSONObject([member])) else { continue }
            for (name, values) in read {
                profile.attributes[name] = Array(values.prefix(room))
                room -= min(room, values.count)
            }
        }
    }

    /// The most values of attributes. A device has room for those of two lists, and for its language, time zone, country and version.
    private static let attributeValuesMax = (DeviceLabel.perDevice - 4) / 2

    /// 0 is the default, and a number that no icon can show is ignored.
    package mutating func note(badge: Int64?) {
        detail.badge = badge.flatMap { 1...BadgeChange.keptMax ~= $0 ? $0 : nil }
    }
}

extension Device.About {
    /// Without the ends of overlong texts.
    fileprivate var cut: Self {
        func short(_ text: String?) -> String? { text?.normalized.prefix(bytes: Registration.aboutBytesMax) }
        return Self(
            os: short(os), osVersion: short(osVersion), model: short(model), manufacturer: short(manufacturer),
            alias: short(alias))
    }
}

/// A row's bytes, or a fault where the splitter cannot tell a row from the rest of the text.
package enum RowPiece: Sendable, Hashable {
    case row([UInt8])
    case fault(String)

    /// The longest row; a device of 1,024 topics with 255 bytes each has a quarter of it.
    static let bytesMax = 1 << 20
    var bytes: Int { if case .row(let bytes) = self { bytes.count } else { 0 } }

    static let tooLong = RowPiece.fault("is longer than \(bytesMax) bytes")
}

/// Splits a text into rows while it streams in, with at most one row in memory.
protocol RowSplitter: Sendable {
    /// Throws `InvalidInput` where the text is not of the format; the rest cannot be read then.
    mutating func feed(_ bytes: some Sequence<UInt8>, into rows: inout [RowPiece]) throws(InvalidInput)
    /// Called at the end of the text.
    mutating func finish(into rows: inout [RowPiece]) throws(InvalidInput)
}

/// Chooses the platform of each row.
package struct ImportPlatforms: Sendable {
    private let platforms: [Platform]

    /// - Parameter platforms: of one application.
    package init(_ platforms: [Platform]) { self.platforms = platforms }

    /// The platform of a row: the one whose list it is from, or that of its type, and of its mode where several are of the
    /// type. Where there is one platform alone, rows that do not say their type belong to it.
    package func platform(for row: ImportRow) throws(InvalidInput) -> Platform {
        if let named = platforms.first(where: { $0.uuid == row.platform }) { return named }
        guard !row.kinds.isEmpty else {
            guard let only = platforms.first, platforms.count == 1 else {
                throw InvalidInput(field: "type", "is not said, and there are \(platforms.count) platforms")
            }
            return only
        }
        for kind in row.kinds {
            let fitting = platforms.filter { $0.kind == kind }
            if let only = fitting.first, fitting.count == 1 { return try Self.checked(only, row) }
            guard fitting.isEmpty else {
                let ofMode = fitting.filter { $0.mode == row.mode }
                if ofMode.count == 1 { return ofMode[0] }
                throw InvalidInput(
                    field: "type",
                    "is \(kind.rawValue), and there are \(fitting.count) platforms of it; name the one that is meant")
            }
        }
        throw InvalidInput(
            field: "type", "is \(row.kinds.map(\.rawValue).joined(separator: " or ")), and no platform is of it")
    }

    /// A token of a provider's development is unknown in its production, and the reverse.
    private static func checked(_ platform: Platform, _ row: ImportRow) throws(InvalidInput) -> Platform {
        guard let mode = row.mode, platform.kind.hasModes, mode != platform.mode else { return platform }
        throw InvalidInput(field: "mode", "is \(mode.rawValue), the platform is of \(platform.mode.rawValue)")
    }
}

/// Reads the times that other services write: `2020-03-06T18:52:59`, `2019-06-11 17:46:59.061 UTC`, with or without a zone
/// (then it is UTC), days, and seconds or milliseconds since 1970. No device is older: an earlier
/// time, such as one of the year 26, is none.
enum ImportTime {
    static func read(_ text: String) -> Instant? {
        if let number = Int64(text) { return read(number) }
        var text = text.utf8.count == 10 ? text + "T00:00:00" : text
        guard text.utf8.count >= 19 else { return nil }
        for zone in [" UTC", " GMT"] where text.utf8.reversed().starts(with: zone.utf8.reversed()) {
            text.removeLast(zone.count)
        }
        let blank = text.utf8.index(text.startIndex, offsetBy: 10)
        if text.utf8[blank] == UInt8(ascii: " ") { text.replaceSubrange(blank...blank, with: "T") }
        // As `Z`, `+01:00`, `+0100` or PostgreSQL's `+01`, perhaps behind a blank.
        if let blank = text.utf8.firstIndex(of: UInt8(ascii: " ")) { text.remove(at: blank) }
        let zone = text.utf8.dropFirst(19).drop { $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }
        if zone.count == 3 { text += ":00" }
        if zone.count == 5 { text.insert(":", at: text.utf8.index(text.endIndex, offsetBy: -2)) }
        guard let time = Instant(text: text) ?? Instant(text: text + "Z"), time >= .zero else { return nil }
        return time
    }

    /// Seconds where the number is too small for milliseconds of this century.
    static func read(_ number: Int64) -> Instant? {
        guard 0...4_000_000_000_000 ~= number else { return nil }
        return Instant(milliseconds: number < 100_000_000_000 ? number * 1_000 : number)
    }
}
