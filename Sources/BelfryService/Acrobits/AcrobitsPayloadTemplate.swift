/// An operator's payload for an app id, by verb: `{"NotifyIncomingCall": {"s": "%Selector%"}, "*": {"v": "%verb%"}}`.
///
/// `%Name%` stands for the field of that name. A member that is only a placeholder is left out where the field is
/// missing, and `%Badge%` is a number.
package struct AcrobitsPayloadTemplate: Sendable, Hashable {
    /// The payloads by verb; `*` is for verbs without one.
    private let payloads: JSONObject

    package static let bytesMax = 4_096

    /// Reads the JSON that an operator wrote.
    package init(_ text: String, field: String = "payload") throws(InvalidInput) {
        try self.init(try JSONValue(json: text.utf8, field: field), field: field)
    }

    package init(_ value: JSONValue, field: String = "payload") throws(InvalidInput) {
        guard case .object(let payloads) = value, !payloads.isEmpty else {
            throw InvalidInput(field: field, "has to be an object of payloads by verb")
        }
        for (verb, payload) in payloads.sorted(by: { $0.key < $1.key }) {
            _ = try payload.demandObject("\(field).\(verb)")
        }
        self.payloads = payloads
        guard text.utf8.count <= Self.bytesMax else {
            throw InvalidInput(field: field, "is \(text.utf8.count) bytes, the limit is \(Self.bytesMax)")
        }
    }

    package var json: JSONValue { .object(payloads) }

    /// As it is stored.
    package var text: String { json.storedText }

    /// The most bytes of all filled texts: a field may stand in them many times.
    private static let filledBytesMax = 8_192

    /// The payload with the fields of a call in it; nil where the verb has none.
    package func members(for call: AcrobitsCall) throws(InvalidInput) -> JSONObject? {
        var room = Self.filledBytesMax
        guard let payload = payloads[call.verb.name] ?? payloads["*"],
            case .object(let members)? = try filled(payload, from: call, &room)
        else { return nil }
        return members
    }

    /// nil where nothing is left.
    private func filled(
        _ value: JSONValue, from call: AcrobitsCall, _ room: inout Int
    ) throws(InvalidInput) -> JSONValue? {
        switch value {
        case .string(let text): return try filled(text, from: call, &room)
        case .array(let items):
            var kept: [JSONValue] = []
            for item in items {
                if let item = try filled(item, from: call, &room) { kept.append(item) }
            }
            return .array(kept)
        case .object(let members):
            var kept: [JSONObject.Member] = []
            for (name, member) in members {
                if let member = try filled(member, from: call, &room) { kept.append((name, member)) }
            }
            return .object(JSONObject(kept))
        default: return value
        }
    }

    private func filled(
        _ text: String, from call: AcrobitsCall, _ room: inout Int
    ) throws(InvalidInput) -> JSONValue? {
        let parts = text.split(separator: "%", omittingEmptySubsequences: false)
        if parts.count == 3, parts[0].isEmpty, parts[2].isEmpty {
            if parts[1] == "Badge" { return call.badge.map(JSONValue.integer) }
            guard let whole = field(parts[1], of: call) else { return nil }
            try take(whole.utf8.count, from: &room, call)
            return .string(whole)
        }
        guard !parts.count.isMultiple(of: 2) else { return .string(text) }
        var result = ""
        for (index, part) in parts.enumerated() {
            let text = index.isMultiple(of: 2) ? String(part) : field(part, of: call) ?? ""
            try take(text.utf8.count, from: &room, call)
            result += text
        }
        return .string(result)
    }

    private func take(_ bytes: Int, from room: inout Int, _ call: AcrobitsCall) throws(InvalidInput) {
        room -= bytes
        guard room >= 0 else {
            throw InvalidInput(
                field: call.verb.name, "makes texts of more than \(Self.filledBytesMax) bytes in the payload")
        }
    }

    private func field(_ name: Substring, of call: AcrobitsCall) -> String? {
        switch name {
        case "verb": call.verb.name
        case "Selector": call.selector
        case "AppId": call.appID
        case "DeviceToken": nil
        default: call.text(String(name))
        }
    }
}
