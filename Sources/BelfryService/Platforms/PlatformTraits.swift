/// The facts of a type of platform, as its provider states them: rules, APIs and pages need no list of providers.
package struct PlatformTraits: Sendable {
    /// The name in APIs, commands and stores.
    let name: String
    /// The name that people use.
    package let title: String
    /// Names by which it may be meant.
    var otherNames: [String] = []
    /// Whether its provider keeps development and production apart.
    var hasModes = false
    let tokens: TokenForm
    package let payload: PayloadForm
    /// Whether a later push takes the place of one that its devices show.
    var replacing = Replacing.never
    /// The first version of its system whose users act on a notice without opening the app.
    var interactiveSince: OSVersion?
    /// Its system, by the name that PCF's SDKs register with; nil where devices of several systems register.
    package var systemOfPCF: String?
    /// Where the values of the credentials are found.
    package let credentialsHelp: String
    /// The credentials to enter; empty for a type that has no provider.
    package let credentials: [CredentialField]
    /// Whether another endpoint may be entered.
    var hasEndpoint = false

    /// Credentials for tests and for gateways of one's own.
    package var rareCredentials: [CredentialField] {
        guard !credentials.isEmpty else { return [] }
        let endpoint = CredentialField(
            "endpoint", "Another endpoint", hint: "For tests; leave it empty for the provider's own.",
            placeholder: "https://host:port")
        let trustRoot = CredentialField(
            "trust_root", "Certificates to trust instead of the system's (PEM)", .file(accept: ".pem,.crt"),
            hint: "For tests and for gateways with a certificate of their own.")
        return hasEndpoint ? [endpoint, trustRoot] : [trustRoot]
    }

    /// The form of a token in its text.
    enum TokenForm: Sendable {
        /// Bytes in hex.
        case hex
        /// Characters that tokens of providers have.
        case issued
        case url(schemes: [String])
        /// A subscription of Web Push.
        case subscription
        /// Chosen freely.
        case printable
    }

    /// When a later push takes the place of one that is shown.
    enum Replacing: Sendable {
        case never
        /// Where the sender gave a key.
        case byKey
        /// Every push is shown under an id, by which the SDKs remove it too.
        case always
    }

    /// The form in which devices get a push.
    package enum PayloadForm: Sendable {
        case apple(AppleTokenUse)
        case android(AndroidForm)
        case web
        case windows8
        case windowsPhone
        case bb10
        /// The push itself, which its receiver puts into a form.
        case webhook
    }
}

/// A flat map of texts, as a service for Android takes it.
package struct AndroidForm: Sendable {
    /// Names of the sender's part for this service alone, which goes before `message.custom.android`.
    package var parts: [String] = []
    /// The limit on all keys and values together.
    package var bytesMax = 4_096
    /// The longest frame around the data in a request without its tokens, where the service counts the request; it holds the data
    /// as a JSON object, written as a string.
    var countedFrameBytes: Int?
    /// The limit on a waiting message's key, and the service's name.
    var collapseKeyLimit: (service: String, bytes: Int)?
    /// Whether Google writes keys of its own.
    var hasGoogleKeys = false
    /// The categories that the service is known to have, where a part may name one.
    var categories: [String] = []
    /// Fields of the service's own API that a part may not have.
    var foreignFields = ForeignField.google
}

/// A value of the credentials that are entered for a platform.
package struct CredentialField: Sendable {
    /// The name in the admin API.
    package let name: String
    package let label: String
    package let input: Input
    package let hint: String
    package let placeholder: String
    package let isRequired: Bool

    package enum Input: Sendable {
        case text, secret, url
        /// A binary file is entered in Base64.
        case file(accept: String, isBinary: Bool = false)
    }

    init(
        _ name: String, _ label: String, _ input: Input = .text, hint: String = "", placeholder: String = "",
        isRequired: Bool = false
    ) {
        self.name = name
        self.label = label
        self.input = input
        self.hint = hint
        self.placeholder = placeholder
        self.isRequired = isRequired
    }
}

/// The purpose for which an Apple device gave out a token.
///
/// An app asks its device for each separately, and APNs takes no push of one use for a token of another. So each is a
/// type of platform, whose devices are tokens of that use. See
/// docs/decisions/0008-a-platform-for-each-use-of-a-token.md.
package enum AppleTokenUse: String, Sendable, Hashable, CaseIterable {
    /// Notifications and background updates of the app.
    case app
    /// Incoming calls, by PushKit.
    case voip
    case complication
    case fileProvider = "fileprovider"
    case location
    case mdm
    /// Updates and the end of one Live Activity.
    case liveActivity = "liveactivity"
    /// The start of Live Activities of one sort.
    case liveActivityStart = "liveactivity-start"
    case pushToTalk = "pushtotalk"
    case widgets
    case controls
    /// Not a device: a broadcast channel, which the devices themselves subscribed to. Its token is the channel's id.
    case broadcast
}
