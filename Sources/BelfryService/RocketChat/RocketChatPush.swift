import FoundationEssentials

/// A notification of a Rocket.Chat server for one token.
///
/// Source: Rocket.Chat, `app/push/server/push.ts` (`sendGatewayPush`), `apn.ts` and `fcm.ts`, whose payloads the apps expect.
struct RocketChatPush: Sendable {
    private(set) var token = ""
    private var options: JSONObject = [:]

    /// The provider whose token it is, as the path has it.
    enum Provider: String, Sendable, CaseIterable { case apn, gcm }

    /// How long it is kept for a device that cannot be reached. Source: `apn.ts`, `note.expiry`.
    private static let lifetime = Duration.seconds(3_600)

    init(json bytes: [UInt8]) throws(InvalidInput) {
        try JSONReader.document(bytes) { reader, name throws(InvalidInput) in
            switch name {
            case "token": token = try reader.string(name) ?? ""
            case "options": options = try reader.members(name) ?? [:]
            default: try reader.skip()
            }
        }
        if token.isEmpty { throw InvalidInput.missing("token") }
        if options.isEmpty { throw InvalidInput.missing("options") }
    }

    private var isCall: Bool { options["voip"] == .bool(true) }

    func expiry(at now: Instant) -> Instant { now + (isCall ? ApplePush.callTimeout : Self.lifetime) }

    /// An id that a notification has again when the server repeats it after a failure; nil without its time.
    func id(of endpoint: Key<OpenEndpoint>) -> UUID? {
        guard options["createdAt"] != nil else { return nil }
        return TokenGateway.id(of: endpoint, [token, JSONValue.object(options).flat])
    }

    /// The platform: by the app's topic, or else the only one of its type.
    func platform(_ provider: Provider, among platforms: NamedPlatforms) throws(APIError) -> Platform? {
        if let topic = options["topic"]?.stringValue, let named = try platforms.named(topic) { return named }
        if let named = try platforms.named(provider.rawValue) { return named }
        return platforms.only(provider == .gcm ? .androidFCM : isCall ? .apple(.voip) : .ios)
    }

    func content(for kind: PlatformKind) -> Push.Content {
        var content: Push.Content
        if let use = kind.appleUse {
            content = Push.Content(
                apple: ApplePush(verbatim: apple, for: use, isConsiderate: false, isStored: use != .voip))
        } else {
            content = android
        }
        content.pacing = .exempt
        return content
    }

    /// A text for the provider, or else for all.
    private func text(_ name: String, _ provider: Provider) -> String? {
        let own = options[provider.rawValue]?[name] ?? options[name]
        return own?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    }

    private func number(_ name: String, _ provider: Provider) -> Int64? {
        (options[provider.rawValue]?[name] ?? options[name])?.wholeNumber
    }

    /// The message for the app, as the text that it reads.
    private var payload: JSONValue? {
        guard let payload = options["payload"], !payload.isNull else { return nil }
        return .string(String(decoding: payload.encoded, as: UTF8.self))
    }

    private var apple: JSONObject {
        var aps: JSONObject = ["mutable-content": .integer(1)]
        var alert: JSONObject = [:]
        alert["title"] = text("title", .apn).map(JSONValue.string)
        alert["body"] = text("text", .apn).map(JSONValue.string)
        if !alert.isEmpty { aps["alert"] = .object(alert) }
        aps["badge"] = number("badge", .apn).flatMap { $0 >= 0 ? .integer($0) : nil }
        aps["sound"] = text("sound", .apn).map(JSONValue.string)
        aps["category"] = options["apn"]?["category"]?.stringValue.map(JSONValue.string)
        aps["thread-id"] = number("notId", .apn).map { .string(String($0)) }
        if number("contentAvailable", .apn) == 1 { aps["content-available"] = .integer(1) }
        var root: JSONObject = ["aps": .object(aps)]
        root["ejson"] = payload
        root["messageFrom"] = text("from", .apn).map(JSONValue.string)
        return root
    }

    private var android: Push.Content {
        var data: JSONObject = [:]
        data["ejson"] = payload
        data["image"] = text("image", .gcm).map(JSONValue.string)
        data["style"] = text("style", .gcm).map(JSONValue.string)
        data["soundname"] = text("sound", .gcm).map(JSONValue.string)
        for (key, name) in [("msgcnt", "badge"), ("notId", "notId"), ("content-available", "contentAvailable")] {
            data[key] = number(name, .gcm).map { .string(String($0)) }
        }
        var texts: [SharedFields.Name: String] = [:]
        texts[.title] = text("title", .gcm)
        return Push.Content(
            body: text("text", .gcm), shared: SharedFields(texts, data: data),
            custom: ["android": .object(["priority": .string("high")])])
    }
}
