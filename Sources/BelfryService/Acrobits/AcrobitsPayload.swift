/// The payload that the softphone's platform gets for a message of the mediator.
///
/// Acrobits calls the structure of its own payloads historical and publishes the keys that name the subject of a push: `s` a call, `sm` a text
/// message, `s_missed` a missed call, `type` anything else. The fields of the request stand beside them under their own names. An operator
/// whose app wants other keys gives a template. Source: Acrobits, "Push Notification Reporter".
package struct AcrobitsPayload: Sendable {
    /// A call is worth nothing a minute later.
    package static let callSeconds = 60
    package static let otherSeconds = 86_400

    private let call: AcrobitsCall
    private let template: AcrobitsPayloadTemplate?

    package init(_ call: AcrobitsCall, template: AcrobitsPayloadTemplate?) {
        self.call = call
        self.template = template
    }

    package var timeToLive: Duration { .seconds(call.verb.isCall ? Self.callSeconds : Self.otherSeconds) }

    package func content(for kind: PlatformKind) throws(InvalidInput) -> Push.Content {
        var content: Push.Content
        if let use = kind.appleUse {
            let (type, payload) = try apple(for: use)
            content = Push.Content(
                body: nil, apple: try ApplePush(type: type, priority: nil, payload: payload, field: call.verb.name))
        } else {
            content = try android()
        }
        // A call waits for no morning.
        content.pacing = .exempt
        return content
    }

    // MARK: Apple

    private func apple(for use: AppleTokenUse) throws(InvalidInput) -> (ApplePush.Kind, JSONObject) {
        var payload = try data()
        var aps = notification
        if case .object(let own)? = payload.removeValue(forKey: "aps") { aps = own }
        if use == .voip {
            payload["aps"] = .object(aps)
            return (.voip, payload)
        }
        let isShown = aps["alert"] != nil || aps["badge"] != nil || aps["sound"] != nil
        if !isShown { aps = ["content-available": .integer(1)] }
        payload["aps"] = .object(aps)
        return (isShown ? .alert : .background, payload)
    }

    private var notification: JSONObject {
        var aps: JSONObject = [:]
        aps["alert"] = alert
        aps["badge"] = call.badge.map(JSONValue.integer)
        aps["sound"] = call.sound.map(JSONValue.string)
        aps["thread-id"] = call.text("ThreadId").map(JSONValue.string)
        // It also wakes the app, which fetches the whole message.
        if call.verb == .textMessage, !aps.isEmpty { aps["content-available"] = .integer(1) }
        return aps
    }

    private var alert: JSONValue? {
        guard let text = shownText else { return nil }
        guard let sender = call.sender, sender != text else { return .string(text) }
        return .object(["title": .string(sender), "body": .string(text)])
    }

    /// The message, or the caller of a call without one; shown where the device gets it as a notification.
    private var shownText: String? {
        switch call.verb {
        case .textMessage, .genericTextMessage: call.message
        case .incomingCall: call.message ?? call.sender
        case .incomingCallMissed, .incomingCallAnsweredElsewhere, .other: nil
        }
    }

    // MARK: Android

    /// Data for the app at high priority, so that a dozing device gets it too.
    private func android() throws(InvalidInput) -> Push.Content {
        var members = try data()
        members["aps"] = nil
        if case .genericTextMessage = call.verb, members["message"] == nil {
            members["message"] = call.message.map(JSONValue.string)
        }
        members["priority"] = .string("high")
        return Push.Content(body: nil, custom: ["android": .object(members)])
    }

    // MARK: Data

    private func data() throws(InvalidInput) -> JSONObject { try template?.members(for: call) ?? usual }

    private var usual: JSONObject {
        let selector = JSONValue.string(call.selector ?? "")
        var members: JSONObject =
            switch call.verb {
            case .incomingCall: ["s": selector]
            case .incomingCallMissed: ["s_missed": selector]
            case .textMessage: ["sm": selector]
            case .genericTextMessage: [:]
            case .incomingCallAnsweredElsewhere, .other:
                ["type": .string(call.verb.name), "selector": selector]
            }
        for name in Self.passedOn { members[name] = call.text(name).map(JSONValue.string) }
        return members
    }

    /// The fields that the app gets under their own names. Source: Acrobits, "HTTP push".
    private static let passedOn = ["Id", "UserName", "UserDisplayName", "ThreadId", "ContentType", "Message"]
}
