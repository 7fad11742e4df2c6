import FoundationEssentials

/// The token maintainer of Genero, which its apps report their tokens and badge numbers to.
///
/// Source: FourjsGenero/ex_push_notification, server/token_maintainer.4gl; docs/compatibility/genero.md.
enum Genero {
    /// The commands, as the last part of the path.
    enum Command: String, Sendable, CaseIterable {
        case register, unregister
        case badge = "badge_number"
    }

    /// The answer to every command: HTTP 200 whatever came of it.
    struct CommandResult: Sendable, Hashable {
        let status: Int64
        let message: String

        /// A sentence, and below it the token as the app wrote it. Apps show it to people where the status is negative.
        init(_ status: Status, _ sentence: String, token: String? = nil) {
            self.status = status.rawValue
            message = token.map { "\(sentence)\n[\($0)]" } ?? sentence
        }
    }

    enum Status: Int64, Sendable {
        case done = 0
        /// The token is registered already; nothing was changed. Apps count it as success.
        case known = 1
        /// Anything that is not below.
        case exception = -1
        case notInserted = -2
        case unknownToken = -3
        case badgeNotStored = -4
    }

    /// The parameters that every command sends, whether it needs them or not. Apps from the days of GCM send `sender_id` in place of
    /// `notification_type`.
    struct Message: Sendable {
        private(set) var type: String?
        private(set) var senderID: String?
        private(set) var token = ""
        private(set) var user: String?
        private(set) var badge: Int64 = 0

        static let bytesMax = 16_384

        init(json bytes: [UInt8]) throws(InvalidInput) {
            var message = Self()
            try JSONReader.document(bytes) { reader, field throws(InvalidInput) in
                switch field {
                case "notification_type":
                    let type = try reader.string(field)?.asName.uppercased()
                    message.type = type?.isEmpty == false ? type : nil
                case "sender_id": message.senderID = try reader.string(field)
                case "registration_token": message.token = try reader.string(field) ?? ""
                case "app_user": message.user = try reader.string(field)
                case "badge_number": message.badge = try reader.integer(field) ?? 0
                default: try reader.skip()
                }
            }
            self = message
        }

        private init() {}

        /// Whether the token is one of Apple's.
        var isApple: Bool {
            type.map { Self.appleTypes.contains($0) } ?? senderID?.isEmpty ?? true
        }

        private static let appleTypes: Set = ["APNS", "APN", "IOS"]
        private static let googleTypes: Set = ["FCM", "GCM", "ANDROID"]

        /// Throws where no platform of Genero's apps is called so.
        func checkType() throws(InvalidInput) {
            guard let type, !Self.appleTypes.contains(type), !Self.googleTypes.contains(type) else { return }
            throw InvalidInput(field: "notification_type", "is '\(type.prefix(32))', it has to be APNS or FCM")
        }
    }
}

/// A row of the view `genero_tokens`.
package struct GeneroToken: Sendable, Hashable {
    package let id: Int64
    /// `APNS` or `FCM`.
    package let type: String
    /// As the app wrote it.
    package let token: String
    package let badge: Int64
    package let user: String
    /// In UTC, with milliseconds.
    package let registeredAt: String
}
