package import FoundationEssentials

/// The bytes that an iOS device gets, and the headers that follow from them.
///
/// Source: Apple, "Generating a remote notification"; PCF Push API, "Custom fields for iOS pushes".
package struct IOSPayload: Sendable, Hashable {
    package let bytes: [UInt8]
    /// Nothing to show, play or count: a background update, which APNs takes at priority 5 only.
    package let isBackground: Bool

    package static let bytesMax = 4_096

    /// - Parameter receiptID: goes to the root of the payload, where the client SDKs look for it; nil leaves it out.
    /// - Throws: `InvalidInput` when a field has the wrong type, a key is reserved, or the whole is over 4,096 bytes.
    package init(_ content: Push.Content, receiptID: UUID?) throws(InvalidInput) {
        let custom = try content.iosMembers()
        var aps = try Self.aps(custom, body: content.body)
        if aps["alert"] == nil, let body = content.body { aps["alert"] = .string(body) }
        var root = try Self.extra(custom["extra"])
        root["aps"] = .object(aps)
        if let receiptID { root["receiptId"] = .string(receiptID.lowercased) }
        bytes = try JSONValue.object(root).encoded(field: "message")
        isBackground =
            aps["content-available"] == .integer(1) && aps["alert"] == nil && aps["badge"] == nil && aps["sound"] == nil
        guard bytes.count <= Self.bytesMax else {
            throw InvalidInput(
                field: "message", "makes an iOS payload of \(bytes.count) bytes, APNs takes \(Self.bytesMax)")
        }
    }

    private static func aps(_ custom: [String: JSONValue], body: String?) throws(InvalidInput) -> [String: JSONValue] {
        var aps: [String: JSONValue] = [:]
        for (key, value) in custom where key != "extra" && !value.isNull {
            aps[key] =
                switch key {
                case "alert": try alert(value, body: body)
                case "content-available": try flag(value, field: "message.custom.ios.content-available")
                case "badge": try number(value, field: "message.custom.ios.badge")
                case "sound": try sound(value)
                case "category": try string(value, field: "message.custom.ios.category")
                default: value
                }
        }
        return aps
    }

    private static func alert(_ value: JSONValue, body: String?) throws(InvalidInput) -> JSONValue {
        let field = "message.custom.ios.alert"
        guard case .object(let members) = value else { return try string(value, field: field) }
        var alert = members.filter { !$0.value.isNull }
        for key in ["body", "title", "title-loc-key", "action-loc-key", "loc-key", "launch-image"] {
            if let value = alert[key] { alert[key] = try string(value, field: "\(field).\(key)") }
        }
        for key in ["loc-args", "title-loc-args"] {
            if let value = alert[key] { alert[key] = try strings(value, field: "\(field).\(key)") }
        }
        if alert["body"] == nil, let body { alert["body"] = .string(body) }
        return .object(alert)
    }

    /// A name, or a dictionary for critical alerts.
    private static func sound(_ value: JSONValue) throws(InvalidInput) -> JSONValue {
        if case .object = value { return value }
        return try string(value, field: "message.custom.ios.sound")
    }

    private static func extra(_ value: JSONValue?) throws(InvalidInput) -> [String: JSONValue] {
        let field = "message.custom.ios.extra"
        guard let value, !value.isNull else { return [:] }
        guard case .object(let members) = value else {
            throw InvalidInput(field: field, "has to be an object, it is \(value.typeName)")
        }
        for reserved in ["aps", "receiptId"] where members[reserved] != nil {
            throw InvalidInput(field: "\(field).\(reserved)", "is reserved: the server writes it")
        }
        return members
    }

    /// The documented boolean, which goes to APNs as 1 or 0. Senders that know APNs send the number.
    private static func flag(_ value: JSONValue, field: String) throws(InvalidInput) -> JSONValue {
        switch value {
        case .bool(let flag): return .integer(flag ? 1 : 0)
        case .integer(0), .integer(1): return value
        default: throw InvalidInput(field: field, "has to be a boolean, it is \(value.typeName)")
        }
    }

    private static func number(_ value: JSONValue, field: String) throws(InvalidInput) -> JSONValue {
        switch value {
        case .integer: return value
        case .string(let text):
            guard let number = Int64(text) else { fallthrough }
            return .integer(number)
        default: throw InvalidInput(field: field, "has to be a whole number, it is \(value.typeName)")
        }
    }

    private static func string(_ value: JSONValue, field: String) throws(InvalidInput) -> JSONValue {
        guard case .string = value else {
            throw InvalidInput(field: field, "has to be a string, it is \(value.typeName)")
        }
        return value
    }

    private static func strings(_ value: JSONValue, field: String) throws(InvalidInput) -> JSONValue {
        guard case .array(let items) = value else {
            throw InvalidInput(field: field, "has to be an array of strings, it is \(value.typeName)")
        }
        for (index, item) in items.enumerated() { _ = try string(item, field: "\(field)[\(index)]") }
        return value
    }
}

extension Push.Content {
    fileprivate func iosMembers() throws(InvalidInput) -> [String: JSONValue] {
        guard let custom = custom["ios"], !custom.isNull else { return [:] }
        guard case .object(let members) = custom else {
            throw InvalidInput(field: "message.custom.ios", "has to be an object, it is \(custom.typeName)")
        }
        return members
    }
}

extension JSONValue {
    /// Compact, with sorted keys: the same value makes the same bytes.
    package func encoded(field: String) throws(InvalidInput) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(self))
        } catch {
            throw InvalidInput(field: field, "cannot be written as JSON: \(error)")
        }
    }
}
