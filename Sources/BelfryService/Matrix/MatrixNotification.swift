import FoundationEssentials
import KeyFiles

/// A notification of a homeserver: an event, or new counts of unread messages, and the devices that it is for.
///
/// Source: Matrix specification, Push Gateway API, `POST /_matrix/push/v1/notify`; Synapse, HttpPusher.
struct MatrixNotification: Sendable {
    private(set) var eventID: String?
    private(set) var texts: [String: String] = [:]
    private(set) var isOfTarget = false
    private(set) var isLow = false
    private(set) var content: JSONObject = [:]
    private(set) var unread: Int64?
    private(set) var missedCalls: Int64?
    private(set) var devices: [Device] = []

    /// A pusher of the homeserver: an app on a device.
    struct Device: Sendable {
        fileprivate(set) var appID = ""
        fileprivate(set) var pushkey = ""
        /// When the pusher was set.
        fileprivate(set) var since: Instant?
        /// The app's own data of the pusher.
        fileprivate(set) var data: JSONObject = [:]
        fileprivate(set) var sound: String?
    }

    /// Homeservers send a request for each, and each costs as much as the whole content.
    static let devicesMax = 16
    /// Source: Sygnal, `http.py`, `MAX_REQUEST_SIZE`.
    static let bytesMax = 512 << 10

    /// The fields of the event that apps get under their own names. `membership` is no longer in the specification; Synapse sends it.
    private static let names = [
        "event_id", "type", "sender", "room_name", "room_alias", "membership", "sender_display_name", "room_id",
    ]

    init(json bytes: [UInt8]) throws(InvalidInput) {
        var isFound = false
        try JSONReader.document(Self.readable(bytes)) { reader, name throws(InvalidInput) in
            guard name == "notification" else { return try reader.skip() }
            isFound = true
            try reader.object(name) { reader, name throws(InvalidInput) in try read(name, from: &reader) }
        }
        guard isFound else { throw InvalidInput.missing("notification") }
        guard !devices.isEmpty else { throw InvalidInput.missing("notification.devices") }
        eventID = texts["event_id"]
    }

    private mutating func read(_ name: String, from reader: inout JSONReader) throws(InvalidInput) {
        let field = "notification.\(name)"
        switch name {
        case "devices":
            try reader.array(field) { reader, index throws(InvalidInput) in
                guard index < Self.devicesMax else {
                    throw InvalidInput(field: field, "has more than \(Self.devicesMax) devices, which is the limit")
                }
                devices.append(try Device(from: &reader, "\(field)[\(index)]"))
            }
        case "counts":
            guard case .object(let counts) = try reader.value(field) else { return }
            unread = counts["unread"]?.wholeNumber
            missedCalls = counts["missed_calls"]?.wholeNumber
        case "content":
            guard case .object(let members) = try reader.value(field) else { return }
            content = members
        case "user_is_target": isOfTarget = try reader.bool(field) ?? false
        case "prio": isLow = try reader.string(field) == "low"
        default:
            guard Self.names.contains(name) else { return try reader.skip() }
            if let text = try reader.value(field).stringValue, !text.isEmpty { texts[name] = text }
        }
    }

    var badge: Int64? {
        guard unread != nil || missedCalls != nil else { return nil }
        return min(max(0, (unread ?? 0).addingReportingOverflow(missedCalls ?? 0).partialValue), BadgeChange.keptMax)
    }

    /// Whether it names an event and says nothing of it: the pusher asked for `event_id_only`.
    private var isIDAlone: Bool { eventID != nil && texts["type"] == nil }

    /// An id that a repeated notification has again; nil where no event is named, since counts may come again.
    ///
    /// Two accounts on a device have the same pushkey, and differ in their data.
    func id(for device: Device, of endpoint: Key<OpenEndpoint>) -> UUID? {
        eventID.map {
            TokenGateway.id(of: endpoint, [$0, device.appID, device.pushkey, JSONValue.object(device.data).flat])
        }
    }
}

extension MatrixNotification.Device {
    fileprivate init(from reader: inout JSONReader, _ field: String) throws(InvalidInput) {
        try reader.object(field) { reader, name throws(InvalidInput) in
            switch name {
            case "app_id": appID = try reader.string("\(field).app_id") ?? ""
            case "pushkey": pushkey = try reader.string("\(field).pushkey") ?? ""
            case "pushkey_ts":
                since = try reader.integer("\(field).pushkey_ts").flatMap { seconds in
                    0...Int64(UInt32.max) ~= seconds ? Instant(milliseconds: seconds * 1_000) : nil
                }
            case "data": data = try reader.members("\(field).data") ?? [:]
            case "tweaks": sound = try reader.members("\(field).tweaks")?["sound"]?.stringValue
            default: try reader.skip()
            }
        }
        if appID.isEmpty { throw InvalidInput.missing("\(field).app_id") }
        if pushkey.isEmpty { throw InvalidInput.missing("\(field).pushkey") }
    }

    /// The token: a pushkey for Apple's devices is Base64, or hex digits. Throws where no provider hands out such a token. Source: Sygnal,
    /// `apnspushkin.py`, `convert_device_token_to_hex`.
    func token(for kind: PlatformKind) throws(InvalidInput) -> DeviceToken {
        guard kind.spellsTokensInHex, pushkey.utf8.count != 64 || [UInt8](hex: pushkey.utf8) == nil else {
            return try DeviceToken(pushkey, for: kind)
        }
        guard let bytes = Base64.decode(loose: pushkey.utf8), !bytes.isEmpty else {
            throw InvalidInput(field: "pushkey", "is neither Base64 nor 64 hex digits")
        }
        return try DeviceToken(bytes.hex, for: kind)
    }

    /// The payload that the app wants as a base. Source: MSC2631; Element's apps set it.
    fileprivate var defaultPayload: JSONObject {
        if case .object(let members)? = data["default_payload"] { members } else { [:] }
    }
}

// MARK: - Payloads

extension MatrixNotification {
    /// Lengths of a text, of which the first is taken that fits.
    private static let textBytes = [1_024, 512, 256, 128, 64]

    /// The content for a device; nil where there is nothing to tell it. Where it is too large in its shortest form, the members of the
    /// event's content are left out. Throws where the app's own payload is too large even then.
    func content(for device: Device, on kind: PlatformKind) throws(InvalidInput) -> Push.Content? {
        for bytes in Self.textBytes {
            guard let content = content(for: device, on: kind, textBytes: bytes) else { return nil }
            do throws(InvalidInput) {
                try content.check(for: [kind], receiptID: UUID())
                return content
            } catch {
                guard error.isTooLarge else { throw error }
            }
        }
        var bare = self
        bare.content = [:]
        guard let content = bare.content(for: device, on: kind, textBytes: Self.textBytes.last ?? 0) else { return nil }
        try content.check(for: [kind], receiptID: UUID())
        return content
    }

    private func content(for device: Device, on kind: PlatformKind, textBytes: Int) -> Push.Content? {
        var content: Push.Content
        if let use = kind.appleUse {
            guard let payload = apple(device, textBytes) else { return nil }
            content = Push.Content(
                apple: ApplePush(verbatim: payload, for: use, isConsiderate: isLow, isStored: true))
        } else {
            content = Push.Content(
                shared: SharedFields(data: data(device, textBytes)),
                custom: ["android": .object(["priority": .string(isLow ? "normal" : "high")])])
        }
        content.pacing = .exempt
        return content
    }

    // MARK: Apple

    private func apple(_ device: Device, _ textBytes: Int) -> JSONObject? {
        var payload = device.defaultPayload
        if isIDAlone {
            payload["room_id"] = texts["room_id"].map(JSONValue.string)
            payload["event_id"] = eventID.map(JSONValue.string)
            payload["unread_count"] = unread.map(JSONValue.integer)
            payload["missed_calls"] = missedCalls.map(JSONValue.integer)
            return payload
        }
        let alert = alert(textBytes)
        guard alert != nil || badge != nil else { return nil }
        var aps: JSONObject = [:]
        // An update of the badge alone shows nothing.
        if alert == nil { payload = [:] }
        if case .object(let own)? = payload["aps"] { aps = own }
        if let alert {
            var members: JSONObject = [:]
            if case .object(let own)? = aps["alert"] { members = own }
            members["loc-key"] = .string(alert.key)
            members["loc-args"] = .strings(alert.arguments)
            aps["alert"] = .object(members)
            if let sound = device.sound { aps["sound"] = .string(sound) }
            payload["room_id"] = texts["room_id"].map(JSONValue.string)
            payload["event_id"] = eventID.map(JSONValue.string)
        }
        if let badge { aps["badge"] = .integer(badge) }
        payload["aps"] = .object(aps)
        return payload
    }

    /// The key of a text in the app, with its values; nil for an event that shows nothing. The keys are those for which apps were made.
    /// Source: Sygnal, `apnspushkin.py`, payloads.
    private func alert(_ textBytes: Int) -> (key: String, arguments: [String])? {
        func cut(_ text: String?) -> String? { text.map { $0.cut(toBytes: textBytes) } }
        let sender = cut(texts["sender_display_name"] ?? texts["sender"]) ?? " "
        let room = cut(texts["room_name"] ?? texts["room_alias"])
        switch texts["type"] {
        case nil: return nil
        case "m.room.message", "m.room.encrypted":
            let kind = content["msgtype"]?.stringValue
            let body = kind == nil ? nil : cut(content["body"]?.stringValue)
            let place = room == nil ? "" : "_IN_ROOM"
            switch (kind, body) {
            case ("m.image", let body):
                return ("IMAGE_FROM_USER\(place)", [sender, body ?? ""] + (room.map { [$0] } ?? []))
            case ("m.emote", let body?):
                return ("ACTION_FROM_USER\(place)", (room.map { [$0] } ?? []) + [sender, body])
            case (_, let body?):
                return ("MSG_FROM_USER\(place)_WITH_CONTENT", [sender] + (room.map { [$0] } ?? []) + [body])
            case (_, nil): return ("MSG_FROM_USER\(place)", [sender] + (room.map { [$0] } ?? []))
            }
        case "m.call.invite":
            let isVideo = content["offer"]?["sdp"]?.stringValue?.contains("m=video") ?? false
            return (isVideo ? "VIDEO_CALL_FROM_USER" : "VOICE_CALL_FROM_USER", [sender])
        case "m.room.member":
            guard isOfTarget, texts["membership"] == "invite" else { return nil }
            return room.map { ("USER_INVITE_TO_NAMED_ROOM", [sender, $0]) } ?? ("USER_INVITE_TO_CHAT", [sender])
        default: return ("MSG_FROM_USER", [sender])
        }
    }

    // MARK: Others

    /// Data for the app, all texts. Source: Sygnal, `gcmpushkin.py`, `_build_data` for FCM's version 1.
    private func data(_ device: Device, _ textBytes: Int) -> JSONObject {
        var data = device.defaultPayload.filter { !$0.key.isReservedInData }
        for name in Self.names { if let text = texts[name] { data[name] = .string(text.cut(toBytes: textBytes)) } }
        var bytes = 0
        for (name, value) in content.prefix(Self.contentMembersMax) {
            guard let text = value.stringValue?.cut(toBytes: textBytes) else { continue }
            let size = name.utf8.count + text.utf8.count
            guard bytes + size <= Self.contentBytesMax else { continue }
            bytes += size
            data["content_\(name)"] = .string(text)
        }
        data["prio"] = .string(isLow ? "normal" : "high")
        data["unread"] = unread.map { .string(String($0)) }
        data["missed_calls"] = missedCalls.map { .string(String($0)) }
        return data
    }

    /// More do not fit into a message.
    private static let contentMembersMax = 32
    private static let contentBytesMax = 4_096
}

// MARK: - Events that no JSON reader here takes

extension MatrixNotification {
    /// More than any payload nests.
    private static let depthMax = 32

    /// The text without what a reader refuses, since anyone in a room can write it and a homeserver repeats a refused request: escapes of
    /// U+0000 and of half a surrogate pair become U+FFFD; containers that nest too deep, and numbers too long or too large, become null.
    private static func readable(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        var (index, depth, isInString) = (0, 0, false)
        while index < bytes.count {
            let byte = bytes[index]
            var (length, isKept) = (1, depth <= depthMax)
            switch byte {
            case UInt8(ascii: "\\") where isInString:
                length = min(escapeLength(in: bytes, at: index), bytes.count - index)
                if length == 0 {
                    if isKept { text += #"\uFFFD"#.utf8 }
                    index += 6
                    continue
                }
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard !isInString else { break }
                depth += 1
                isKept = depth <= depthMax
                if depth == depthMax + 1 { text += "null".utf8 }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if !isInString { depth -= 1 }
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard !isInString else { break }
                let number = bytes[index...].prefix { 0x30...0x39 ~= $0 || "+-.eE".utf8.contains($0) }
                length = number.count
                if isKept, isOutsized(number) {
                    text += "null".utf8
                    isKept = false
                }
            default: break
            }
            if isKept, length == 1 { text.append(byte) } else if isKept { text += bytes[index..<(index + length)] }
            index += length
        }
        return text
    }

    /// Whether a number has more than 64 characters, or an exponent of three digits.
    private static func isOutsized(_ number: ArraySlice<UInt8>) -> Bool {
        let exponent = number.firstIndex { $0 | 0x20 == UInt8(ascii: "e") }.map { number[$0...].dropFirst() } ?? []
        return number.count > 64 || exponent.count { 0x30...0x39 ~= $0 } > 2
    }

    /// The length of the escape at a backslash; 0 for one of no character.
    private static func escapeLength(in bytes: [UInt8], at index: Int) -> Int {
        guard let first = escapedUnit(in: bytes, at: index) else { return 2 }
        guard first != 0, !UTF16.isTrailSurrogate(first) else { return 0 }
        guard UTF16.isLeadSurrogate(first) else { return 6 }
        return escapedUnit(in: bytes, at: index + 6).map(UTF16.isTrailSurrogate) == true ? 12 : 0
    }

    private static func escapedUnit(in bytes: [UInt8], at index: Int) -> UInt16? {
        guard index + 6 <= bytes.count, bytes[index..<(index + 2)].elementsEqual(#"\u"#.utf8),
            let pair = [UInt8](hex: bytes[(index + 2)..<(index + 6)])
        else { return nil }
        return UInt16(pair[0]) << 8 | UInt16(pair[1])
    }
}

extension String {
    /// Whether the server or the provider writes a member of that name. Source: Firebase, REST reference, `data`.
    fileprivate var isReservedInData: Bool {
        ["aps", "receiptId", "from", "message_type", "priority"].contains(self) || hasPrefix("google.")
            || hasPrefix("gcm.")
    }
}
