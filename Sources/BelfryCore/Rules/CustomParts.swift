/// The parts of `message.custom`, and the keys of those whose keys a platform defines.
///
/// A key that a platform does not know is no fault to the provider: the notification arrives without what was meant. So senders are
/// refused as they write, and what was accepted before is sent as it is.
/// Source: Apple, "Generating a remote notification"; PCF Push API, "Custom fields".
package enum CustomParts {
    package static let names = [
        "ios", "android", "android-fcm", "androidFcm", "android-baidu", "huawei", "amazon", "web", "windows8",
        "windowsPhone", "bb10",
    ]

    /// Up to how many unknown names are compared with the known ones.
    package static let misspeltMax = 8

    package static func isKnown(_ name: String) -> Bool { names.contains(name) }

    /// Throws `InvalidInput` with the first key that the platform of a part does not know, or whose value it does not take.
    package static func check(_ value: JSONValue, of name: String) throws(InvalidInput) {
        guard case .object(let members) = value else { return }
        let field = "message.custom.\(name)"
        switch name {
        case "ios": try ApplePayloadRules.check(custom: members, field)
        case "windows8":
            try check(members, field, known: ["type", "template_name", "template_fields", "options"])
        case "windowsPhone": try check(members, field, known: ["template", "template_fields"])
        default: return
        }
    }

    /// Throws where the name is probably a misspelt one.
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
