/// A value of a property that many devices share: `country` is `at`, the attribute `plan` is `pro`.
///
/// Devices with a label are a posting list, like those that follow a topic, and it is kept as one: a topic whose name begins with a
/// control character, which no sender and no app can write. Names of one property stand together, in the order of their values.
package struct DeviceLabel: Sendable, Hashable {
    /// The name of its topic.
    package let name: String

    private static let mark = "\u{1}"

    /// The most labels of one device, and the most values of one attribute.
    package static let perDevice = 64
    /// The most lists that a range is merged from; a wider one reads the rows of devices.
    package static let listsMax = 1_024

    private init(_ property: String, _ value: String) { name = Self.prefix(property) + value }

    init?(stored name: String) {
        guard Self.isLabel(name) else { return nil }
        self.name = name
    }

    package static func isLabel(_ topic: String) -> Bool { topic.utf8.first == 1 }

    static func prefix(_ property: String) -> String { mark + property + mark }

    package static func language(_ tag: String) -> DeviceLabel { DeviceLabel("language", tag.asLanguage) }

    package static func timeZone(_ name: String) -> DeviceLabel { DeviceLabel("time_zone", name.caseFolded) }

    package static func country(_ code: String) -> DeviceLabel { DeviceLabel("country", code.caseFolded) }

    package static func appVersion(_ text: String) -> DeviceLabel {
        DeviceLabel("app_version", VersionOrder.key(of: text) + mark + text)
    }

    package static func attribute(_ name: String, _ value: UserAttribute) -> DeviceLabel {
        DeviceLabel("attribute", name + mark + value.ordered)
    }
}

/// Labels of one property whose values are in a range, by the bytes of their names.
package struct LabelRange: Sendable, Hashable {
    package let from: String
    /// Not in the range.
    package let end: String

    private static let last = "\u{2}"

    init(from: String, end: String) { (self.from, self.end) = (from, end) }

    package func contains(_ label: String) -> Bool {
        !label.isBefore(from) && label.isBefore(end)
    }

    /// Every value of a property.
    private init(all property: String) {
        let prefix = DeviceLabel.prefix(property)
        self.init(from: prefix, end: prefix.dropLast() + Self.last)
    }

    static let languages = LabelRange(all: "language")
    static let timeZones = LabelRange(all: "time_zone")
    static let countries = LabelRange(all: "country")
    static let appVersions = LabelRange(all: "app_version")

    static func attribute(_ name: String) -> LabelRange {
        let label = DeviceLabel.prefix("attribute") + name
        return LabelRange(from: label + "\u{1}", end: label + last)
    }

    /// The tags that a language is more than: `de-AT` for `de`.
    static func dialects(of tag: String) -> LabelRange {
        let label = DeviceLabel.language(tag).name
        return LabelRange(from: label + "-", end: label + ".")
    }

    /// Values that compare so with one of the same type.
    func values(_ comparison: PropertyTest.Comparison, to value: String, typed type: Character? = nil) -> LabelRange {
        let first = type.map { from + String($0) } ?? from
        let end = type.map { from + String(UnicodeScalar($0.asciiValue.map { $0 + 1 } ?? 0x7F)) } ?? self.end
        // Whatever goes on with the value behind a mark is the value.
        let (at, behind) = (from + value, from + value + (type == nil ? Self.last : "\u{1}"))
        return switch comparison {
        case .atLeast: LabelRange(from: at, end: end)
        case .more: LabelRange(from: behind, end: end)
        case .less: LabelRange(from: first, end: at)
        case .atMost: LabelRange(from: first, end: behind)
        }
    }
}

extension String {
    /// By their bytes, as a database has them.
    fileprivate func isBefore(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}

extension UserAttribute {
    /// The value as a text that has its type first and the order of the values within the type.
    fileprivate var ordered: String {
        if case .text(let text) = self { return "x" + text }
        let bytes = indexed
        return String(UnicodeScalar(bytes[0]))
            + bytes.dropFirst().map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined()
    }

    fileprivate var typeLetter: Character {
        switch self {
        case .flag: "f"
        case .number: "n"
        case .time: "t"
        case .text: "x"
        }
    }

    fileprivate init?(ordered text: Substring) {
        // By scalars: an accent at the start of a value is one character with the type before it.
        let rest = Substring(text.unicodeScalars.dropFirst())
        guard let type = text.unicodeScalars.first else { return nil }
        if type == "x" {
            self = .text(String(rest))
            return
        }
        guard let bits = UInt64(rest, radix: 16) else { return nil }
        switch type {
        case "f": self = .flag(bits != 0)
        case "n": self = .number(Double(bitPattern: bits >> 63 == 1 ? bits ^ 1 << 63 : ~bits))
        case "t": self = .time(Instant(milliseconds: Int64(bitPattern: bits ^ 1 << 63)))
        default: return nil
        }
    }
}

extension LabelRange {
    /// The lists of a test on a property that has labels; nil where the rows of the devices are read for it.
    static func lists(of property: DeviceProperty, _ test: PropertyTest) -> [PostingList]? {
        switch (property, test) {
        case (.language, .exists): [.labels(languages)]
        case (.timeZone, .exists): [.labels(timeZones)]
        case (.country, .exists): [.labels(countries)]
        case (.appVersion, .exists): [.labels(appVersions)]
        case (.attribute(let name), .exists): [.labels(attribute(name))]
        case (.language, .equals(let tags)):
            tags.flatMap { tag in [.label(.language(tag.text)), .labels(dialects(of: tag.text))] }
        case (.timeZone, .equals(let names)): names.map { .label(.timeZone($0.text)) }
        case (.country, .equals(let codes)): codes.map { .label(.country($0.text)) }
        case (.appVersion, .equals(let versions)): versions.map { .labels(version($0.text)) }
        case (.attribute(let name), .equals(let values)): values.map { .label(.attribute(name, $0)) }
        case (.appVersion, .compare(let comparison, let version)):
            [.labels(appVersions.values(comparison, to: VersionOrder.key(of: version.text)).versionsOnly)]
        case (.attribute(let name), .compare(let comparison, let value)):
            [.labels(attribute(name).values(comparison, to: value.ordered, typed: value.typeLetter))]
        default: nil
        }
    }

    private static func version(_ text: String) -> LabelRange {
        let key = appVersions.from + VersionOrder.key(of: text)
        return LabelRange(from: key + "\u{1}", end: key + last)
    }

    /// Without those that begin with no number.
    private var versionsOnly: LabelRange {
        LabelRange(from: from == Self.appVersions.from ? from + "a" : from, end: end)
    }
}

/// The order of versions: their numbers, one after the other. What follows the numbers is not compared.
package struct VersionOrder: Sendable, Comparable {
    private let key: String

    private static let numbersMax = 8

    /// nil where the text does not begin with a number.
    package init?(_ text: String) {
        key = Self.key(of: text)
        guard Self.isOrdered(key.utf8) else { return nil }
    }

    /// Whether a key is that of a version, and not of another text.
    static func isOrdered(_ key: some Collection<UInt8>) -> Bool { key.first != UInt8(ascii: "!") }

    /// A text in the order of the versions: for each number the count of its digits as a letter, then the digits. Zeros at the end
    /// are left out: 5 is 5.0.
    static func key(of text: String) -> String {
        var numbers: [Substring] = []
        var rest = text[...]
        if rest.first == "v" || rest.first == "V" { rest = rest.dropFirst() }
        while numbers.count < numbersMax {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard !digits.isEmpty, digits.count <= 20 else { break }
            numbers.append(digits.drop { $0 == "0" })
            rest = rest[digits.endIndex...]
            guard rest.first == "." else { break }
            rest = rest.dropFirst()
        }
        guard !numbers.isEmpty else { return "!" + text }
        while numbers.last?.isEmpty == true { numbers.removeLast() }
        let letters = numbers.map { String(UnicodeScalar(UInt8(ascii: "a") + UInt8($0.count))) + $0 }.joined()
        return letters.isEmpty ? "a" : letters
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.key.utf8.lexicographicallyPrecedes(right.key.utf8)
    }
}

/// The labels that a registration sets; properties that it does not name keep theirs.
package struct LabelChange: Sendable, Hashable {
    private var properties: [LabelRange: Set<String>] = [:]

    package static let keep = LabelChange()

    package var isEmpty: Bool { properties.isEmpty }

    /// All of the labels to set.
    package var names: Set<String> { properties.values.reduce(into: []) { $0.formUnion($1) } }

    package mutating func set(_ range: LabelRange, _ labels: [DeviceLabel]) {
        properties[range] = Set(labels.map(\.name))
    }

    /// - Parameter labels: those the device has.
    package func applied(to labels: Set<String>) throws(InvalidInput) -> Set<String> {
        guard !isEmpty else { return labels }
        let kept = labels.filter { label in !properties.keys.contains { $0.contains(label) } }
        let all = kept.union(names)
        guard all.count <= DeviceLabel.perDevice else {
            throw InvalidInput(
                field: "attributes",
                "has \(all.count) values with those before, the limit is \(DeviceLabel.perDevice)")
        }
        return all
    }
}

/// An app's version, the country and attributes of its own, which a registration brings beside the fields of a device.
package struct DeviceProfile: Sendable, Hashable {
    package var appVersion: String?
    package var country: String?
    /// By name; several values where the attribute is a set. An empty list removes it.
    package var attributes: [String: [UserAttribute]] = [:]

    package init() {}

    package init(appVersion: String?, country: String?, attributes: [String: [UserAttribute]]) throws(InvalidInput) {
        self.appVersion = try Self.checked(appVersion, "app_version")
        self.country = try Self.checked(country, "country")
        self.attributes = attributes
    }

    func changed(by other: DeviceProfile) -> DeviceProfile {
        var profile = self
        profile.appVersion = other.appVersion ?? appVersion
        profile.country = other.country ?? country
        profile.attributes.merge(other.attributes) { $1 }
        return profile
    }

    private static func checked(_ text: String?, _ field: String) throws(InvalidInput) -> String? {
        guard let text, !text.isEmpty else { return nil }
        return try text.asName(field: field, bytesMax: AttributeRules.textBytesMax)
    }

    /// Reads the member `attributes` of a registration: values by name, a list for a set, null or an empty text to remove one.
    package static func attributes(_ members: JSONObject, field: String = "attributes") throws(InvalidInput)
        -> [String: [UserAttribute]]
    {
        var found: [String: [UserAttribute]] = [:]
        for (name, value) in members {
            let own = "\(field).\(name.prefix(64))"
            let name = try AttributeRules.name(name, field: own)
            var values: [UserAttribute] = []
            if case .array(let elements) = value {
                for element in elements { values.append(try attribute(element, own)) }
            } else if !value.isNull, value != .string("") {
                values = [try attribute(value, own)]
            }
            guard values.count <= DeviceLabel.perDevice, found.count < DeviceLabel.perDevice else {
                throw InvalidInput(field: field, "has more than \(DeviceLabel.perDevice) values, which is the limit")
            }
            found[name] = values
        }
        return found
    }

    private static func attribute(_ value: JSONValue, _ field: String) throws(InvalidInput) -> UserAttribute {
        try AttributeRules.value(UserAttribute(json: value, field: field), field: field)
    }

    /// The labels to set, with those of the device's language and time zone.
    func labels(_ detail: DeviceDetail.Change) -> LabelChange {
        var change = LabelChange.keep
        if let language = detail.language { change.set(.languages, [.language(language)]) }
        if let timeZone = detail.timeZone { change.set(.timeZones, [.timeZone(timeZone)]) }
        if let country { change.set(.countries, [.country(country)]) }
        if let appVersion { change.set(.appVersions, [.appVersion(appVersion)]) }
        for (name, values) in attributes { change.set(.attribute(name), values.map { .attribute(name, $0) }) }
        return change
    }
}

/// The members of a registration that make a profile.
struct ProfileFields: Sendable, Hashable {
    static let names = ["app_version", "country", "attributes"]
    private var appVersion: String?
    private var country: String?
    private var attributes: JSONObject?

    /// Returns false where the field is another.
    mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) -> Bool {
        switch field {
        case "app_version": appVersion = try reader.string(field)
        case "country": country = try reader.string(field)
        case "attributes": attributes = try reader.members(field)
        default: return false
        }
        return true
    }

    func profile() throws(InvalidInput) -> DeviceProfile {
        try DeviceProfile(
            appVersion: appVersion, country: country, attributes: try DeviceProfile.attributes(attributes ?? [:]))
    }
}

extension DeviceProfile {
    /// The profile that labels tell.
    package init(labels: some Sequence<String>) {
        for label in labels {
            let parts = label.split(separator: "\u{1}", maxSplits: 2, omittingEmptySubsequences: true)
            guard parts.count >= 2 else { continue }
            switch parts[0] {
            case "country": country = parts[1].uppercased()
            case "app_version" where parts.count == 3: appVersion = String(parts[2])
            case "attribute" where parts.count == 3:
                guard let value = UserAttribute(ordered: parts[2]) else { continue }
                attributes[String(parts[1]), default: []].append(value)
            default: continue
            }
        }
    }

    package var attributesJSON: JSONObject {
        JSONObject(
            attributes.mapValues { values in
                values.count == 1 ? values[0].json : .array(values.map(\.json).sorted { $0.storedText < $1.storedText })
            })
    }
}

/// The limits on attributes of devices, and on the values that they are compared with.
enum AttributeRules {
    static let nameBytesMax = 64
    static let textBytesMax = 255

    static func name(_ name: String, field: String) throws(InvalidInput) -> String {
        let name = try name.asName(field: field)
        guard name.utf8.count <= nameBytesMax else {
            throw InvalidInput(field: field, "is a name of \(name.utf8.count) bytes, the limit is \(nameBytesMax)")
        }
        return name
    }

    static func value(_ value: UserAttribute, field: String) throws(InvalidInput) -> UserAttribute {
        guard case .text(let text) = value else { return value }
        return .text(try text.asName(field: field, bytesMax: textBytesMax))
    }
}
