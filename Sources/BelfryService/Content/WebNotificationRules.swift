/// The members of a web notification and their types.
///
/// Source: WHATWG Notifications API, options of a notification; W3C Push API, "Declarative push message".
enum WebNotificationRules {
    /// The most actions of a notification. Source: Chromium and WebKit show two.
    static let actionsMax = 4
    static let urlBytesMax = 2_048

    private enum Shape: String {
        case text = "a string"
        case url = "an https URL, or a path that begins with /"
        case flag = "true or false"
        case direction = "auto, ltr or rtl"
        case actions = "an array of objects with action and title"
        case anything = "any value"
    }

    private static let directions = ["auto", "ltr", "rtl"]

    private static let shapes: [String: Shape] = [
        "title": .text, "body": .text, "icon": .url, "image": .url, "badge": .url, "actions": .actions,
        "navigate": .url, "silent": .flag, "require_interaction": .flag, "lang": .text, "dir": .direction,
        "data": .anything,
    ]

    private static let actionShapes: [String: Shape] = [
        "action": .text, "title": .text, "icon": .url, "navigate": .url,
    ]

    /// The members without those that are null.
    static func checked(
        _ members: JSONObject, field: String
    ) throws(InvalidInput) -> JSONObject {
        try checked(members, by: shapes, and: ["app_badge", "topic", "ttl", "urgency"], field: field)
    }

    private static func checked(
        _ members: JSONObject, by shapes: [String: Shape], and others: [String] = [], field: String
    ) throws(InvalidInput) -> JSONObject {
        var checked: JSONObject = [:]
        for (name, value) in members where !value.isNull {
            guard let shape = shapes[name] else {
                throw .unknown(
                    "\(field).\(name)", name, notOf: "a member of it", known: (shapes.keys + others).sorted())
            }
            checked[name] = try Self.checked(value, as: shape, field: "\(field).\(name)")
        }
        return checked
    }

    private static func checked(
        _ value: JSONValue, as shape: Shape, field: String
    ) throws(InvalidInput) -> JSONValue {
        switch (shape, value) {
        case (.anything, _), (.text, .string), (.flag, .bool): return value
        case (.direction, .string(let text)) where directions.contains(text): return value
        case (.url, .string(let text)) where isURL(text): return value
        case (.actions, .array(let actions)): return .array(try checked(actions, field: field))
        default: throw .value(field, value, not: shape.rawValue, known: shape == .direction ? directions : [])
        }
    }

    private static func checked(_ actions: [JSONValue], field: String) throws(InvalidInput) -> [JSONValue] {
        guard actions.count <= actionsMax else {
            throw InvalidInput(field: field, "has \(actions.count) actions, the limit is \(actionsMax)")
        }
        return try actions.enumerated().map { (index, action) throws(InvalidInput) in
            let name = "\(field)[\(index)]"
            let known = try Self.checked(try action.demandObject(name), by: actionShapes, field: name)
            guard known["action"] != nil, known["title"] != nil else {
                throw InvalidInput(field: name, "needs action and title")
            }
            return JSONValue.object(known)
        }
    }

    /// No `javascript:`, and nothing without TLS except on the browser's own machine: the worker opens any URL that it gets.
    private static func isURL(_ text: String) -> Bool {
        let template = try? TextTemplate(text, field: "", context: TextContext())
        let url = template?.replacing(\.textOfLink) ?? text
        guard 1...urlBytesMax ~= text.utf8.count, url.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != 0x5C }) else {
            return false
        }
        return url.hasPrefix("https://") || url.hasPrefix("http://localhost") || url.hasPrefix("http://127.0.0.1")
            || (url.hasPrefix("/") && !url.hasPrefix("//"))
    }
}

extension Placeholder {
    /// A sample in a URL. A signed link begins with its URL, which is checked when the template is read; a form may show another text.
    fileprivate var textOfLink: String {
        switch source {
        case .signedLink(let url): url
        case .text(let text) where form == nil && text.hasPrefix("https://"): text
        default: "x"
        }
    }
}
