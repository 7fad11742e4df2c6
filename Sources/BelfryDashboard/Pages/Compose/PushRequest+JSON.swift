import BelfryCore
import FoundationEssentials

/// A push request as the admin API takes it, with nothing left out.
extension PushRequest {
    func json(sendAt: Instant? = nil) -> JSONValue {
        var members: [String: JSONValue] = ["message": content.json, "target": target.json]
        members["urgency"] = lane.map { .string($0.word) }
        if guarantee == .atMostOnce { members["at_most_once"] = .bool(true) }
        members["expires_at"] = expiresAt.map { .string($0.text) }
        members["send_at"] = sendAt.map { .string($0.text) }
        return .object(members)
    }
}

extension Push.Content {
    var json: JSONValue {
        var members: [String: JSONValue] = [:]
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
        var members: [String: JSONValue] = ["type": .string(type.rawValue), "payload": .object(payload)]
        members["priority"] = priority.map { .integer($0.rawValue) }
        members["collapse_id"] = collapseID.map(JSONValue.string)
        if isStored == type.isCall { members["store"] = .bool(isStored) }
        return .object(members)
    }
}

extension Target {
    var json: JSONValue {
        var members: [String: JSONValue] = [:]
        members["devices"] = devices.map { .strings($0.map(\.lowercased)) }
        if !topics.isEmpty { members["topics"] = .strings(topics) }
        if !customUserIDs.isEmpty { members["custom_user_ids"] = .strings(customUserIDs) }
        if members.isEmpty { members["everyone"] = .bool(true) }
        members["platforms"] = platforms.map { .strings($0.map(\.rawValue)) }
        if isInteractiveOnly { members["interactive_only"] = .bool(true) }
        return .object(members)
    }
}
