/// A push as the admin API takes it. Source: api/openapi.yaml, `NewAdminPush`.
public struct PushRequest: Codable, Sendable, Hashable {
    public var message: Message
    public var target: Target
    /// ISO 8601; at once where none is given.
    public var send_at: String?
    public var expires_at: String?
    public var urgency: Urgency?
    public var at_most_once: Bool?

    public enum Urgency: String, Codable, Sendable, Hashable {
        case urgent, normal, bulk
    }

    public init(
        message: Message, target: Target, sendAt: String? = nil, expiresAt: String? = nil, urgency: Urgency? = nil,
        atMostOnce: Bool? = nil
    ) {
        self.message = message
        self.target = target
        send_at = sendAt
        expires_at = expiresAt
        self.urgency = urgency
        at_most_once = atMostOnce
    }

    /// Fields for all platforms, or a part for a kind of platform, or both. What a part has goes before the fields.
    public struct Message: Codable, Sendable, Hashable {
        public var title: String?
        public var body: String?
        /// An https URL.
        public var image: String?
        /// The target of a tap: a page, or a place in the app.
        public var link: String?
        /// `default`, or the name of a sound of the app.
        public var sound: String?
        public var badge: Badge?
        /// The app's own members.
        public var data: [String: AdminJSON]?
        /// The category of its buttons on Apple's devices, the action of a tap on Android.
        public var category: String?
        /// The notification channel on Android.
        public var channel: String?
        /// A message is replaced by a later one with the same key; 64 bytes at most.
        public var collapse_key: String?
        /// Apple's devices group the notifications of one thread.
        public var thread: String?
        /// Whether the texts have placeholders.
        public var template: Bool?
        /// The sender's own members, by the kind of platform: `ios`, `android`, `web`, …
        public var custom: [String: AdminJSON]?
        public var apns: Apple?
        public var web: Web?
        /// A message for each device by its UUID, encrypted with its keys; goes with a badge alone.
        public var encrypted: [String: String]?

        public init(encrypted: [String: String], badge: Badge? = nil) {
            self.encrypted = encrypted
            self.badge = badge
        }

        public init(
            title: String? = nil, body: String? = nil, image: String? = nil, link: String? = nil, sound: String? = nil,
            badge: Badge? = nil, data: [String: AdminJSON]? = nil, collapseKey: String? = nil,
            custom: [String: AdminJSON]? = nil, apns: Apple? = nil, web: Web? = nil
        ) {
            self.title = title
            self.body = body
            self.image = image
            self.link = link
            self.sound = sound
            self.badge = badge
            self.data = data
            collapse_key = collapseKey
            self.custom = custom
            self.apns = apns
            self.web = web
        }
    }

    /// The number on the app's icon: set, or counted up on each device.
    public enum Badge: Codable, Sendable, Hashable {
        case set(Int)
        case add(Int)

        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int.self) {
                self = .set(number)
            } else {
                let text = try container.decode(String.self)
                guard text.hasPrefix("+"), let number = Int(text.dropFirst()) else {
                    throw DecodingError.dataCorruptedError(
                        in: container, debugDescription: "badge is \(text), it has to be a number, or such as +1")
                }
                self = .add(number)
            }
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .set(let number): try container.encode(number)
            case .add(let number): try container.encode("+\(number)")
            }
        }
    }

    /// The push for Apple's devices, in Apple's own words.
    public struct Apple: Codable, Sendable, Hashable {
        /// `alert` where none is given; also `background`, `voip`, `liveactivity`, …
        public var type: String?
        public var priority: Int?
        public var collapse_id: String?
        public var payload: AdminJSON

        public init(type: String? = nil, priority: Int? = nil, collapseID: String? = nil, payload: AdminJSON) {
            self.type = type
            self.priority = priority
            collapse_id = collapseID
            self.payload = payload
        }
    }

    /// A notification for browsers.
    public struct Web: Codable, Sendable, Hashable {
        public var title: String
        public var body: String?
        public var icon: String?
        public var image: String?
        public var badge: String?
        public var actions: [Action]?
        /// The target of a click.
        public var navigate: String?
        public var silent: Bool?
        public var require_interaction: Bool?
        public var data: AdminJSON?
        /// The number on the app's icon; 0 takes it away.
        public var app_badge: Int?
        /// A message is replaced by a later one of the same topic.
        public var topic: String?
        /// `very-low`, `low`, `normal` or `high`.
        public var urgency: String?
        /// Seconds; 0 for now or never.
        public var ttl: Int?

        public struct Action: Codable, Sendable, Hashable {
            public var action: String
            public var title: String
            public var icon: String?
            public var navigate: String?

            public init(action: String, title: String, icon: String? = nil, navigate: String? = nil) {
                self.action = action
                self.title = title
                self.icon = icon
                self.navigate = navigate
            }
        }

        public init(
            title: String, body: String? = nil, icon: String? = nil, navigate: String? = nil, actions: [Action]? = nil,
            topic: String? = nil, ttl: Int? = nil
        ) {
            self.title = title
            self.body = body
            self.icon = icon
            self.navigate = navigate
            self.actions = actions
            self.topic = topic
            self.ttl = ttl
        }
    }

    /// The recipients. To send to everyone has to be said.
    public struct Target: Codable, Sendable, Hashable {
        public var everyone: Bool?
        public var devices: [String]?
        public var topics: [String]?
        public var custom_user_ids: [String]?
        /// Ids of broadcast channels.
        public var channels: [String]?
        public var platforms: [String]?

        public static let everyone = Target(everyone: true)
        public static func devices(_ uuids: [String]) -> Target { Target(devices: uuids) }
        public static func topics(_ names: [String]) -> Target { Target(topics: names) }
        public static func users(_ ids: [String]) -> Target { Target(custom_user_ids: ids) }
        public static func channels(_ ids: [String]) -> Target { Target(channels: ids) }
    }
}

/// The result of a push so far: how many devices have each answer.
public struct Receipt: Codable, Sendable, Hashable {
    public let receipt_id: String
    /// `settled` once every device has its answer.
    public let state: String
    public let devices: Int?
    /// The number of devices by answer: `accepted`, `gone`, `refused`, …
    public let counts: [String: Int]

    public var isFinal: Bool { state == "settled" || state == "damaged" }
}
