package import BelfryService

extension Push.Content {
    /// The content in the form that `PushBody` reads, with nothing left out.
    package var json: JSONValue {
        var members = shared.json
        members["body"] = body.map(JSONValue.string)
        if !custom.isEmpty { members["custom"] = .object(custom) }
        members["apns"] = apple?.json
        members["web"] = web?.json
        members["badge"] = badge?.json
        if isTemplate { members["template"] = .bool(true) }
        return .object(members)
    }
}

extension ApplePush {
    fileprivate var json: JSONValue {
        var members: JSONObject = [
            "type": .string(type.rawValue), "store": .bool(isStored), "payload": .object(payload),
        ]
        members["priority"] = priority.map { .integer($0.rawValue) }
        members["collapse_id"] = collapseID.map(JSONValue.string)
        return .object(members)
    }
}

extension Target {
    /// The request in the form that `PushBody` reads, with nothing left out.
    package var json: JSONValue {
        var members: JSONObject = [:]
        members["devices"] = devices.map { .strings($0.map(\.lowercased)) }
        if !topics.isEmpty { members["topics"] = .strings(topics) }
        if !customUserIDs.isEmpty { members["custom_user_ids"] = .strings(customUserIDs) }
        if members.isEmpty { members["everyone"] = .bool(true) }
        members["platforms"] = platforms.map { .strings($0.map(\.rawValue)) }
        if isInteractiveOnly { members["interactive_only"] = .bool(true) }
        return .object(members)
    }
}
