/// A push as the admin API takes it. Source: api/openapi.yaml, `AdminPush`.
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

    public struct Message: Codable, Sendable, Hashable {
        public var body: String?
        public var web: Web?

        public init(body: String? = nil, web: Web? = nil) {
            self.body = body
            self.web = web
        }
    }

    /// A notification for browsers.
    public struct Web: Codable, Sendable, Hashable {
        public var title: String
        public var body: String?
        public var icon: String?
        public var navigate: String?
        public var topic: String?
        public var ttl: Int?

        public init(
            title: String, body: String? = nil, icon: String? = nil, navigate: String? = nil, topic: String? = nil,
            ttl: Int? = nil
        ) {
            self.title = title
            self.body = body
            self.icon = icon
            self.navigate = navigate
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
        public var platforms: [String]?

        public static let everyone = Target(everyone: true)
        public static func devices(_ uuids: [String]) -> Target { Target(devices: uuids) }
        public static func topics(_ names: [String]) -> Target { Target(topics: names) }
        public static func users(_ ids: [String]) -> Target { Target(custom_user_ids: ids) }
    }
}

/// What became of a push: how many devices have each answer.
public struct Receipt: Codable, Sendable, Hashable {
    public let receipt_id: String
    /// `settled` once every device has its answer.
    public let state: String
    public let devices: Int?
    /// By the answer: `accepted`, `gone`, `refused`, …
    public let counts: [String: Int]

    public var isFinal: Bool { state == "settled" || state == "damaged" }
}
