/// The data that a geofence shows on a device, by the key that each client SDK reads: `ios`, `android`, `androidFcm`.
///
/// One value of a wrong type makes an Android SDK drop all geofences of a response, so the parts that SDKs read are
/// validated here; other keys are the team's own.
/// Source: what the PCF SDKs read, `docs/compatibility/pcf.md`.
package struct GeofenceData: Sendable, Hashable {
    package let parts: JSONObject

    /// The limit on the stored form, in bytes.
    package static let bytesMax = 8_192

    package init(_ parts: JSONObject) throws(InvalidInput) {
        var checked: [JSONObject.Member] = []
        for (key, value) in parts where !value.isNull {
            let value =
                switch key {
                case "ios": try Self.notification(value)
                case "android", "androidFcm": try Self.flat(value, field: "data.\(key)")
                default: value
                }
            checked.append((key, value))
        }
        self.parts = JSONObject(checked)
        try JSONValue.object(self.parts).checkStored("data", bytesMax: Self.bytesMax)
    }

    /// Decodes the stored JSON. Throws `InvalidInput` if it is malformed.
    package init(stored text: [UInt8]) throws(InvalidInput) {
        guard case .object(let parts) = try JSONValue(json: text) else {
            throw InvalidInput(field: "data", "is not an object")
        }
        self.parts = parts
    }

    /// The stored form.
    package var storedText: String { JSONValue.object(parts).storedText }

    /// A key that no SDK reads, with its object's path and the suggested key.
    package struct Stranger: Sendable, Hashable {
        package let prefix: String
        package let key: String
        package let known: [String]
        /// The key that is probably meant.
        package let meant: String?
    }

    /// The keys that no SDK reads. A team may have its own.
    package var strangers: [Stranger] {
        var strangers = Self.strangers(in: parts, "data.", Self.partNames, meanings: [:])
        if case .object(let members)? = parts["ios"] {
            strangers += Self.strangers(in: members, "data.ios.", Self.iosNames, meanings: Self.iosMeanings)
        }
        return strangers
    }

    /// Whether some device has something to show.
    package func isShown(on platform: GeofencePlatform) -> Bool {
        let read: [String] =
            switch platform {
            case .all: Self.partNames
            case .ios: ["ios"]
            case .android, .androidFCM: ["android", "androidFcm"]
            }
        return read.contains { parts[$0].map { $0 != .object([:]) } ?? false }
    }

    private static let partNames = ["ios", "android", "androidFcm"]
    private static let iosNames = [
        "alertBody", "alertTitle", "alertAction", "alertLaunchImage", "category", "hasAction", "soundName",
        "applicationBadgeNumber", "applicationIconBadgeNumber", "userInfo",
    ]
    /// The keys of a push, and the geofence's keys for the same things.
    private static let iosMeanings = [
        "alert": "alertBody", "body": "alertBody", "message": "alertBody", "title": "alertTitle", "sound": "soundName",
        "badge": "applicationBadgeNumber",
    ]

    private static func strangers(
        in members: JSONObject, _ prefix: String, _ known: [String], meanings: [String: String]
    ) -> [Stranger] {
        members.keys.sorted().filter { !known.contains($0) }.map { key in
            Stranger(
                prefix: prefix, key: key, known: known,
                meant: meanings[NearestName.plain(key)] ?? known.nearest(to: key))
        }
    }

    /// A local notification of iOS. Unknown keys are kept.
    private static func notification(_ value: JSONValue) throws(InvalidInput) -> JSONValue {
        var checked: [JSONObject.Member] = []
        for (key, value) in try value.demandObject("data.ios") where !value.isNull {
            let field = "data.ios.\(key)"
            let value =
                switch key {
                case "alertBody", "category", "alertAction", "alertTitle", "alertLaunchImage", "soundName":
                    JSONValue.string(try value.demandText(field))
                case "hasAction": try bool(value, field: field)
                case "applicationBadgeNumber", "applicationIconBadgeNumber": try integer(value, field: field)
                case "userInfo": try userInfo(value, field: field)
                default: value
                }
            checked.append((key, value))
        }
        return .object(JSONObject(checked))
    }

    private static func userInfo(_ value: JSONValue, field: String) throws(InvalidInput) -> JSONValue {
        let members = try value.demandObject(field)
        let reserved = "pivotal.push.geofence_trigger_condition"
        guard members[reserved] == nil else {
            throw InvalidInput(field: "\(field).\(reserved)", "is reserved: the SDK writes it")
        }
        return value
    }

    /// Android SDKs read a map of strings only, so each value is written as a string, like the values of pushes.
    private static func flat(_ value: JSONValue, field: String) throws(InvalidInput) -> JSONValue {
        var flat: [JSONObject.Member] = []
        for (key, value) in try value.demandObject(field) {
            guard key != "PCF_GEOFENCE_ID" else {
                throw InvalidInput(field: "\(field).\(key)", "is reserved: the SDK writes it")
            }
            if !value.isNull { flat.append((key, .string(value.flat))) }
        }
        return .object(JSONObject(flat))
    }

    private static func bool(_ value: JSONValue, field: String) throws(InvalidInput) -> JSONValue {
        switch value {
        case .bool: return value
        case .string("true"): return .bool(true)
        case .string("false"): return .bool(false)
        default: throw InvalidInput(field: field, "has to be true or false, it is \(value.typeName)")
        }
    }

    private static func integer(_ value: JSONValue, field: String) throws(InvalidInput) -> JSONValue {
        switch value {
        case .integer: return value
        case .string(let text):
            guard let integer = Int64(text) else { fallthrough }
            return .integer(integer)
        default: throw InvalidInput(field: field, "has to be a whole number, it is \(value.typeName)")
        }
    }
}
