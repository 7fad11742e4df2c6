/// The types of platform, by the names that PCF's `os` and `platforms` fields use. Source: PCF Push API 1.6–1.9, "Push
/// a message" and "Register a device". The types from `web` on are our own, and so are Apple's other than `ios`.
package enum PlatformKind: Sendable, Hashable {
    case apple(AppleTokenUse)
    case android
    case androidFCM
    case androidBaidu
    case windows8
    case windowsPhone
    case bb10
    case web
    case huawei
    case amazon
    case webhook
    /// Apple's devices and browsers whose app uses Firebase's SDK, by tokens of FCM.
    case iosFCM
    case webFCM
    /// Not a device: a topic or condition of FCM, whose subscribers FCM alone knows.
    case fcmTopic

    /// The one iOS type that PCF knows.
    package static let ios = PlatformKind.apple(.app)

    /// Finds a type by its name; throws with all known names.
    ///
    /// - Parameter alternatives: what the field accepts besides the types of platform.
    package init(_ name: String, field: String, alternatives: [String] = []) throws(InvalidInput) {
        guard let kind = PlatformKind(rawValue: name) else {
            let known = alternatives + PlatformKind.allCases.map(\.rawValue)
            let meant = Self.meant(by: name, among: known).map { " (is \($0) meant?)" } ?? ""
            throw InvalidInput(
                field: field, "is '\(name.prefix(64))'\(meant), it has to be one of \(known.joined(separator: ", "))")
        }
        self = kind
    }

    /// The types of platform by the names that people give their services or devices.
    private static let otherNames = Dictionary(
        uniqueKeysWithValues: allCases.flatMap { kind in kind.traits.otherNames.map { ($0, kind.rawValue) } })

    /// The type that is probably meant by another name; nil where none is near.
    package static func meant(
        by name: String, among known: [String] = PlatformKind.allCases.map(\.rawValue)
    ) -> String? {
        otherNames[NearestName.plain(name)] ?? known.nearest(to: name)
    }

    /// The types that a name means. `android` means all Android devices, whichever service reaches them; the names of its
    /// services mean these alone. Source: PCF Push API, "Push a message"; its newer pages have names for the services.
    package var meaning: Set<PlatformKind> { self == .android ? [.android, .androidFCM, .androidBaidu] : [self] }

    /// The use of its tokens where its devices take Apple's payload; nil for all others.
    package var appleUse: AppleTokenUse? {
        if case .apple(let use) = traits.payload { use } else { nil }
    }

    package var isApple: Bool { appleUse != nil }

    var isWeb: Bool { self == .web || self == .webFCM }

    /// Whether it stands for subscribers whom its provider alone knows.
    var isChannel: Bool { self == .apple(.broadcast) || self == .fcmTopic }

    /// Whether APNs itself reaches it.
    package var isReachedByAPNs: Bool {
        if case .apple = self { true } else { false }
    }

    /// Whether its tokens end with the activity or session they are for, so that many dead tokens are no sign of a
    /// wrong setting.
    package var hasFleetingTokens: Bool { self == .apple(.liveActivity) || self == .apple(.pushToTalk) }

    /// Whether its tokens are bytes that apps and back ends spell as hex digits.
    package var spellsTokensInHex: Bool { isReachedByAPNs && self != .apple(.broadcast) }
}

/// In the order of `allCases`. By default, Swift compares and hashes types with raw values by these, and they are texts.
extension PlatformKind: Comparable {
    package static func == (left: PlatformKind, right: PlatformKind) -> Bool { left.place == right.place }

    package static func < (left: PlatformKind, right: PlatformKind) -> Bool { left.place < right.place }

    package func hash(into hasher: inout Hasher) { hasher.combine(place) }

    fileprivate var place: UInt8 {
        switch self {
        case .apple(.app): 0
        case .android: 1
        case .androidFCM: 2
        case .androidBaidu: 3
        case .windows8: 4
        case .windowsPhone: 5
        case .bb10: 6
        case .web: 7
        case .huawei: 8
        case .amazon: 9
        case .webhook: 10
        case .apple(.voip): 11
        case .apple(.complication): 12
        case .apple(.fileProvider): 13
        case .apple(.location): 14
        case .apple(.mdm): 15
        case .apple(.liveActivity): 16
        case .apple(.liveActivityStart): 17
        case .apple(.pushToTalk): 18
        case .apple(.widgets): 19
        case .apple(.controls): 20
        case .apple(.broadcast): 21
        case .iosFCM: 22
        case .webFCM: 23
        case .fcmTopic: 24
        }
    }
}

extension PlatformKind: RawRepresentable, CaseIterable, Codable {
    package static let allCases: [PlatformKind] =
        [
            .ios, .android, .androidFCM, .androidBaidu, .windows8, .windowsPhone, .bb10, .web, .huawei, .amazon,
            .webhook,
        ] + AppleTokenUse.allCases.filter { $0 != .app }.map(PlatformKind.apple) + [.iosFCM, .webFCM, .fcmTopic]

    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    package init?(rawValue: String) {
        guard let kind = Self.byName[rawValue] else { return nil }
        self = kind
    }

    package var rawValue: String { traits.name }
}

// The only list of the types of platform with what their providers say of them.

extension PlatformKind {
    package var traits: PlatformTraits { Self.traits[Int(place)] }

    private static let traits = allCases.map(\.declared)

    private var declared: PlatformTraits {
        switch self {
        case .apple(let use): .apns(use)
        case .android: .gcm
        case .androidFCM: .fcm
        case .androidBaidu: .baidu
        case .windows8: .wns
        case .windowsPhone: .mpns
        case .bb10: .pap
        case .web: .webPush
        case .huawei: .hms
        case .amazon: .adm
        case .webhook: .webhook
        case .iosFCM: .fcmForApple
        case .webFCM: .fcmForWeb
        case .fcmTopic: .fcmTopic
        }
    }

    /// The types that most new apps need, in the order in which pages offer them.
    static let offeredFirst: [PlatformKind] =
        [.ios, .androidFCM, .web, .webhook, .iosFCM, .webFCM, .fcmTopic]
        + allCases.filter { $0.isReachedByAPNs && $0 != .ios }

    /// The other types that one may add, the oldest last.
    static let offeredLater = allCases.reversed().filter { !offeredFirst.contains($0) }

    /// The name that people use.
    package var title: String { traits.title }

    /// Whether its provider keeps development and production apart. Otherwise the mode may be left out and has no meaning.
    package var hasModes: Bool { traits.hasModes }

    var androidForm: AndroidForm {
        if case .android(let form) = traits.payload { form } else { AndroidForm() }
    }
}
