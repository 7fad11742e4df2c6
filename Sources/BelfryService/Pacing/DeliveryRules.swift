import FoundationEssentials

/// When and how often the devices of an application are told. Pushes of the kind `transactional` are exempt.
package struct DeliveryRules: Sendable, Hashable {
    package var quietHours: QuietHours?
    package var caps: [FrequencyCap] = []
    /// Whether a second person has to approve a campaign before it starts.
    package var approvesCampaigns = false
    package var webPush = WebPushAccess.off
    /// Whether pushes that the server could read are refused.
    package var takesEncryptedOnly = false
    /// The text that devices show where they cannot decrypt; nil for `EncryptedContent.alertByDefault`.
    package var encryptedAlert: String?

    package static let capsMax = 8

    package init(quietHours: QuietHours? = nil, caps: [FrequencyCap] = []) {
        (self.quietHours, self.caps) = (quietHours, caps)
    }

    package var isEmpty: Bool {
        quietHours == nil && caps.isEmpty && !approvesCampaigns && webPush == .off && !takesEncryptedOnly
            && encryptedAlert == nil
    }

    /// The kind that the rules leave alone: codes, receipts, alarms.
    package static let exemptKind = "transactional"

    /// Reads a kind, with case folded. Throws where it is no name, or is long.
    package static func kind(_ text: String, field: String) throws(InvalidInput) -> String {
        let kind = try text.asName(field: field).caseFolded
        guard kind.utf8.count <= 64 else {
            throw InvalidInput(field: field, "is \(kind.utf8.count) bytes, the limit is 64")
        }
        return kind
    }
}

/// The hours in which devices are left alone, by the clock of each recipient: the zone of the device, else of its user, else `zone`.
package struct QuietHours: Sendable, Hashable {
    /// nil where only users have hours of their own.
    package let hours: DayHours?
    package let then: Treatment
    package let zone: ZoneInfo

    /// The treatment of a push that comes in these hours.
    package enum Treatment: String, Sendable, Hashable, CaseIterable {
        /// Waits for their end.
        case wait
        /// Is not sent to it.
        case skip
        /// Is shown without a sound.
        case passive
    }

    /// Such as `22:00-08:00 wait Europe/Vienna`.
    package var words: String { "\(hours?.text ?? "of users") \(then.rawValue) \(zone.name)" }

    /// The attribute of a user with hours of their own: `22:00-07:00`, or `none`.
    package static let attribute = "quiet_hours"

    /// The end of the quiet hours that a device is in; nil where it is in none.
    ///
    /// - Parameters:
    ///   - own: the user's attribute. What is neither hours nor `none` counts for nothing.
    ///   - zone: the zone of the device or its user; nil where neither tells.
    func end(at now: Instant, own: String?, in zone: ZoneInfo?) -> Instant? {
        if own?.caseFolded == "none" { return nil }
        return (own.flatMap(DayHours.init) ?? hours)?.end(at: now, in: zone ?? self.zone)
    }
}

/// A part of each day, over midnight where it ends earlier than it begins.
package struct DayHours: Sendable, Hashable {
    /// Minutes since midnight.
    let from, to: Int64

    /// Reads `22:00-07:30`.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let from = Self.minutes(parts[0]), let to = Self.minutes(parts[1]), from != to else {
            return nil
        }
        (self.from, self.to) = (from, to)
    }

    private static func minutes(_ text: Substring) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        guard [0, 1, 3, 4].allSatisfy({ 0x30...0x39 ~= bytes[$0] }) else { return nil }
        let (hour, minute) = (Int64(bytes[0] - 0x30) * 10 + Int64(bytes[1] - 0x30), Int64(text.suffix(2)) ?? 60)
        return hour < 24 && minute < 60 ? hour * 60 + minute : nil
    }

    package var text: String { "\(fromText)-\(toText)" }
    package var fromText: String { Self.text(from) }
    package var toText: String { Self.text(to) }

    private static func text(_ minutes: Int64) -> String {
        func two(_ number: Int64) -> String { (number < 10 ? "0" : "") + String(number) }
        return "\(two(minutes / 60)):\(two(minutes % 60))"
    }

    /// When they end; nil where the clocks of the zone show another part of the day. Where clocks show the end twice, the first counts.
    func end(at now: Instant, in zone: ZoneInfo) -> Instant? {
        let local = zone.local(at: now)
        let minute = local.second / 60
        guard from < to ? from..<to ~= minute : minute >= from || minute < to else { return nil }
        let end = zone.instant(of: LocalTime(day: local.day + (minute < to ? 0 : 1), second: to * 60))
        return end > now ? end : nil
    }
}

/// The most pushes that one user gets in a day or a week; a device without a user counts as one.
package struct FrequencyCap: Sendable, Hashable {
    package let limit: Int
    package let period: Period
    /// The kind of pushes that it counts; nil for all but `transactional` ones.
    package let kind: String?

    /// The last 24 hours, or the last seven days.
    package enum Period: String, Sendable, Hashable, CaseIterable {
        case day, week

        var duration: Duration { .seconds(self == .day ? 86_400 : 604_800) }
    }

    package static let limits = 1...100

    /// Such as `2/day` and `marketing:1/week`.
    package var words: String { "\(kind.map { "\($0):" } ?? "")\(limit)/\(period.rawValue)" }
}

// MARK: JSON

extension QuietHours {
    /// Reads `{"from": "22:00", "to": "08:00", "then": "wait", "time_zone": "Europe/Vienna"}`.
    ///
    /// - Parameter isStored: whether the zone was known when it was written.
    package init(_ value: JSONValue, field: String, isStored: Bool = false) throws(InvalidInput) {
        var texts: [String: String] = [:]
        for (name, value) in try value.demandObject(field) where !value.isNull {
            guard ["from", "to", "then", "time_zone"].contains(name) else {
                throw InvalidInput.unknown("\(field).\(name)", instead: ["from", "to", "then", "time_zone"])
            }
            texts[name] = try value.demandText("\(field).\(name)")
        }
        var hours: DayHours?
        if texts["from"] != nil || texts["to"] != nil {
            hours = DayHours("\(texts["from"] ?? "")-\(texts["to"] ?? "")")
            guard hours != nil else {
                throw InvalidInput(
                    field: field, "needs from and to, two different times of day such as 22:00 and 08:00")
            }
        }
        let word = texts["then"] ?? Treatment.wait.rawValue
        guard let then = Treatment(rawValue: word) else {
            throw .value("\(field).then", .string(word), notOneOf: Treatment.allCases.map(\.rawValue))
        }
        let name = texts["time_zone"] ?? "UTC"
        let zone = isStored ? ZoneInfo(stored: name) : try ZoneInfo(name, field: "\(field).time_zone")
        self.init(hours: hours, then: then, zone: zone)
    }

    package var json: JSONValue {
        var members: JSONObject = [:]
        members["from"] = hours.map { .string($0.fromText) }
        members["to"] = hours.map { .string($0.toText) }
        members["then"] = .string(then.rawValue)
        members["time_zone"] = .string(zone.name)
        return .object(members)
    }
}

extension FrequencyCap {
    /// Reads `2/day` or `marketing:1/week`.
    package init(words: String, field: String) throws(InvalidInput) {
        let colon = words.lastIndex(of: ":")
        let parts = words[(colon.map(words.index(after:)) ?? words.startIndex)...].split(separator: "/")
        guard parts.count == 2, let limit = Int64(parts[0]) else {
            throw InvalidInput(field: field, "is '\(words.prefix(64))', it has to be such as 2/day or marketing:1/week")
        }
        var members: JSONObject = ["limit": .integer(limit), "per": .string(String(parts[1]))]
        members["kind"] = colon.map { .string(String(words[..<$0])) }
        do throws(InvalidInput) { try self.init(.object(members), field: field) } catch {
            let part = error.field.dropFirst(field.count + 1)
            throw InvalidInput(field: field, "has '\(words.prefix(64))', whose \(part) \(error.problem)")
        }
    }

    /// Reads `{"limit": 2, "per": "day", "kind": "marketing"}`.
    package init(_ value: JSONValue, field: String) throws(InvalidInput) {
        let members = try value.members(field, of: ["limit", "per", "kind"])
        guard let limit = members["limit"]?.wholeNumber, let limit = Int(exactly: limit), Self.limits ~= limit else {
            throw InvalidInput(
                field: "\(field).limit", "has to be from \(Self.limits.lowerBound) to \(Self.limits.upperBound)")
        }
        guard let period = members["per"]?.stringValue.flatMap(Period.init) else {
            throw InvalidInput(field: "\(field).per", "has to be day or week")
        }
        var kind: String?
        if let value = members["kind"], !value.isNull {
            kind = try DeliveryRules.kind(try value.demandText("\(field).kind"), field: "\(field).kind")
            guard kind != DeliveryRules.exemptKind else {
                throw InvalidInput(field: "\(field).kind", "is \(DeliveryRules.exemptKind), which has no limit")
            }
        }
        self.init(limit: limit, period: period, kind: kind)
    }

    package var json: JSONValue {
        var members: JSONObject = ["limit": .integer(Int64(limit)), "per": .string(period.rawValue)]
        members["kind"] = kind.map(JSONValue.string)
        return .object(members)
    }

    package static func list(_ value: JSONValue, field: String) throws(InvalidInput) -> [FrequencyCap] {
        let elements = try value.demandArray(field)
        guard elements.count <= DeliveryRules.capsMax else {
            throw InvalidInput(
                field: field, "has \(elements.count) caps, the limit is \(DeliveryRules.capsMax)")
        }
        var caps: [FrequencyCap] = []
        for (index, element) in elements.enumerated() {
            caps.append(try FrequencyCap(element, field: "\(field)[\(index)]"))
        }
        return caps
    }
}

extension DeliveryRules {
    /// Reads the stored form; a field that it lacks is empty.
    package init(_ value: JSONValue, field: String = "rules") throws(InvalidInput) {
        self.init(
            quietHours: try value["quiet_hours"].map { (value) throws(InvalidInput) in
                try QuietHours(value, field: "\(field).quiet_hours", isStored: true)
            },
            caps: try value["caps"].map { (value) throws(InvalidInput) in
                try FrequencyCap.list(value, field: "\(field).caps")
            } ?? [])
        approvesCampaigns = value["campaign_approval"] == .bool(true)
        webPush = value["web_push_endpoints"]?.stringValue.flatMap(WebPushAccess.init) ?? .off
        takesEncryptedOnly = value["encrypted_only"] == .bool(true)
        encryptedAlert = value["encrypted_alert"]?.stringValue
    }

    /// The stored form.
    package var json: JSONObject {
        var members: JSONObject = [:]
        members["quiet_hours"] = quietHours?.json
        if !caps.isEmpty { members["caps"] = .array(caps.map(\.json)) }
        if approvesCampaigns { members["campaign_approval"] = .bool(true) }
        if webPush != .off { members["web_push_endpoints"] = .string(webPush.rawValue) }
        if takesEncryptedOnly { members["encrypted_only"] = .bool(true) }
        members["encrypted_alert"] = encryptedAlert.map(JSONValue.string)
        return members
    }
}
