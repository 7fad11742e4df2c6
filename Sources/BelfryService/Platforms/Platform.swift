package import FoundationEssentials

/// One set of provider credentials of an application, and the devices reached with them.
package struct Platform: Sendable, Hashable {
    package let key: Key<Platform>
    package let uuid: UUID
    package let applicationKey: Key<Application>
    package let kind: PlatformKind
    package let mode: Mode
    package let name: String
    /// For people; empty when none was given.
    package let description: String
    /// SHA-256 of the platform secret that devices authenticate with.
    package let secretHash: [UInt8]
    /// The provider's credentials, sealed by the vault. Only the provider's adapter interprets them.
    package let credentials: Sealed
    /// Raised whenever the credentials change, so that a client built from older ones is replaced.
    package let credentialsVersion: Int64
    /// The reason why nothing is sent at present; nil while the platform works.
    package let parked: Parking?
    package let createdAt: Instant
    /// Whether devices were ever imported, so that UUIDs of another server may name some.
    package let hasImports: Bool
    /// The key and the sites for web pages that register browsers here; nil while none may.
    package let webAccess: WebAccess?
    /// The push services of a web platform that refuse our credentials; nothing is sent to their browsers, and others go on.
    package let parkedServices: [ParkedService]
    /// The facts that pages show of the credentials; nil until credentials of an older version have been examined.
    package let facts: CredentialFacts?

    /// The provider's environment that the credentials belong to.
    package enum Mode: String, Sendable, Hashable, CaseIterable {
        case development, production
    }

    package init(
        key: Key<Platform>, uuid: UUID, applicationKey: Key<Application>, kind: PlatformKind, mode: Mode, name: String,
        secretHash: [UInt8], credentials: Sealed, credentialsVersion: Int64, parked: Parking?, createdAt: Instant,
        description: String = "", hasImports: Bool = false, webAccess: WebAccess? = nil,
        parkedServices: [ParkedService] = [], facts: CredentialFacts? = nil
    ) {
        self.key = key
        self.uuid = uuid
        self.applicationKey = applicationKey
        self.kind = kind
        self.mode = mode
        self.name = name
        self.secretHash = secretHash
        self.credentials = credentials
        self.credentialsVersion = credentialsVersion
        self.parked = parked
        self.createdAt = createdAt
        self.description = description
        self.hasImports = hasImports
        self.webAccess = webAccess
        self.parkedServices = parkedServices
        self.facts = facts
    }
}

/// Changes to a platform; nil leaves a field as it is.
package struct PlatformEdit: Sendable, Hashable {
    package let name: Name?
    package let description: Description?
    package let mode: Platform.Mode?

    package init(name: Name? = nil, description: Description? = nil, mode: Platform.Mode? = nil) {
        self.name = name
        self.description = description
        self.mode = mode
    }

    package var isEmpty: Bool { name == nil && description == nil && mode == nil }
}

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
    private static let otherNames = [
        "apns": "ios", "apple": "ios", "iphone": "ios", "fcm": "android-fcm", "firebase": "android-fcm",
        "gcm": "android",
        "hms": "huawei", "adm": "amazon", "webpush": "web", "browser": "web", "wns": "windows8", "windows": "windows8",
        "mpns": "windowsPhone", "blackberry": "bb10",
    ]

    /// The type that is probably meant by another name; nil where none is near.
    package static func meant(
        by name: String, among known: [String] = PlatformKind.allCases.map(\.rawValue)
    ) -> String? {
        otherNames[NearestName.plain(name)] ?? known.nearest(to: name)
    }

    /// The types that a name means. `android` means all Android devices, whichever service reaches them; the names of its
    /// services mean these alone. Source: PCF Push API, "Push a message"; its newer pages have names for the services.
    package var meaning: Set<PlatformKind> { self == .android ? [.android, .androidFCM, .androidBaidu] : [self] }

    package var isApple: Bool {
        if case .apple = self { true } else { false }
    }

    /// Whether its tokens end with the activity or session they are for, so that many dead tokens are no sign of a
    /// wrong setting.
    package var hasFleetingTokens: Bool { self == .apple(.liveActivity) || self == .apple(.pushToTalk) }

    /// Whether its provider keeps development and production apart. Otherwise the mode may be left out and has no meaning.
    package var hasModes: Bool {
        switch self {
        case .apple, .bb10: true
        case .android, .androidFCM, .androidBaidu, .windows8, .windowsPhone, .web, .huawei, .amazon, .webhook: false
        }
    }

    /// Whether its tokens are bytes that apps and back ends spell as hex digits.
    package var spellsTokensInHex: Bool { isApple && self != .apple(.broadcast) }
}

/// In the order of `allCases`. By default, Swift compares and hashes types with raw values by these, and they are texts.
extension PlatformKind: Comparable {
    package static func == (left: PlatformKind, right: PlatformKind) -> Bool { left.place == right.place }

    package static func < (left: PlatformKind, right: PlatformKind) -> Bool { left.place < right.place }

    package func hash(into hasher: inout Hasher) { hasher.combine(place) }

    private var place: UInt8 {
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
        }
    }
}

extension PlatformKind: RawRepresentable, CaseIterable, Codable {
    package static let allCases: [PlatformKind] =
        [
            .ios, .android, .androidFCM, .androidBaidu, .windows8, .windowsPhone, .bb10, .web, .huawei, .amazon,
            .webhook,
        ] + AppleTokenUse.allCases.filter { $0 != .app }.map(PlatformKind.apple)

    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    package init?(rawValue: String) {
        guard let kind = Self.byName[rawValue] else { return nil }
        self = kind
    }

    package var rawValue: String {
        switch self {
        case .apple(.app): "ios"
        case .apple(let use): "ios-\(use.rawValue)"
        case .android: "android"
        case .androidFCM: "android-fcm"
        case .androidBaidu: "android-baidu"
        case .windows8: "windows8"
        case .windowsPhone: "windowsPhone"
        case .bb10: "bb10"
        case .web: "web"
        case .huawei: "huawei"
        case .amazon: "amazon"
        case .webhook: "webhook"
        }
    }
}

/// The reason why no batches of a platform are sent. Refused credentials are tried again automatically; everything else
/// waits for an operator.
package struct Parking: Sendable, Hashable {
    package let cause: Cause
    /// The reason as text for the operator.
    package let detail: String
    package let since: Instant
    /// When the credentials are tried again; nil where an operator has to act.
    package let probe: Probe?

    /// The next attempt with refused credentials, made with waiting batches.
    package struct Probe: Sendable, Hashable {
        package let at: Instant
        /// The number of attempts since the platform was parked.
        package let count: Int

        package init(at: Instant, count: Int) {
            self.at = at
            self.count = count
        }

        /// The first attempt comes after half a minute; each wait doubles, up to a quarter of an hour.
        package static func wait(after count: Int) -> Duration {
            min(.seconds(30) * (1 << min(max(count, 0), 6)), .seconds(15 * 60))
        }

        /// The next attempt after one that was refused.
        package func refused(at now: Instant) -> Probe {
            Probe(at: now + Self.wait(after: count + 1), count: count + 1)
        }
    }

    package enum Cause: String, Sendable, Hashable, CaseIterable {
        /// The provider refuses the key, certificate or topic.
        case credentials
        /// The share of dead tokens exceeded the operator's limit.
        case deadTokens = "dead_tokens"
        /// The operator parked it.
        case `operator`
        /// No provider here delivers to platforms of this type.
        case noProvider = "no_provider"

        /// Whether new credentials resume the platform.
        package var endsWithNewCredentials: Bool { self == .credentials || self == .noProvider }
    }

    package init(cause: Cause, detail: String, since: Instant, probe: Probe? = nil) {
        self.cause = cause
        self.detail = detail
        self.since = since
        self.probe = probe
    }

    /// Refused credentials, tried again after the first wait.
    package init(refused detail: String, at now: Instant) {
        self.init(
            cause: .credentials, detail: detail, since: now,
            probe: Probe(at: now + Probe.wait(after: 0), count: 0))
    }

    /// This parking after an attempt was refused.
    package func refused(_ words: String, at now: Instant) -> Parking {
        Parking(cause: cause, detail: words, since: since, probe: probe?.refused(at: now))
    }

    /// This parking while its credentials are tried.
    package func probed(until end: Instant) -> Parking {
        Parking(cause: cause, detail: detail, since: since, probe: probe.map { Probe(at: end, count: $0.count) })
    }

    /// Whether the credentials may be tried again now.
    package func isProbed(at now: Instant) -> Bool { probe.map { $0.at <= now } ?? false }

    /// The end of a sentence about a fault after which the credentials are tried again, for people.
    ///
    /// - Parameter time: of the next attempt; nil where an operator has to act.
    package static func nextProbe(_ time: String?) -> String { time.map { ", next probe at \($0)" } ?? "" }

    /// When the credentials are tried again, for people; nil where an operator has to act.
    package func nextProbe(at now: Instant) -> String? {
        probe.map { $0.at > now ? "tried again at \($0.at.text)" : "tried again with the next push" }
    }
}
