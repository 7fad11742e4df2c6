import FoundationEssentials
import KeyFiles

/// The address a provider knows a device by, as bytes.
///
/// APNs tokens arrive as hex in either case and are kept as the bytes they stand for, so that both spellings are one
/// device. Web Push subscriptions are kept in one spelling, see `WebSubscription`. All others are kept as the UTF-8 they
/// came in.
package struct DeviceToken: Sendable, Hashable {
    package let bytes: [UInt8]

    /// The longest token any provider issues, with room to spare. FCM's are below 400 bytes, ADM's below 1,600, channel
    /// URIs of WNS and subscriptions of Web Push a few hundred.
    package static let bytesMax = 4_096
    /// APNs tokens are 32 bytes today; Apple asks not to rely on it. Source: "Registering your app with APNs".
    package static let apnsBytesMax = 100
    /// Ids of broadcast channels are 24 bytes today; Apple names no maximum.
    private static let channelBytesMax = 255

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// The bytes that tell one installation of an app from another; a platform has one device for each installation.
    ///
    /// It is the token itself, except for tokens of FCM: these begin with the Firebase Installation ID, which newer
    /// apps register in place of the token. So an app that does retires its old token. Source:
    /// firebase-admin-python#951, firebase-android-sdk#8316; on the parts of a token, gorush#878.
    package var identity: [UInt8] {
        let length = Self.installationIDBytes
        guard bytes.count > length, bytes[length] == UInt8(ascii: ":"),
            bytes.dropFirst(length + 1).starts(with: Self.fcmMark),
            bytes.prefix(length).allSatisfy(\.isOfBase64URL)
        else { return bytes }
        return Array(bytes.prefix(length))
    }

    private static let installationIDBytes = 22
    /// The beginning of the part after the installation's ID in each token of FCM.
    private static let fcmMark = Array("APA91b".utf8)

    package init(_ text: String, for kind: PlatformKind) throws(InvalidInput) {
        guard !text.isEmpty else { throw Self.invalid("is empty") }
        let bytesMax = kind == .apple(.broadcast) ? Self.channelBytesMax : Self.bytesMax
        guard text.utf8.count <= bytesMax else {
            throw Self.invalid("is \(text.utf8.count) bytes, the limit is \(bytesMax)")
        }
        bytes =
            switch kind.traits.tokens {
            case .hex: try Self.apns(text)
            case .issued: try Self.issued(text)
            case .url(let schemes): try Self.url(text, schemes)
            case .subscription: Array(try WebSubscription(json: text.utf8).json.utf8)
            case .printable: try Self.printable(text)
            }
    }

    private static func invalid(_ problem: String) -> InvalidInput {
        InvalidInput(field: "registration_token", problem)
    }

    private static func apns(_ text: String) throws(InvalidInput) -> [UInt8] {
        try checkGiven(text)
        guard let decoded = [UInt8](hex: text.utf8) else { throw invalid("is not an APNs token: \(fault(of: text))") }
        guard decoded.count <= apnsBytesMax else {
            throw invalid("is \(decoded.count) bytes, the limit is \(apnsBytesMax)")
        }
        return decoded
    }

    /// The length of all app tokens of Apple so far; a shorter one was cut or made up.
    private static let apnsBytesUsual = 32

    /// The token's length and the expected length, where it is shorter than all known ones; nil otherwise.
    package func missingBytes(for kind: PlatformKind) -> (found: Int, usual: Int)? {
        guard kind.spellsTokensInHex, bytes.count < Self.apnsBytesUsual else { return nil }
        return (bytes.count, Self.apnsBytesUsual)
    }

    /// The reason why a text is not bytes in hex.
    private static func fault(of text: String) -> String {
        let wanted = "it has to be hex digits alone, two for each byte, and tokens have 64 of them so far"
        if text.utf8.contains(where: { "<> ".utf8.contains($0) }) {
            return "it has < > or spaces around its digits, as iOS prints a token; \(wanted)"
        }
        let strangers = text.utf8.count { $0.hexNibble == nil }
        if strangers > 0 { return "\(strangers) of its \(text.utf8.count) characters are no hex digits; \(wanted)" }
        return "it has \(text.utf8.count) hex digits, so one is missing or too many; \(wanted)"
    }

    /// The form of most providers' tokens: visible ASCII, without spaces.
    private static func visible(_ text: String) throws(InvalidInput) -> [UInt8] {
        guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw invalid("holds other than visible ASCII, which no provider hands out")
        }
        try checkGiven(text)
        return Array(text.utf8)
    }

    /// Returns the token's bytes; throws on characters that no such token has, which an app or a spreadsheet added or put in its place.
    private static func issued(_ text: String) throws(InvalidInput) -> [UInt8] {
        if !text.utf8.allSatisfy(\.standsInTokens) {
            let bytes = try visible(text)
            let stranger = Unicode.Scalar(bytes.first { !$0.standsInTokens } ?? 0)
            throw invalid("has \(stranger) in it, which stands in no token")
        }
        try checkGiven(text)
        return Array(text.utf8)
    }

    /// Throws on the texts that apps, SDKs and spreadsheets put in place of a token.
    private static func checkGiven(_ text: String) throws(InvalidInput) {
        guard text.utf8.count <= longestNonToken else { return }
        let words = text.lowercased().split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard !words.allSatisfy({ nonTokens.contains($0) }) else {
            throw invalid("is '\(text)', which an app sends that has no token")
        }
        guard !text.hasPrefix("#"), !isRounded(text) else {
            throw invalid("is '\(text)', which a spreadsheet leaves in place of a token")
        }
    }

    /// Whether it is a number as spreadsheets write long ones, such as 1.23457E+15.
    private static func isRounded(_ text: String) -> Bool {
        text.utf8.contains(UInt8(ascii: "+")) && Double(text)?.isFinite == true
    }

    /// Empty values of languages, words of people, and the errors of Google's services.
    /// Source: firebase-android-sdk, "BLACKLISTED" and the errors of its getToken.
    private static let nonTokens: Set = [
        "blacklisted", "undefined", "null", "nil", "none", "nan", "(null)", "(nil)", "<null>", "optional(nil)", "{}",
        "[]",
        "false", "true", "0", "-1", "-", "--", "n/a", "na", "unknown", "token", "device_token", "empty", "void",
        "[object object]", "[objectobject]",
        "fis_auth_error", "service_not_available", "missing_instanceid_service",
        "authentication_failed", "account_missing", "too_many_registrations", "invalid_sender", "internal_server_error",
        "phone_registration_error", "invalid_parameters", "java.io.ioexception",
    ]
    private static let longestNonToken = 32

    private static func url(_ text: String, _ schemes: [String]) throws(InvalidInput) -> [UInt8] {
        let bytes = try visible(text)
        guard schemes.contains(where: { text.hasPrefix("\($0)://") && text.utf8.count > $0.utf8.count + 3 }) else {
            throw invalid(
                "is not a channel URI: it has to begin with \(schemes.map { "\($0)://" }.joined(separator: " or "))")
        }
        return bytes
    }

    /// The owner of a webhook chooses its devices' tokens freely.
    private static func printable(_ text: String) throws(InvalidInput) -> [UInt8] {
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw invalid("holds control characters") }
        try checkGiven(text)
        return Array(text.utf8)
    }

    /// The text form that apps and back ends see.
    package func text(for kind: PlatformKind) -> String {
        kind.spellsTokensInHex ? bytes.hex : String(decoding: bytes, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Decodes pairs of hex digits of either case; nil on anything else.
    package init?(hex digits: some Collection<UInt8>) {
        guard digits.count.isMultiple(of: 2) else { return nil }
        self = []
        reserveCapacity(digits.count / 2)
        var high: UInt8?
        for digit in digits {
            guard let nibble = digit.hexNibble else { return nil }
            if let first = high {
                append(first << 4 | nibble)
                high = nil
            } else {
                high = nibble
            }
        }
    }

    /// Lower-case hex.
    package var hex: String {
        String(unsafeUninitializedCapacity: count * 2) { buffer in
            for (index, byte) in enumerated() {
                buffer[2 * index] = (byte >> 4).hexDigit
                buffer[2 * index + 1] = (byte & 15).hexDigit
            }
            return count * 2
        }
    }
}

extension UInt8 {
    /// Visible ASCII except quotation marks, brackets, commas and the characters that templates begin with.
    fileprivate var standsInTokens: Bool {
        switch self {
        case UInt8(ascii: "\""), 0x23, 0x24, 0x27...0x29, 0x2C, 0x3B, 0x3C, 0x3E, 0x5B...0x5D, 0x60, 0x7B, 0x7D: false
        default: 0x21...0x7E ~= self
        }
    }

    /// Whether base64url may have it: Firebase Installation IDs and topics of Web Push are made of these.
    var isOfBase64URL: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// The digit of a number below 16, in lower case.
    var hexDigit: UInt8 { self < 10 ? 0x30 + self : 0x57 + self }

    package var hexNibble: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}

/// A device that lost the app, for senders that ask the feedback service.
package struct Feedback: Sendable, Hashable {
    package let key: Key<Feedback>
    /// When it was found.
    package let since: Instant
    package let token: DeviceToken
}

extension DeviceToken {
    /// A token in whatever spelling apps and senders of other systems use.
    ///
    /// Apple's tokens are hex in either case, also as `<ab cd …>`, or Base64 of 32 bytes in either alphabet, padded or not.
    /// 64 hex digits are always hex. Tokens of other providers are taken as they are.
    package init(anySpelling text: String, for kind: PlatformKind) throws(InvalidInput) {
        guard kind.spellsTokensInHex, text.utf8.count <= Self.bytesMax else {
            try self.init(text, for: kind)
            return
        }
        let digits = text.utf8.filter { !Self.decoration.contains($0) }
        if let bytes = [UInt8](hex: digits), !bytes.isEmpty, bytes.count <= Self.apnsBytesMax {
            self.init(bytes: bytes)
        } else if let bytes = Base64.decode(loose: text.utf8), bytes.count == Self.spelledBytes {
            self.init(bytes: bytes)
        } else {
            try self.init(text, for: kind)
        }
    }

    /// The characters that iOS prints around and between the digits of a token.
    private static let decoration = Set("<> ".utf8)
    /// Tokens of another length are not taken for Base64.
    private static let spelledBytes = 32
}

/// The consequence for a device whose provider names another token for it.
///
/// One token has one active device. If two devices are the same installation, the later registration counts, since the
/// app knows itself by that one.
package enum TokenMove: Sendable, Hashable {
    /// The device takes the token. `evicted`, which had it, loses it and becomes inactive.
    case taken(evicted: Key<Device>?)
    /// Another device has the token and is at least as new: this one becomes inactive, so that no device is notified
    /// twice.
    case superseded
    /// The device has died, or has registered with another token since it was notified.
    case stale

    /// - Parameters:
    ///   - from: the token that was used.
    ///   - holder: the device that has the new token now.
    package init(of device: Holder, from: DeviceToken, holder: Holder?) {
        guard device.isActive, device.token == from else {
            self = .stale
            return
        }
        guard let holder, holder.key != device.key else {
            self = .taken(evicted: nil)
            return
        }
        self = holder.isActive && holder.registeredAt >= device.registeredAt ? .superseded : .taken(evicted: holder.key)
    }

    /// The fields of a device that the rule reads.
    package struct Holder: Sendable, Hashable {
        package let key: Key<Device>
        package let token: DeviceToken?
        package let isActive: Bool
        package let registeredAt: Instant

        package init(key: Key<Device>, token: DeviceToken?, isActive: Bool, registeredAt: Instant) {
            self.key = key
            self.token = token
            self.isActive = isActive
            self.registeredAt = registeredAt
        }
    }
}
