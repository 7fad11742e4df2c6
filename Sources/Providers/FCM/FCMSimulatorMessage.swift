/// A message of the right shape, validated by FCM's rules.
///
/// Source: FCM HTTP v1 reference; firebase.google.com, "About FCM messages".
struct FCMMessage {
    static let bytesMax = 4096
    static let topicBytesMax = 2048
    static let ttlSecondsMax = 2_419_200.0
    static let conditionTopicsMax = 5

    let isValidateOnly: Bool
    private let message: JSON

    /// - Parameter request: of the shape of ``FCMShape/request``.
    init(_ request: JSON) {
        self.isValidateOnly = (request["validate_only"] ?? request["validateOnly"])?.bool ?? false
        self.message = request["message"] ?? .object([])
    }

    /// The recipient: a registration token or installation as it is, a topic or condition with its kind before it.
    var target: String {
        if let token = text("token") ?? text("fid") { return token }
        if let topic = text("topic") { return "/topics/\(topic)" }
        return "condition:\(text("condition") ?? "")"
    }

    var isForDevice: Bool { text("token") != nil || text("fid") != nil }

    /// Whether it is delivered to one token, as nearly all are.
    var isPlain: Bool { text("token") != nil && !isValidateOnly }

    /// The first fault of the message.
    func complaint() -> ServiceAnswer? {
        let targets = ["token", "topic", "condition", "fid"].filter { message[$0]?.string != nil }
        guard let only = targets.first, targets.count == 1 else {
            return FCMAnswers.badArgument(
                "message", targets.isEmpty ? "Recipient of the message is not set." : "Multiple recipients are set.")
        }
        return complaint(aboutTarget: only) ?? complaintAboutData() ?? complaintAboutAndroid() ?? complaintAboutApple()
            ?? complaintAboutWeb() ?? complaintAboutSize()
    }

    private func complaint(aboutTarget name: String) -> ServiceAnswer? {
        let value = text(name) ?? ""
        switch name {
        case "token", "fid": return Self.isToken(value) ? nil : FCMAnswers.badToken
        case "topic":
            return Self.isTopic(value) ? nil : FCMAnswers.badArgument("message.topic", "Malformed topic name")
        default:
            return Self.isCondition(value)
                ? nil : FCMAnswers.badArgument("message.condition", "Invalid condition expression provided.")
        }
    }

    private func complaintAboutData() -> ServiceAnswer? {
        for (path, data) in [("message.data", message["data"]), ("message.android.data", message["android"]?["data"])] {
            for member in data?.members ?? [] where Self.isReserved(member.key) {
                return FCMAnswers.badArgument(path, "Invalid data payload key: \(member.key)")
            }
        }
        return nil
    }

    private func complaintAboutAndroid() -> ServiceAnswer? {
        guard let android = message["android"] else { return nil }
        if let ttl = android["ttl"]?.string.flatMap(JSONShape.seconds), ttl > Self.ttlSecondsMax {
            return FCMAnswers.badArgument("message.android.ttl", "Invalid ttl: at most 2419200s")
        }
        if let count = android["notification"]?["notification_count"]?.integer, count < 0 {
            return FCMAnswers.badArgument("message.android.notification.notification_count", "Invalid count: \(count)")
        }
        if let color = android["notification"]?["color"]?.string, !Self.isColor(color) {
            return FCMAnswers.badArgument("message.android.notification.color", "Invalid color: \(color)")
        }
        return nil
    }

    /// The headers that APNs would refuse. Source: Apple, "Sending notification requests to APNs".
    private func complaintAboutApple() -> ServiceAnswer? {
        guard let apns = message["apns"] else { return nil }
        let headers = apns["headers"]
        if let priority = headers?["apns-priority"]?.string, !["1", "5", "10"].contains(priority) {
            return FCMAnswers.badArgument("message.apns.headers", "Invalid apns-priority: \(priority)")
        }
        if let expiration = headers?["apns-expiration"]?.string, UInt64(expiration) == nil {
            return FCMAnswers.badArgument("message.apns.headers", "Invalid apns-expiration: \(expiration)")
        }
        if let id = headers?["apns-collapse-id"]?.string, id.utf8.count > 64 {
            return FCMAnswers.badArgument("message.apns.headers", "apns-collapse-id is too long")
        }
        if let type = headers?["apns-push-type"]?.string, !["alert", "background", "liveactivity"].contains(type) {
            return FCMAnswers.badArgument("message.apns.headers", "Invalid apns-push-type: \(type)")
        }
        if let payload = apns["payload"], let aps = payload["aps"], aps.members == nil {
            return FCMAnswers.badArgument("message.apns.payload", "aps is not an object")
        }
        return nil
    }

    /// Source: FCM HTTP v1 reference, options of web push: a link has to be HTTPS; RFC 8030 §5.2 to §5.4.
    private func complaintAboutWeb() -> ServiceAnswer? {
        guard let web = message["webpush"] else { return nil }
        if let link = web["fcm_options"]?["link"]?.string, !link.hasPrefix("https://") {
            return FCMAnswers.badArgument("message.webpush.fcm_options.link", "Link must be a valid HTTPS URL.")
        }
        for header in web["headers"]?.members ?? [] {
            let value = header.value.string ?? ""
            let isGood =
                switch header.key.lowercased() {
                case "ttl": UInt32(value).map { Double($0) <= Self.ttlSecondsMax } ?? false
                case "urgency": ["very-low", "low", "normal", "high"].contains(value)
                case "topic": (1...32).contains(value.utf8.count)
                default: true
                }
            guard isGood else {
                return FCMAnswers.badArgument("message.webpush.headers", "Invalid \(header.key): \(value)")
            }
        }
        return nil
    }

    /// Keys and values of data and notification; an Android part takes precedence over the common one.
    private func complaintAboutSize() -> ServiceAnswer? {
        let data = message["android"]?["data"] ?? message["data"]
        let bytes =
            Self.bytes(of: data) + Self.bytes(of: message["notification"])
            + Self.bytes(of: message["android"]?["notification"]) + Self.bytes(of: message["apns"]?["payload"])
            + Self.bytes(of: message["webpush"]?["notification"]) + Self.bytes(of: message["webpush"]?["data"])
        return bytes > (isForDevice ? Self.bytesMax : Self.topicBytesMax) ? FCMAnswers.tooBig : nil
    }

    private func text(_ name: String) -> String? { message[name]?.string }

    private static func bytes(of value: JSON?) -> Int {
        switch value {
        case .string(let text): text.utf8.count
        case .array(let values): values.reduce(0) { $0 + bytes(of: $1) }
        case .object(let members): members.reduce(0) { $0 + $1.key.utf8.count + bytes(of: $1.value) }
        case .number, .bool: 8
        case .null, nil: 0
        }
    }

    /// FCM does not say what a token looks like; these are the characters seen in them.
    static func isToken(_ text: String) -> Bool {
        (1...4096).contains(text.utf8.count)
            && text.utf8.allSatisfy { isLetterOrDigit($0) || $0 == 0x2D || $0 == 0x5F || $0 == 0x3A }
    }

    private static func isTopic(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { isLetterOrDigit($0) || "-_.~%".utf8.contains($0) }
    }

    /// Splits the text into words and lets an operand and an operator take turns.
    private static func isCondition(_ text: String) -> Bool {
        var spaced = ""
        var isName = false
        for character in text {
            if character == "'" { isName.toggle() }
            spaced += !isName && "()!".contains(character) ? " \(character) " : String(character)
        }
        var (depth, topics, wantsTopic) = (0, 0, true)
        var words = spaced.split(separator: " ")[...]
        while let word = words.popFirst() {
            switch (word, wantsTopic) {
            case ("(", true): depth += 1
            case ("!", true): break
            case (")", false) where depth > 0: depth -= 1
            case ("&&", false), ("||", false): wantsTopic = true
            case (_, true):
                guard word.utf8.count > 2, word.first == "'", word.last == "'",
                    isTopic(String(word.dropFirst().dropLast())), words.popFirst() == "in", words.popFirst() == "topics"
                else { return false }
                topics += 1
                wantsTopic = false
            default: return false
            }
        }
        return !wantsTopic && depth == 0 && topics <= conditionTopicsMax
    }

    private static func isReserved(_ key: String) -> Bool {
        key == "from" || key == "message_type" || key.hasPrefix("google.") || key.hasPrefix("gcm.notification.")
    }

    private static func isColor(_ text: String) -> Bool {
        text.utf8.count == 7 && text.hasPrefix("#") && text.utf8.dropFirst().allSatisfy { Hex.value($0) != nil }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
    }
}

/// A valid message apart from its token. A message that differs only in the token need not be validated again: a push
/// to many devices is the same message many times.
struct FCMTemplate: Sendable {
    private let head: [UInt8]
    private let tail: [UInt8]

    private static let before = Array(#""token":""#.utf8)

    /// nil unless the token appears once, unescaped, after its name.
    init?(_ body: [UInt8], token: String) {
        let token = Array(token.utf8)
        let places = body.indices.dropLast(token.count).filter { body[$0...].starts(with: token) }
        guard !token.isEmpty, let place = places.first, places.count == 1 else { return nil }
        let end = place + token.count
        guard body[..<place].suffix(Self.before.count).elementsEqual(Self.before), body[end] == UInt8(ascii: "\"")
        else { return nil }
        head = Array(body[..<place])
        tail = Array(body[end...])
    }

    /// The token of a message that otherwise equals this one.
    func token(of body: [UInt8]) -> String? {
        guard body.count > head.count + tail.count, body.starts(with: head), body.suffix(tail.count).elementsEqual(tail)
        else { return nil }
        let token = String(decoding: body[head.count..<body.count - tail.count], as: UTF8.self)
        return FCMMessage.isToken(token) ? token : nil
    }
}

/// The shape of a send request. Source: FCM HTTP v1 reference, `projects.messages`.
enum FCMShape {
    static let request = JSONShape.object(["validate_only": .bool, "message": message])

    private static let message = JSONShape.object([
        "token": .string, "topic": .string, "condition": .string, "fid": .string, "name": .string,
        "data": .texts,
        "notification": .object(["title": .string, "body": .string, "image": .string]),
        "fcm_options": .object(["analytics_label": .string]),
        "android": android, "apns": apns, "webpush": webpush,
    ])

    private static let android = JSONShape.object([
        "collapse_key": .string, "priority": .oneOf(["NORMAL", "HIGH"]), "ttl": .duration,
        "restricted_package_name": .string, "data": .texts, "notification": androidNotification,
        "fcm_options": .object(["analytics_label": .string]), "direct_boot_ok": .bool,
        "bandwidth_constrained_ok": .bool, "restricted_satellite_ok": .bool,
    ])

    private static let androidNotification = JSONShape.object([
        "title": .string, "body": .string, "icon": .string, "color": .string, "sound": .string, "tag": .string,
        "click_action": .string, "body_loc_key": .string, "body_loc_args": .strings, "title_loc_key": .string,
        "title_loc_args": .strings, "channel_id": .string, "ticker": .string, "sticky": .bool, "event_time": .string,
        "local_only": .bool,
        "notification_priority": .oneOf([
            "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH", "PRIORITY_MAX",
        ]),
        "default_sound": .bool, "default_vibrate_timings": .bool, "default_light_settings": .bool,
        "vibrate_timings": .list(.duration),
        "visibility": .oneOf(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]),
        "notification_count": .integer,
        "light_settings": .object([
            "color": .object(["red": .number, "green": .number, "blue": .number, "alpha": .number]),
            "light_on_duration": .duration, "light_off_duration": .duration,
        ]),
        "image": .string, "bypass_proxy_notification": .bool,
        "proxy": .oneOf(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
    ])

    private static let apns = JSONShape.object([
        "headers": .texts, "payload": .anything, "live_activity_token": .string,
        "fcm_options": .object(["analytics_label": .string, "image": .string]),
    ])

    private static let webpush = JSONShape.object([
        "headers": .texts, "data": .texts, "notification": .anything,
        "fcm_options": .object(["link": .string, "analytics_label": .string]),
    ])
}
