import FoundationEssentials

extension CarmaContactChange {
    /// Reads a contact in every spelling that the guide and its samples have: devices as an array or as one object, a token beside
    /// the contact, `devicetoken` and `deviceToken`. Unknown keys are ignored; null clears.
    init(_ bytes: [UInt8]) throws(InvalidInput) {
        var change = Self()
        try JSONReader.document(bytes) { reader, name throws(InvalidInput) in try change.read(name, from: &reader) }
        self = change
    }

    private mutating func read(_ name: String, from reader: inout JSONReader) throws(InvalidInput) {
        switch name.lowercased() {
        case "originalid": originalID = try reader.value(name).word
        case "deviceinfo": try readDevices(try reader.value(name), name)
        case "devicetoken":
            if let token = try reader.value(name).word { devices.append(Device(["devicetoken": .string(token)])) }
        case "properties": try readProperties(try reader.value(name), name)
        case "active": attributes["active"] = .some(try reader.bool(name).map(UserAttribute.flag))
        case "listid": attributes["listId"] = .some(try reader.number(name).map(UserAttribute.number))
        case let lowercased: try readField(lowercased, try reader.value(name), name)
        }
    }

    private mutating func readField(_ lowercased: String, _ value: JSONValue, _ name: String) throws(InvalidInput) {
        if let known = CarmaAttribute.texts.first(where: { $0.lowercased() == lowercased }) {
            attributes[known] = .some(value.word.map(UserAttribute.text))
        } else if let known = CarmaAttribute.times.first(where: { $0.lowercased() == lowercased }) {
            attributes[known] = .some(try value.time(name).map(UserAttribute.time))
        }
    }

    private mutating func readProperties(_ value: JSONValue, _ name: String) throws(InvalidInput) {
        guard !value.isNull else { return }
        guard case .object(let members) = value else {
            throw InvalidInput(field: name, "has to be an object of strings, it is \(value.typeName)")
        }
        for (key, value) in members {
            attributes[CarmaAttribute.property + key] = .some(value.isNull ? nil : .text(value.flat))
        }
    }

    private mutating func readDevices(_ value: JSONValue, _ name: String) throws(InvalidInput) {
        switch value {
        case .null: return
        case .object(let members): devices.append(Device(members))
        case .array(let items):
            for (index, item) in items.enumerated() {
                devices.append(Device(try item.demandObject("\(name)[\(index)]")))
            }
        default: throw InvalidInput(field: name, "has to be an array of objects, it is \(value.typeName)")
        }
    }
}

extension CarmaContactChange.Device {
    fileprivate init(_ members: JSONObject) {
        self.init()
        for (name, value) in members {
            switch name.lowercased() {
            case "devicetoken": token = value.word
            case "manufacturer": about.manufacturer = value.word
            case "model": about.model = value.word
            case "osversion": about.osVersion = value.word
            case "country": country = value.word
            case "invalidationtype", "dateofinvalidation":
                isInvalid = isInvalid || ![nil, "", "0", "0.0"].contains(value.word)
            default: continue
            }
        }
    }
}

extension JSONValue {
    /// A text, or the text of a number or Boolean; nil for null and all else.
    fileprivate var word: String? {
        switch self {
        case .string(let text): text
        case .integer, .number, .bool: flat
        case .null, .array, .object: nil
        }
    }

    fileprivate func time(_ field: String) throws(InvalidInput) -> Instant? {
        switch self {
        case .null, .string(""): nil
        case .string, .integer, .number: try Instant.carma(flat, field: field)
        case .bool, .array, .object: throw InvalidInput(field: field, "has to be a time, it is \(typeName)")
        }
    }
}

extension Instant {
    /// RFC 3339, milliseconds since 1970, or seconds where these would be before 1973; nil for 0, which Go writes for none.
    static func carma(_ text: String, field: String) throws(InvalidInput) -> Instant? {
        guard let number = Double(text) else { return try Instant(text.carmaTime, field: field) }
        guard number != 0 else { return nil }
        let milliseconds = abs(number) < EventTime.millisecondsMin ? number * 1_000 : number
        return try Instant(Int64(exactly: milliseconds.rounded()) ?? .max, field: field)
    }
}

// MARK: The struct that is answered

extension CarmaContact {
    /// The guide's struct with all its members, those without a value as null.
    var json: JSONValue {
        let attributes = user.profile.attributes
        var members: JSONObject = [
            "listId": .integer(attributes["listId"].flatMap(\.whole) ?? app.listID), "originalId": .string(user.id),
            "active": .bool(attributes["active"] != .flag(false)), "properties": .object(properties),
            "deviceInfo": .array(devices.map { Self.json($0.row, $0.device) }),
        ]
        for name in CarmaAttribute.texts { members[name] = attributes[name].map { .string($0.text) } ?? .null }
        for name in CarmaAttribute.times { members[name] = attributes[name]?.milliseconds ?? .null }
        return .object(members)
    }

    private var properties: JSONObject {
        var properties: [String: String] = [:]
        for (name, value) in user.profile.attributes where name.hasPrefix(CarmaAttribute.property) {
            properties[String(name.dropFirst(CarmaAttribute.property.count))] = value.text
        }
        return JSONObject(properties)
    }

    private static func json(_ row: CarmaDevice, _ device: Device?) -> JSONValue {
        .object([
            "devicetoken": .string(row.token), "manufacturer": .ifAny(device?.about.manufacturer),
            "model": .ifAny(device?.about.model), "osVersion": .ifAny(device?.about.osVersion),
            "country": .ifAny(row.country),
            "dateOfInvalidation": row.invalidatedAt.map { .integer($0.milliseconds) } ?? .null,
            "invalidationType": .integer(row.invalidation.rawValue),
        ])
    }
}

extension JSONValue {
    fileprivate static func ifAny(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
}

extension UserAttribute {
    fileprivate var whole: Int64? {
        if case .number(let number) = self { Int64(exactly: number) } else { nil }
    }

    fileprivate var milliseconds: JSONValue? {
        if case .time(let time) = self { .integer(time.milliseconds) } else { nil }
    }
}
