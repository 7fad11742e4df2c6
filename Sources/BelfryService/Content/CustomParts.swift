/// Checks the parts of `message.custom`, and the keys of parts whose keys a platform defines.
///
/// Providers accept keys that a platform does not know: the notification arrives without the intended effect. So requests with such
/// keys are refused, and messages that were accepted before are sent unchanged. Source: Apple, "Generating a remote notification";
/// PCF Push API, "Custom fields".
package enum CustomParts {
    package static let names = [
        "ios", "android", "android-fcm", "androidFcm", "android-baidu", "huawei", "amazon", "web", "windows8",
        "windowsPhone", "bb10",
    ]

    /// The most unknown names that are compared with the known ones.
    package static let misspeltMax = 8

    package static func isKnown(_ name: String) -> Bool { names.contains(name) }

    /// Throws `InvalidInput` with the first key of a part that its platform does not know, or that has an invalid value.
    package static func check(_ value: JSONValue, of name: String) throws(InvalidInput) {
        let field = "message.custom.\(name)"
        guard case .object(let members) = value else {
            guard isKnown(name), name != "bb10", !value.isNull else { return }
            throw InvalidInput(field: field, "has to be an object, it is \(value.typeName)")
        }
        switch name {
        case "ios": try ApplePayloadRules.check(custom: members, field)
        case "windows8":
            try check(members, field, known: ["type", "template_name", "template_fields", "options"])
        case "windowsPhone": try check(members, field, known: ["template", "template_fields"])
        case "web": try checkWeb(members, field)
        case _ where AndroidPart.names.contains(name): try AndroidPart.check(members, of: name)
        default: return
        }
    }

    /// Checks an object for a sender's own worker; the worker that comes with the server reads some of its members.
    private static func checkWeb(_ members: JSONObject, _ field: String) throws(InvalidInput) {
        for (key, value) in members where !value.isNull {
            let path = "\(field).\(key)"
            switch (key, value) {
            case ("urgency", _), ("ttl", _):
                throw InvalidInput(
                    field: path,
                    "is not sent as a header: it stands in message.web; for the app it goes into message.data")
            case ("requireInteraction", .bool), ("actions", .array), ("navigate", .string): continue
            case ("requireInteraction", _): throw .value(path, value, not: "true or false")
            case ("actions", _): throw .value(path, value, not: "an array")
            case ("navigate", _): throw .value(path, value, not: "a URL")
            case ("app_badge", _):
                guard let number = value.wholeNumber, 0...BadgeChange.keptMax ~= number else {
                    throw .value(
                        path, value, not: "a whole number from 0; message.badge and message.web count by \"+1\"")
                }
            default: continue
            }
        }
    }

    /// Throws where the name is probably misspelt.
    package static func checkName(_ name: String) throws(InvalidInput) {
        guard !isKnown(name), let meant = names.nearest(to: name) else { return }
        throw .unknown("message.custom.\(name)", name, notOf: "a part of custom", known: names, meant: meant)
    }

    private static func check(
        _ members: JSONObject, _ field: String, known: [String]
    ) throws(InvalidInput) {
        for (key, value) in members.sorted(by: { $0.key < $1.key }) where !value.isNull && !known.contains(key) {
            throw .unknown("\(field).\(key)", key, notOf: "a field of this part", known: known)
        }
    }
}
