public import Foundation
public import MessageEncryption

/// The server's address, the platform of the app's devices, and the place where the SDK keeps its state.
public struct BelfryConfiguration: Sendable {
    /// Gives the form of a user's id that the app's back end has signed with the application's shared secret.
    public typealias UserSigner = @Sendable (_ user: String) async throws -> String

    public var server: URL
    public var platform: UUID
    public var platformSecret: String
    /// A folder of the SDK's own, which is made if it is missing. An app and its extensions share one in their app group.
    public var folder: URL
    /// nil sends users' ids as they are, to servers that do not ask for signatures.
    public var signer: UserSigner?

    public init(
        server: URL, platform: UUID, platformSecret: String, folder: URL, signer: UserSigner? = nil
    ) {
        self.server = server
        self.platform = platform
        self.platformSecret = platformSecret
        self.folder = folder
        self.signer = signer
    }
}

/// The facts about this device that an app registers with the server.
public struct Registration: Sendable, Hashable, Codable {
    /// The token, as the platform's provider gave it: for APNs its bytes in hex digits.
    public var token: String
    public var topics: Set<String>
    /// The app's own name for its user; nil for none.
    public var user: String?
    public var alias: String?
    public var system: String
    public var systemVersion: String?
    public var model: String?
    /// The device's attributes, by name. Older servers ignore them.
    public var attributes: [String: String]
    /// A language tag such as `de-CH`.
    public var language: String?
    /// A name of the IANA's such as `Europe/Zurich`.
    public var timeZone: String?
    /// The app's version, such as `5.10.2`.
    public var appVersion: String?
    /// The region that the device is set to, such as `CH`.
    public var country: String?
    /// The keys that senders encrypt with: those of ``MessageKeys``. With nil the server keeps what it has.
    public var encryptionKeys: DeviceKeys?

    public init(
        token: String, topics: Set<String> = [], user: String? = nil, alias: String? = nil, system: String = "ios",
        systemVersion: String? = nil, model: String? = nil, attributes: [String: String] = [:],
        language: String? = Locale.preferredLanguages.first, timeZone: String? = TimeZone.current.identifier,
        appVersion: String? = Bundle.main.object(forInfoDictionaryKey: "CFBundleShortVersionString") as? String,
        country: String? = Locale.current.region?.identifier, encryptionKeys: DeviceKeys? = nil
    ) {
        self.token = token
        self.topics = Set(topics.map { $0.lowercased() })
        self.user = user
        self.alias = alias
        self.system = system
        self.systemVersion = systemVersion
        self.model = model
        self.attributes = attributes
        self.language = language
        self.timeZone = timeZone
        self.appVersion = appVersion
        self.country = country
        self.encryptionKeys = encryptionKeys
    }
}

/// Identifies this very device, so that a phone that was restored from another's backup knows that it is a new one.
public protocol DeviceIdentity: Sendable {
    /// The UUID of this device. It never changes on one device, and differs on every other.
    func identity() throws -> UUID
}
