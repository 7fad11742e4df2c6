/// The form in which a placeholder shows its value: `number: 2`, `plural: one: '# day', other: '# days'`, `date: 'long'`, `time`.
struct ValueForm: Sendable, Hashable {
    indirect enum Kind: Sendable, Hashable {
        /// A number in digits; nil decimals for as many as it has.
        case number(decimals: Int?)
        case plural(PluralTexts)
        /// A day. The zone is that of devices whose own is not known.
        case date(isLong: Bool, zone: ZoneInfo)
        case time(zone: ZoneInfo)
    }

    let kind: Kind
    /// The language of the text around it.
    let language: Language

    /// Whether it is written in the time zone of the recipient.
    var isInZone: Bool {
        switch kind {
        case .number, .plural: false
        case .date, .time: true
        }
    }

    /// The value in this form; nil for one of another type.
    ///
    /// - Parameter zone: the recipient's.
    func text(of value: UserAttribute, in zone: String?) -> String? {
        switch kind {
        case .number(let decimals): WrittenNumber(value, decimals: decimals).map(language.text)
        case .plural(let texts): WrittenNumber(value).map { texts.text(for: $0, in: language) }
        case .date(let isLong, let fallback):
            Self.local(value, in: zone, or: fallback).map { language.date($0.time, isLong: isLong) }
        case .time(let fallback):
            Self.local(value, in: zone, or: fallback).flatMap { $0.isDay ? nil : language.clock($0.time) }
        }
    }

    /// The most bytes that are counted for a value that is not known yet.
    var bytesMax: Int {
        switch kind {
        case .number: 24
        case .plural(let texts): texts.bytesMax
        case .date, .time: 64
        }
    }

    /// A moment by the clocks of the recipient; a text without a zone is of any clocks.
    private static func local(
        _ value: UserAttribute, in zone: String?, or fallback: ZoneInfo
    ) -> (time: LocalTime, isDay: Bool)? {
        var instant: Instant?
        switch value {
        case .time(let time): instant = time
        case .text(let text):
            guard 10...64 ~= text.utf8.count else { return nil }
            if let day = try? Instant(day: text, field: "") {
                return (LocalTime(seconds: day.milliseconds.flooredQuotient(1_000)), true)
            }
            if text.utf8.count <= 19, let local = try? Instant(local: text, field: "") {
                return (LocalTime(seconds: local.milliseconds.flooredQuotient(1_000)), false)
            }
            instant = Instant(text: text)
        case .number, .flag: return nil
        }
        guard let instant, instant.isWithinReach else { return nil }
        let own = zone.flatMap { ZoneInfo.named(folded: $0.caseFolded) } ?? fallback
        return (own.local(at: instant), false)
    }
}

/// The texts of a plural by category, with `#` for the number; `=0` and the like are for one number alone.
struct PluralTexts: Sendable, Hashable {
    fileprivate(set) var exact: [Int64: String] = [:]
    fileprivate(set) var byCategory: [PluralCategory: String] = [:]

    /// The most texts of one plural.
    static let countMax = 16

    func text(for number: WrittenNumber, in language: Language) -> String {
        let isWhole = number.decimals == 0 && !number.isNegative
        let text =
            (isWhole ? exact[number.whole] : nil) ?? byCategory[language.plural.category(of: number)]
            ?? byCategory[.other] ?? ""
        return Self.replacingSigns(in: text, by: language.text(of: number))
    }

    /// The bytes of the longest, with a number of 24.
    fileprivate var bytesMax: Int {
        (exact.values + Array(byCategory.values)).map { text in
            text.utf8.count + text.utf8.count { $0 == UInt8(ascii: "#") } * 23
        }.max() ?? 0
    }

    /// `##` stands for a `#`.
    private static func replacingSigns(in text: String, by number: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "#")) else { return text }
        var written: [UInt8] = []
        var bytes = text.utf8.makeIterator()
        var next = bytes.next()
        while let byte = next {
            next = bytes.next()
            guard byte == UInt8(ascii: "#") else {
                written.append(byte)
                continue
            }
            if next == byte {
                written.append(byte)
                next = bytes.next()
            } else {
                written += number.utf8
            }
        }
        return String(decoding: written, as: UTF8.self)
    }
}

// MARK: As people write them

extension ValueForm {
    static let known = "number, plural: one: '…', other: '…', date: 'short' or 'long', and time"

    /// The form that a filter names; nil for a filter that is none.
    init?(_ filter: Filter, language: Language, field: String) throws(InvalidInput) {
        switch filter.name {
        case "number": kind = .number(decimals: try Self.decimals(filter, field))
        case "plural": kind = .plural(try PluralTexts(filter, language: language, field: field))
        case "date":
            let form = filter.arguments.first { $0.name == nil }?.text
            guard filter.isGiven(1, named: ["zone"]), let form, form == "short" || form == "long" else {
                throw filter.fault(
                    field, "is written date: 'short' or date: 'long', with zone: '…' behind it or without")
            }
            kind = .date(isLong: form == "long", zone: try Self.zone(filter, field))
        case "time":
            guard filter.isGiven(0, named: ["zone"]) else {
                throw filter.fault(field, "is written time, or time: zone: '…'")
            }
            kind = .time(zone: try Self.zone(filter, field))
        default: return nil
        }
        self.language = language
    }

    private static func decimals(_ filter: Filter, _ field: String) throws(InvalidInput) -> Int? {
        guard let first = filter.arguments.first else { return nil }
        guard filter.isGiven(1, named: []), let decimals = Int(first.text), 0...WrittenNumber.decimalsMax ~= decimals
        else { throw filter.fault(field, "is written number, or number: 0 to \(WrittenNumber.decimalsMax) decimals") }
        return decimals
    }

    /// The zone of devices whose own is not known.
    private static func zone(_ filter: Filter, _ field: String) throws(InvalidInput) -> ZoneInfo {
        let name = filter.arguments.first { $0.name == "zone" }?.text ?? "UTC"
        do throws(InvalidInput) { return try ZoneInfo(name, field: field) } catch {
            throw filter.fault(field, "has a zone that \(error.problem)")
        }
    }
}

extension PluralTexts {
    fileprivate init(_ filter: Filter, language: Language, field: String) throws(InvalidInput) {
        guard filter.arguments.count <= Self.countMax else {
            throw filter.fault(field, "has \(filter.arguments.count) texts, the limit is \(Self.countMax)")
        }
        for argument in filter.arguments {
            guard let name = argument.name else {
                throw filter.fault(field, "has a text without its category: plural: one: '# day', other: '# days'")
            }
            let isNew: Bool
            if name.hasPrefix("="), let number = Int64(name.dropFirst()), 0...1_000_000 ~= number {
                isNew = exact.updateValue(argument.text, forKey: number) == nil
            } else if let category = PluralCategory(rawValue: name), language.plural.categories.contains(category) {
                isNew = byCategory.updateValue(argument.text, forKey: category) == nil
            } else {
                let own = language.plural.categories.map(\.rawValue).joined(separator: ", ")
                let whose =
                    language.tag.isEmpty
                    ? "a text whose language is not known has \(own); message.language says it"
                    : "\(language.tag) has \(own)"
                throw filter.fault(field, "has '\(name.prefix(64))': \(whose), and =0 and the like")
            }
            guard isNew else { throw filter.fault(field, "has '\(name.prefix(64))' twice") }
        }
        guard byCategory[.other] != nil else { throw filter.fault(field, "has no text for other") }
    }
}
