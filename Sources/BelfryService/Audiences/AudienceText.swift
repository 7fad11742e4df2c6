import FoundationEssentials

// The text form: `topic:news -topic:sports platform:android lang:de version>=5 (attr.plan:pro or attr.age>=18)`.
// Terms beside each other must all hold, `or` binds less, `-` or `not` negates, values are separated by commas and quoted where
// they have spaces.

extension AudienceExpression {
    package static let textBytesMax = 1 << 19

    /// Reads the text form. Throws on what is not understood, and past the limits.
    package init(text: String, field: String) throws(InvalidInput) {
        guard text.utf8.count <= Self.textBytesMax else {
            throw InvalidInput(field: field, "is \(text.utf8.count) bytes, the limit is \(Self.textBytesMax)")
        }
        var parser = AudienceTextParser(text, field: field)
        self = try parser.expression(depth: 1)
        try parser.end()
        try check(field)
    }

    /// The text form.
    package var text: String {
        switch self {
        case .all(let parts): parts.map { $0.text(inside: true) }.joined(separator: " ")
        case .any(let parts) where parts.count > 1: parts.map { $0.text(inside: true) }.joined(separator: " or ")
        case .any(let parts): parts[0].text
        case .not(let part): "-" + part.text(inside: true)
        case .term(let term): term.text
        }
    }

    private func text(inside: Bool) -> String {
        switch self {
        case .all(let parts) where parts.count > 1: "(\(text))"
        case .any(let parts) where parts.count > 1: "(\(text))"
        case .all(let parts): parts[0].text(inside: inside)
        case .any(let parts): parts[0].text(inside: inside)
        // Two signs would be read as one name.
        case .not(.not): "-(\(text.dropFirst()))"
        case .not, .term: text
        }
    }

    /// Without a combination of one.
    package var simplified: AudienceExpression {
        switch self {
        case .all(let parts) where parts.count == 1: parts[0].simplified
        case .any(let parts) where parts.count == 1: parts[0].simplified
        case .all(let parts): .all(parts.map(\.simplified))
        case .any(let parts): .any(parts.map(\.simplified))
        case .not(let part): .not(part.simplified)
        case .term: self
        }
    }
}

extension AudienceTerm {
    fileprivate var text: String {
        switch self {
        case .everyone: "everyone"
        case .imported: "imported"
        case .segment(let name): "segment:\(name.quotedIfNeeded)"
        case .campaign(let report, let name):
            "\(AudienceReader.word(ofCampaign: report)):\(name.quotedIfNeeded)"
        case .share(let share): "share:\(share.text.quotedIfNeeded)"
        case .topics(let names): "topic:\(names.map(\.quotedIfNeeded).joined(separator: ","))"
        case .users(let ids): "user:\(ids.map(\.quotedIfNeeded).joined(separator: ","))"
        case .devices(let uuids): "device:\(uuids.map(\.lowercased).joined(separator: ","))"
        case .sent(let receipts): "sent:\(receipts.map(\.lowercased).joined(separator: ","))"
        case .reported(let report, let receipts):
            "\(report.rawValue):\(receipts.map(\.lowercased).joined(separator: ","))"
        case .geofences(let keys): "geofence:\(keys.map(\.description).joined(separator: ","))"
        case .platforms(let kinds): "platform:\(kinds.map(\.rawValue).joined(separator: ","))"
        case .property(let property, let test): property.text + test.text(of: property)
        }
    }
}

extension PropertyTest {
    fileprivate func text(of property: DeviceProperty) -> String {
        switch self {
        case .equals(let values): ":" + values.map { $0.written(for: property) }.joined(separator: ",")
        case .compare(let comparison, let value): comparison.rawValue + value.written(for: property)
        case .within(let span): ":\(span.text)"
        case .exists: ":*"
        }
    }
}

extension UserAttribute {
    /// A text is quoted where it would be read as another type.
    fileprivate func written(for property: DeviceProperty) -> String {
        guard case .text(let text) = self else { return self.text }
        guard property.hasTypes, UserAttribute(bare: text) != self else { return text.quotedIfNeeded }
        return text.quoted
    }

    /// A value as it is written without quotes.
    fileprivate init(bare text: String) {
        if text == "true" || text == "false" {
            self = .flag(text == "true")
        } else if let first = text.utf8.first, 0x30...0x39 ~= first || first == UInt8(ascii: "-"),
            let value = try? JSONValue(json: text.utf8, field: ""),
            let number = try? UserAttribute(json: value, field: "")
        {
            self = number
        } else if let time = try? Instant(text, field: "") {
            self = .time(time)
        } else {
            self = .text(text)
        }
    }
}

extension DeviceProperty {
    fileprivate static let textWords: [(String, DeviceProperty)] = [
        ("lang", .language), ("tz", .timeZone), ("country", .country), ("version", .appVersion),
        ("osversion", .osVersion), ("os", .os), ("model", .model), ("maker", .manufacturer), ("seen", .lastSeen),
        ("language", .language), ("time_zone", .timeZone), ("app_version", .appVersion), ("os_version", .osVersion),
        ("manufacturer", .manufacturer), ("last_seen", .lastSeen), ("usertz", .userTimeZone),
        ("user_time_zone", .userTimeZone), ("created", .created),
    ]

    fileprivate var hasTypes: Bool {
        switch self {
        case .attribute, .userAttribute: true
        default: false
        }
    }

    fileprivate var text: String {
        switch self {
        case .attribute(let name): "attr.\(name.quotedIfNeeded)"
        case .userAttribute(let name): "user.\(name.quotedIfNeeded)"
        default: Self.textWords.first { $0.1 == self }?.0 ?? ""
        }
    }
}

extension String {
    fileprivate var quoted: String {
        "\"" + unicodeScalars.map { $0 == "\\" || $0 == "\"" ? "\\\($0)" : String($0) }.joined() + "\""
    }

    fileprivate var quotedIfNeeded: String {
        isEmpty || self == "*" || !unicodeScalars.allSatisfy(AudienceTextParser.isBare) ? quoted : self
    }
}

/// Reads the text form from front to end.
private struct AudienceTextParser {
    private let bytes: [UInt8]
    private var position = 0
    private let field: String
    private var terms = 0

    /// Blanks of every kind separate, also those that word processors write; between quotation marks they are kept.
    init(_ text: String, field: String) {
        var (scalars, isQuoted, isEscaped) = (String.UnicodeScalarView(), false, false)
        for scalar in text.unicodeScalars {
            if scalar == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && !isEscaped && scalar == "\\"
            scalars.append(!isQuoted && scalar.properties.isWhitespace ? " " : scalar)
        }
        (bytes, self.field) = (Array(String(scalars).utf8), field)
    }

    /// Bytes of a word without quotes.
    static func isBare(_ byte: UInt8) -> Bool { byte > 0x20 && byte != 0x7F && !"(),\":<>=!".utf8.contains(byte) }

    static func isBare(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII ? isBare(UInt8(scalar.value)) : !scalar.properties.isWhitespace
    }

    mutating func end() throws(InvalidInput) {
        skipSpace()
        guard position == bytes.count else { throw fault("a `)` too many") }
    }

    mutating func expression(depth: Int) throws(InvalidInput) -> AudienceExpression {
        guard depth <= 2 * AudienceExpression.depthMax else { throw fault("too many parentheses in one another") }
        var alternatives = [try conjunction(depth)]
        while takeWord("or") { alternatives.append(try conjunction(depth)) }
        return alternatives.count == 1 ? alternatives[0] : .any(alternatives)
    }

    private mutating func conjunction(_ depth: Int) throws(InvalidInput) -> AudienceExpression {
        var parts: [AudienceExpression] = []
        while true {
            skipSpace()
            guard position < bytes.count, bytes[position] != UInt8(ascii: ")"), !isAtWord("or") else { break }
            if takeWord("and") { continue }
            parts.append(try factor(depth))
        }
        guard let first = parts.first else { throw fault("a term is missing") }
        return parts.count == 1 ? first : .all(parts)
    }

    private mutating func factor(_ depth: Int) throws(InvalidInput) -> AudienceExpression {
        guard depth <= 2 * AudienceExpression.depthMax else { throw fault("too many expressions in one another") }
        skipSpace()
        if take("-") || takeWord("not") { return .not(try factor(depth + 1)) }
        if take("(") {
            let inner = try expression(depth: depth + 1)
            skipSpace()
            guard take(")") else { throw fault("a `)` is missing") }
            return inner
        }
        terms += 1
        guard terms <= AudienceExpression.termsMax else {
            throw InvalidInput(field: field, "has more than \(AudienceExpression.termsMax) terms, which is the limit")
        }
        let start = position
        do throws(InvalidInput) { return try term() } catch {
            guard !error.problem.hasPrefix(Self.unreadable) else { throw error }
            let written = String(decoding: bytes[start..<position], as: UTF8.self)
            position = start
            throw fault("`\(written.prefix(64))` \(error.problem)")
        }
    }

    private static let named =
        [
            "topic", "user", "device", "platform", "segment", "sent", "received", "opened", "geofence", "share",
        ] + AudienceReader.campaignTerms

    private mutating func term() throws(InvalidInput) -> AudienceExpression {
        let start = position
        let name = try word()
        if name == "everyone" { return .term(.everyone) }
        if name == "imported" { return .term(.imported) }
        var property = DeviceProperty.textWords.first { $0.0 == name }?.1
        let (prefix, rest) = (String(name.unicodeScalars.prefix(5)), String(name.unicodeScalars.dropFirst(5)))
        if prefix == "attr." || prefix == "user." {
            let isQuoted = rest.isEmpty && position < bytes.count && bytes[position] == UInt8(ascii: "\"")
            let own = try AttributeRules.name(isQuoted ? quoted() : rest, field: field)
            property = prefix == "attr." ? .attribute(own) : .userAttribute(own)
        }
        if let property { return try test(of: property) }
        guard Self.named.contains(name) else {
            position = start
            throw fault(
                "`\(name.prefix(64))` is no term; terms are topic, user, device, platform, lang, tz, country, version, osversion, "
                    + "os, model, maker, seen, created, usertz, imported, sent, received, opened, sent_campaign, received_campaign, opened_campaign, geofence, "
                    + "everyone, segment, share, attr.NAME and user.NAME")
        }
        let isNot = take("!=")
        guard isNot || take(":") || take("=") else { throw fault("`\(name)` has no value; write \(name):value") }
        let texts = try values().map(\.text)
        let isSaved = name == "segment" || AudienceReader.campaignTerms.contains(name)
        guard texts.count == 1 || !isSaved && name != "share" else { throw fault("`\(name)` takes one value") }
        let term: AudienceTerm =
            switch name {
            case _ where isSaved: try AudienceReader.ofName(name, texts[0], field)
            case "share": .share(try AudienceShare(texts[0], field: field))
            default: try AudienceReader.named(name, texts, field)
            }
        return isNot ? .not(.term(term)) : .term(term)
    }

    private mutating func test(of property: DeviceProperty) throws(InvalidInput) -> AudienceExpression {
        for comparison in PropertyTest.Comparison.allCases where take(comparison.rawValue) {
            let value = try value(try oneValue(), of: property)
            return .term(.property(property, .compare(comparison, try AudienceReader.ordered(value, property, field))))
        }
        let isNot = take("!=")
        guard isNot || take(":") || take("=") else { throw fault("\(property.text) has no value") }
        func term(of test: PropertyTest) -> AudienceExpression {
            let term = AudienceExpression.term(.property(property, test))
            return isNot ? .not(term) : term
        }
        let written = try values()
        if written.count == 1, !written[0].isQuoted {
            if written[0].text == "*" {
                try AudienceReader.checkExists(property, field)
                return term(of: .exists)
            }
            if property.isTime {
                return term(of: .within(try AudienceReader.span(written[0].text, of: property, field)))
            }
        }
        guard !property.isTime else {
            throw fault("`\(property.text)` takes a time span, such as \(property.text):P30D")
        }
        let values = try written.map { (each) throws(InvalidInput) in try value(each, of: property) }
        return term(of: .equals(values))
    }

    private func value(_ written: Written, of property: DeviceProperty) throws(InvalidInput) -> UserAttribute {
        guard property.hasTypes else { return try AudienceReader.value(.string(written.text), of: property, field) }
        let value = written.isQuoted ? UserAttribute.text(written.text) : UserAttribute(bare: written.text)
        return try AttributeRules.value(value, field: field)
    }

    // MARK: Words

    private struct Written {
        let text: String
        let isQuoted: Bool
    }

    private mutating func values() throws(InvalidInput) -> [Written] {
        var values = [try oneValue()]
        while take(",") {
            guard values.count < AudienceExpression.valuesMax else {
                throw InvalidInput(
                    field: field, "has more than \(AudienceExpression.valuesMax) values, which is the limit")
            }
            values.append(try oneValue())
        }
        return values
    }

    /// A time has colons and is read without quotes all the same.
    private mutating func oneValue() throws(InvalidInput) -> Written {
        if position < bytes.count, bytes[position] == UInt8(ascii: "\"") {
            return Written(text: try quoted(), isQuoted: true)
        }
        let start = position
        while position < bytes.count, Self.isBare(bytes[position]) || bytes[position] == UInt8(ascii: ":") {
            position += 1
        }
        guard position > start else { throw fault("a value is missing") }
        return Written(text: String(decoding: bytes[start..<position], as: UTF8.self), isQuoted: false)
    }

    private mutating func word() throws(InvalidInput) -> String {
        let start = position
        while position < bytes.count, Self.isBare(bytes[position]) { position += 1 }
        guard position > start else {
            throw fault(
                "`\(String(decoding: bytes[position..<min(position + 8, bytes.count)], as: UTF8.self))` is no term")
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func quoted() throws(InvalidInput) -> String {
        position += 1
        var text: [UInt8] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            if bytes[position] == UInt8(ascii: "\\"), position + 1 < bytes.count { position += 1 }
            text.append(bytes[position])
            position += 1
        }
        guard take("\"") else { throw fault("a closing quotation mark is missing") }
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func skipSpace() {
        while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
    }

    private mutating func take(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    /// Whether a word of its own stands here, in either case.
    private func isAtWord(_ word: String) -> Bool {
        let end = position + word.utf8.count
        guard end <= bytes.count, end == bytes.count || !Self.isBare(bytes[end]),
            end == bytes.count || bytes[end] != UInt8(ascii: ":")
        else { return false }
        return zip(bytes[position..<end], word.utf8).allSatisfy { $0 | 0x20 == $1 }
    }

    private mutating func takeWord(_ word: String) -> Bool {
        skipSpace()
        guard isAtWord(word) else { return false }
        position += word.utf8.count
        return true
    }

    private static let unreadable = "cannot be read at character"

    private func fault(_ problem: String) -> InvalidInput {
        let place = String(decoding: bytes[..<position], as: UTF8.self).unicodeScalars.count + 1
        return InvalidInput(field: field, "\(Self.unreadable) \(place): \(problem)")
    }
}
