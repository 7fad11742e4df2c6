package import FoundationEssentials

/// A choice of devices: terms over what is known of them, combined by all, any and not.
///
/// Every target can be written as one; see `docs/Audiences.md` for both forms, JSON and text, which print each other.
package indirect enum AudienceExpression: Sendable, Hashable {
    /// Never empty.
    case all([AudienceExpression])
    /// Never empty.
    case any([AudienceExpression])
    case not(AudienceExpression)
    case term(AudienceTerm)

    /// How deep expressions stand in one another.
    package static let depthMax = 8
    package static let termsMax = 64
    /// The most values of all terms together.
    package static let valuesMax = 1_024
    /// How deep they may stand in one another with all segments written out.
    static let resolvedDepthMax = 24
    /// How deep they are read back: a share or a campaign may have gone round them, and JSON has two levels for each.
    static let storedDepthMax = 30
}

/// One condition on a device. A list of values means one of them.
package enum AudienceTerm: Sendable, Hashable {
    case everyone
    /// As `Topic.normalized` has them.
    case topics([String])
    case users([String])
    case devices([UUID])
    case platforms([PlatformKind])
    case property(DeviceProperty, PropertyTest)
    /// Devices that came from another server.
    case imported
    /// Devices that pushes went to, by the receipts.
    case sent([UUID])
    /// Devices whose apps reported so of pushes, by the receipts.
    case reported(PushReport, [UUID])
    /// Devices that came to places, or left them, by the geofences that they reported.
    case geofences([Key<Geofence>])
    /// The saved segment of a name.
    case segment(String)
    /// Devices that pushes of a campaign went to, or whose apps reported so of one.
    case campaign(PushReport?, String)
    /// A stable part of all users, and of the devices without one.
    case share(AudienceShare)
}

/// Something that is known of a device and compared with values.
package enum DeviceProperty: Sendable, Hashable {
    /// `de` means `de-AT` too.
    case language
    case timeZone, country
    /// Compared as versions: 5.10 is later than 5.9, and 5 is 5.0.
    case appVersion, osVersion
    case os, model, manufacturer
    /// The last registration.
    case lastSeen
    /// The first registration; not known of all devices.
    case created
    case attribute(String)
    /// An attribute of the user whose device it is.
    case userAttribute(String)
    case userTimeZone
}

package enum PropertyTest: Sendable, Hashable {
    /// One of these.
    case equals([UserAttribute])
    case compare(Comparison, UserAttribute)
    /// Not longer ago than this.
    case within(TimeSpan)
    case exists

    package enum Comparison: String, Sendable, CaseIterable {
        case atLeast = ">="
        case atMost = "<="
        case more = ">"
        case less = "<"

        package func holds<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
            switch self {
            case .atLeast: left >= right
            case .atMost: left <= right
            case .more: left > right
            case .less: left < right
            }
        }
    }
}

/// A length of time as ISO 8601 writes it: weeks, days, hours, minutes and seconds, such as `P30D` or `PT12H`.
package struct TimeSpan: Sendable, Hashable {
    package let text: String
    package let milliseconds: Int64

    package init(_ text: String, field: String) throws(InvalidInput) {
        let problem = InvalidInput(field: field, "has to be a time span such as P30D, P2W or PT12H")
        guard text.utf8.first == UInt8(ascii: "P"), text.utf8.count <= 32 else { throw problem }
        var (seconds, digits, isTime, parts) = (Int64(0), "", false, 0)
        for letter in text.dropFirst() {
            if letter.isASCII, letter.isNumber {
                digits.append(letter)
                continue
            }
            if letter == "T", !isTime, digits.isEmpty {
                isTime = true
                continue
            }
            let units: [Character: Int64] = isTime ? ["H": 3_600, "M": 60, "S": 1] : ["W": 604_800, "D": 86_400]
            guard let unit = units[letter], let number = Int64(digits), number <= 1_000_000 else { throw problem }
            seconds += number * unit
            (digits, parts) = ("", parts + 1)
        }
        guard digits.isEmpty, parts > 0, seconds > 0 else { throw problem }
        (self.text, milliseconds) = (text, seconds * 1_000)
    }

    /// As people read it: in the largest unit that it has a whole number of, such as `10 minutes`.
    package var words: String {
        let units: [(String, Int64)] = [("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)]
        let seconds = milliseconds / 1_000
        let (unit, length) = units.first { seconds.isMultiple(of: $0.1) } ?? ("second", 1)
        return seconds == length ? "1 \(unit)" : "\(Int(seconds / length).grouped) \(unit)s"
    }
}

extension AudienceExpression {
    /// Everything but the terms of it.
    package var terms: [AudienceTerm] {
        switch self {
        case .all(let parts), .any(let parts): parts.flatMap(\.terms)
        case .not(let part): part.terms
        case .term(let term): [term]
        }
    }

    var depth: Int {
        switch self {
        case .all(let parts), .any(let parts): 1 + (parts.map(\.depth).max() ?? 0)
        case .not(let part): 1 + part.depth
        case .term: 1
        }
    }

    /// The values of all terms together.
    var valueCount: Int { terms.reduce(0) { $0 + $1.valueCount } }

    /// Throws past the limits.
    func check(_ field: String) throws(InvalidInput) {
        guard depth <= Self.depthMax else {
            throw InvalidInput(field: field, "has \(depth) expressions in one another, the limit is \(Self.depthMax)")
        }
        let terms = terms
        guard terms.count <= Self.termsMax else {
            throw InvalidInput(field: field, "has \(terms.count) terms, the limit is \(Self.termsMax)")
        }
        let values = valueCount
        guard values <= Self.valuesMax else {
            throw InvalidInput(field: field, "has \(values) values, the limit is \(Self.valuesMax)")
        }
        for case .users(let ids) in terms { for id in ids { _ = try User.checked(id: id, field: "\(field).user") } }
    }
}

extension DeviceProperty {
    /// Whether it is a time, which is compared with a time span too.
    var isTime: Bool { self == .lastSeen || self == .created }
}

extension AudienceTerm {
    /// The pushes that it names.
    var receipts: [UUID] {
        switch self {
        case .sent(let receipts), .reported(_, let receipts): receipts
        default: []
        }
    }

    fileprivate var valueCount: Int {
        switch self {
        case .topics(let names), .users(let names): names.count
        case .devices(let uuids), .sent(let uuids), .reported(_, let uuids): uuids.count
        case .geofences(let keys): keys.count
        case .property(_, .equals(let values)): values.count
        case .platforms, .property, .everyone, .imported, .segment, .campaign, .share: 1
        }
    }
}

// MARK: JSON

extension AudienceExpression {
    /// Reads the JSON form, or the text form where it is a string. Throws on what is not understood, and past the limits.
    package init(json value: JSONValue, field: String) throws(InvalidInput) {
        if case .string(let text) = value {
            try self.init(text: text, field: field)
            return
        }
        try self.init(value, field, depth: 1)
        try check(field)
    }

    /// Reads the stored JSON form. It was validated when it was accepted, and may be larger since: with its segments written out.
    init(stored value: JSONValue) throws(InvalidInput) { try self.init(value, "where", depth: 1) }

    private init(_ value: JSONValue, _ field: String, depth: Int) throws(InvalidInput) {
        guard depth <= Self.storedDepthMax else {
            throw InvalidInput(field: field, "is too deep, the limit is \(Self.depthMax) expressions in one another")
        }
        let members = try value.demandObject(field)
        guard let first = members.first else { throw InvalidInput(field: field, "is empty") }
        let own = "\(field).\(first.key)"
        switch first.key {
        case _ where members["attribute"] != nil:
            self = try AudienceReader.attribute(members, "attribute", field)
        case _ where members["user_attribute"] != nil:
            self = try AudienceReader.attribute(members, "user_attribute", field)
        case _ where members.count > 1:
            throw InvalidInput(field: field, "has \(members.count) members; combine terms by {\"all\": […]}")
        case "all": self = .all(try Self.parts(first.value, own, depth))
        case "any": self = .any(try Self.parts(first.value, own, depth))
        case "not": self = .not(try Self(first.value, own, depth: depth + 1))
        default: self = try AudienceReader.term(first.key, first.value, own)
        }
    }

    private static func parts(
        _ value: JSONValue, _ field: String, _ depth: Int
    ) throws(InvalidInput) -> [AudienceExpression] {
        guard case .array(let elements) = value else {
            let isMeant = value == .bool(true) ? " (is everyone meant?)" : ""
            throw InvalidInput(field: field, "has to be an array, it is \(value.typeName)\(isMeant)")
        }
        guard !elements.isEmpty else { throw InvalidInput(field: field, "is empty") }
        return try elements.enumerated().map { (index, element) throws(InvalidInput) in
            try Self(element, "\(field)[\(index)]", depth: depth + 1)
        }
    }

    /// The words that begin an expression in an object with other names.
    package static let fields = ["all", "any", "not"] + AudienceReader.terms + ["attribute", "user_attribute"]

    /// The JSON form.
    package var json: JSONValue {
        switch self {
        case .all(let parts): .object(["all": .array(parts.map(\.json))])
        case .any(let parts): .object(["any": .array(parts.map(\.json))])
        case .not(let part): .object(["not": part.json])
        case .term(let term): .object(term.json)
        }
    }
}

/// Reads terms, for both forms.
enum AudienceReader {
    static let terms =
        [
            "everyone", "topic", "user", "device", "platform", "language", "time_zone", "country", "app_version",
            "os_version",
            "os", "model", "manufacturer", "last_seen", "imported", "segment", "sent", "user_time_zone",
            "created", "received", "opened", "geofence", "share",
        ] + campaignTerms
    /// Each with a report, or without one for what was sent.
    static let campaignTerms = ["sent_campaign", "received_campaign", "opened_campaign"]

    static func term(_ name: String, _ value: JSONValue, _ field: String) throws(InvalidInput) -> AudienceExpression {
        switch name {
        case "everyone", "imported":
            guard case .bool(let flag) = value else { throw InvalidInput(field: field, "has to be true or false") }
            let term = AudienceExpression.term(name == "everyone" ? .everyone : .imported)
            return flag ? term : .not(term)
        case "segment",
            _ where campaignTerms.contains(name):
            guard let text = value.stringValue else {
                let noun = name == "segment" ? name : "campaign"
                throw InvalidInput(field: field, "has to be the name of a \(noun), it is \(value.typeName)")
            }
            return .term(try ofName(name, text, field))
        case "topic", "user", "device", "platform", "sent", "received", "opened":
            return .term(try named(name, try texts(value, field), field))
        case "share":
            guard let text = value.stringValue else {
                throw InvalidInput(field: field, "has to be such as 0-25@spring, it is \(value.typeName)")
            }
            return .term(.share(try AudienceShare(text, field: field)))
        case "geofence": return .term(try named(name, try texts(value.numbersAsTexts, field), field))
        default:
            guard let property = DeviceProperty(word: name) else { throw InvalidInput.unknown(field, instead: terms) }
            return try tests(of: property, value, field)
        }
    }

    static func word(ofCampaign report: PushReport?) -> String { "\(report?.rawValue ?? "sent")_campaign" }

    /// A term that has one name of something saved.
    static func ofName(_ name: String, _ text: String, _ field: String) throws(InvalidInput) -> AudienceTerm {
        guard name != "segment" else { return .segment(try text.asName(field: field)) }
        return .campaign(
            PushReport(rawValue: String(name.prefix { $0 != "_" })), try Campaign.checked(name: text, field: field))
    }

    static func named(_ name: String, _ values: [String], _ field: String) throws(InvalidInput) -> AudienceTerm {
        switch name {
        case "topic": return .topics(try Topic.normalized(values, field: field).withoutRepeats)
        case "user":
            let ids = try values.map { (value) throws(InvalidInput) in try value.asName(field: field) }
            return .users(ids.withoutRepeats)
        case "platform":
            let kinds = try values.map { (value) throws(InvalidInput) in try PlatformKind(value, field: field) }
            return .platforms(kinds.withoutRepeats)
        case "geofence":
            let keys = try values.map { (value) throws(InvalidInput) -> Key<Geofence> in
                guard let id = Int64(value), id > 0 else {
                    throw InvalidInput(field: field, "is '\(value.prefix(64))', which is no id of a geofence")
                }
                return Key(id)
            }
            return .geofences(keys.withoutRepeats)
        default:
            let uuids = try values.map { (value) throws(InvalidInput) -> UUID in
                guard let uuid = UUID(text: value) else {
                    throw InvalidInput(field: field, "is '\(value.prefix(64))', which is no UUID")
                }
                return uuid
            }
            if let report = PushReport(rawValue: name) { return .reported(report, uuids) }
            return name == "sent" ? .sent(uuids) : .devices(uuids)
        }
    }

    private static func texts(_ value: JSONValue, _ field: String) throws(InvalidInput) -> [String] {
        if let text = value.stringValue { return [text] }
        guard value != .array([]) else { throw InvalidInput(field: field, "is empty") }
        guard case .array = value else {
            throw InvalidInput(field: field, "has to be a string or a list of strings, it is \(value.typeName)")
        }
        return try value.strings(field)
    }

    /// `"de"`, `["de", "fr"]`, `{">=": "5"}` or `{"within": "P30D"}`.
    private static func tests(
        of property: DeviceProperty, _ value: JSONValue, _ field: String
    ) throws(InvalidInput) -> AudienceExpression {
        guard case .object(let members) = value else {
            guard !property.isTime else { throw InvalidInput(field: field, #"has to be such as {"within": "P30D"}"#) }
            let values = try texts(value, field).map { (text) throws(InvalidInput) in
                try Self.value(.string(text), of: property, field)
            }
            return .term(.property(property, .equals(values)))
        }
        return try tests(of: property, Array(members), field)
    }

    /// `{"attribute": "age", ">=": 18}`
    static func attribute(
        _ members: JSONObject, _ word: String, _ field: String
    ) throws(InvalidInput) -> AudienceExpression {
        guard let name = members[word]?.stringValue else {
            throw InvalidInput(field: "\(field).\(word)", "has to be the name of an attribute")
        }
        let checked = try AttributeRules.name(name, field: "\(field).\(word)")
        let tests = members.filter { $0.key != word }
        guard !tests.isEmpty else {
            throw InvalidInput(field: field, "compares \(word) with nothing; add \"=\": a value or \"exists\": true")
        }
        return try Self.tests(
            of: word == "attribute" ? .attribute(checked) : .userAttribute(checked), Array(tests), field)
    }

    private static func tests(
        of property: DeviceProperty, _ members: [JSONObject.Member], _ field: String
    ) throws(InvalidInput) -> AudienceExpression {
        var found: [AudienceExpression] = []
        for (word, value) in members {
            let own = "\(field).\(word)"
            guard !property.isTime || !["=", "!=", "in"].contains(word) else {
                throw InvalidInput(field: own, "is no test of a time; they are <, <=, >, >= and within")
            }
            switch word {
            case "=", "!=", "in":
                let written = if case .array(let elements) = value { elements } else { [value] }
                guard !written.isEmpty else { throw InvalidInput(field: own, "is empty") }
                let values = try written.map { (each) throws(InvalidInput) in try Self.value(each, of: property, own) }
                let term = AudienceExpression.term(.property(property, .equals(values)))
                found.append(word == "!=" ? .not(term) : term)
            case "exists":
                guard case .bool(let flag) = value else { throw InvalidInput(field: own, "has to be true or false") }
                try checkExists(property, own)
                let term = AudienceExpression.term(.property(property, .exists))
                found.append(flag ? term : .not(term))
            case "within":
                found.append(
                    .term(.property(property, .within(try span(value.stringValue ?? value.flat, of: property, own)))))
            default:
                guard let comparison = PropertyTest.Comparison(rawValue: word) else {
                    throw InvalidInput.unknown(
                        own, instead: ["=", "!=", "<", "<=", ">", ">=", "in", "exists", "within"])
                }
                found.append(
                    .term(
                        .property(
                            property,
                            .compare(comparison, try ordered(Self.value(value, of: property, own), property, own)))))
            }
        }
        guard let first = found.first else { throw InvalidInput(field: field, "is empty") }
        return found.count == 1 ? first : .all(found)
    }

    static func checkExists(_ property: DeviceProperty, _ field: String) throws(InvalidInput) {
        guard property != .lastSeen else { throw InvalidInput(field: field, "always holds: every device was seen") }
    }

    static func span(_ text: String, of property: DeviceProperty, _ field: String) throws(InvalidInput) -> TimeSpan {
        guard property.isTime else { throw InvalidInput(field: field, "goes with created and last_seen alone") }
        return try TimeSpan(text, field: field)
    }

    /// A value of the type that the property has.
    static func value(
        _ value: JSONValue, of property: DeviceProperty, _ field: String
    ) throws(InvalidInput) -> UserAttribute {
        switch property {
        case .attribute, .userAttribute:
            return try AttributeRules.value(UserAttribute(json: value, field: field), field: field)
        case .lastSeen, .created:
            guard let text = value.stringValue else {
                throw InvalidInput(field: field, "has to be a time such as 2027-01-31T08:30:00Z")
            }
            return .time(try Instant(text, field: field))
        default:
            let text = try value.demandText(field)
            // Whatever is stored can be read back: a label begins with a control character, a name has none.
            return .text(try text.asName(field: field, bytesMax: Registration.aboutBytesMax))
        }
    }

    /// Throws where the values of the property have no order.
    static func ordered(
        _ value: UserAttribute, _ property: DeviceProperty, _ field: String
    ) throws(InvalidInput) -> UserAttribute {
        switch (property, value) {
        case (.appVersion, .text(let text)), (.osVersion, .text(let text)):
            guard VersionOrder(text) != nil else {
                throw InvalidInput(field: field, "is '\(text.prefix(64))', a version begins with a number")
            }
            return value
        case (.lastSeen, _), (.created, _), (.attribute, .number), (.attribute, .time), (.userAttribute, .number),
            (.userAttribute, .time), (.attribute, .text), (.userAttribute, .text):
            return value
        default: throw InvalidInput(field: field, "cannot be compared by order, only by = and in")
        }
    }
}

extension DeviceProperty {
    fileprivate static let words: [(String, DeviceProperty)] = [
        ("language", .language), ("time_zone", .timeZone), ("country", .country), ("app_version", .appVersion),
        ("os_version", .osVersion), ("os", .os), ("model", .model), ("manufacturer", .manufacturer),
        ("last_seen", .lastSeen), ("created", .created), ("user_time_zone", .userTimeZone),
    ]

    fileprivate init?(word: String) {
        guard let found = Self.words.first(where: { $0.0 == word }) else { return nil }
        self = found.1
    }

    fileprivate var word: String {
        switch self {
        case .attribute: "attribute"
        case .userAttribute: "user_attribute"
        default: Self.words.first { $0.1 == self }?.0 ?? ""
        }
    }
}

extension AudienceTerm {
    fileprivate var json: JSONObject {
        switch self {
        case .everyone: ["everyone": .bool(true)]
        case .imported: ["imported": .bool(true)]
        case .segment(let name): ["segment": .string(name)]
        case .campaign(let report, let name): JSONObject([(AudienceReader.word(ofCampaign: report), .string(name))])
        case .share(let share): ["share": .string(share.text)]
        case .topics(let names): ["topic": .oneOrMany(names.map(JSONValue.string))]
        case .users(let ids): ["user": .oneOrMany(ids.map(JSONValue.string))]
        case .devices(let uuids): ["device": .oneOrMany(uuids.map { .string($0.lowercased) })]
        case .sent(let receipts): ["sent": .oneOrMany(receipts.map { .string($0.lowercased) })]
        case .reported(let report, let receipts):
            JSONObject([(report.rawValue, .oneOrMany(receipts.map { .string($0.lowercased) }))])
        case .geofences(let keys): ["geofence": .oneOrMany(keys.map { .integer($0.rawValue) })]
        case .platforms(let kinds): ["platform": .oneOrMany(kinds.map { .string($0.rawValue) })]
        case .property(let property, let test): Self.json(property, test)
        }
    }

    private static func json(_ property: DeviceProperty, _ test: PropertyTest) -> JSONObject {
        // Where the property has times alone, they are texts.
        func written(_ value: UserAttribute) -> JSONValue { property.isTime ? .string(value.text) : value.json }
        let member: JSONObject.Member
        let isPlain: Bool = if case .equals = test { true } else { false }
        switch test {
        case .equals(let values): member = (values.count == 1 ? "=" : "in", .oneOrMany(values.map(written)))
        case .compare(let comparison, let value): member = (comparison.rawValue, written(value))
        case .within(let span): member = ("within", .string(span.text))
        case .exists: member = ("exists", .bool(true))
        }
        switch property {
        case .attribute(let name), .userAttribute(let name):
            return JSONObject([(property.word, .string(name)), member])
        default:
            return JSONObject([(property.word, isPlain ? member.value : .object(JSONObject([member])))])
        }
    }
}

extension JSONValue {
    /// The value with texts in the place of an integer, or of the integers in a list.
    fileprivate var numbersAsTexts: JSONValue {
        switch self {
        case .integer(let number): .string("\(number)")
        case .array(let elements):
            .array(elements.map { if case .integer(let id) = $0 { .string("\(id)") } else { $0 } })
        default: self
        }
    }

    fileprivate static func oneOrMany(_ values: [JSONValue]) -> JSONValue {
        values.count == 1 ? values[0] : .array(values)
    }
}
