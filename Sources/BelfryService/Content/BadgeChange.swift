/// The change that a push makes to the number on the app's icon, which is kept for each device.
package enum BadgeChange: Sendable, Hashable {
    /// Sets it.
    case set(Int64)
    /// Counts it up, as a sender writes `"+1"`.
    case add(Int64)

    /// The most that one push counts up.
    package static let addedMax: Int64 = 1_000_000
    /// The greatest number that is kept, and sent.
    package static let keptMax: Int64 = 2_147_483_647

    /// Reads a whole number, or a text such as `+1`; nil for null. Throws on anything else.
    package init?(_ value: JSONValue, field: String) throws(InvalidInput) {
        if value.isNull { return nil }
        if let number = value.wholeNumber, 0...Self.keptMax ~= number {
            self = .set(number)
        } else if let change = try value.stringValue.flatMap({ text throws(InvalidInput) in
            try BadgeChange(counting: text, field: field)
        }) {
            self = change
        } else {
            throw .value(field, value, not: Self.form)
        }
    }

    static let form = #"a whole number from 0 to \#(keptMax), or a text such as "+1""#

    /// Reads a text that begins with a plus; nil for others. Throws where it counts up by nothing, or by too much.
    package init?(counting text: String, field: String) throws(InvalidInput) {
        guard text.utf8.first == UInt8(ascii: "+") else { return nil }
        guard let change = BadgeChange(counting: text) else {
            throw InvalidInput(field: field, "is '\(text.prefix(24))', it counts up by +1 to +\(Self.addedMax)")
        }
        self = change
    }

    /// Reads a text such as `+1`; nil for anything else.
    package init?(counting text: String) {
        let digits = text.utf8.dropFirst()
        guard text.utf8.first == UInt8(ascii: "+"), 1...7 ~= digits.count,
            digits.first != UInt8(ascii: "0"), digits.allSatisfy({ 0x30...0x39 ~= $0 }),
            let number = Int64(String(digits) ?? ""),
            1...Self.addedMax ~= number
        else { return nil }
        self = .add(number)
    }

    package var json: JSONValue {
        switch self {
        case .set(let number): .integer(number)
        case .add(let number): .string("+\(number)")
        }
    }

    /// The number, limited to 0...`keptMax`.
    package static func kept(_ number: Int64) -> Int64 { min(max(number, 0), keptMax) }
}

extension Push.Content {
    /// The change that the push makes to the number kept for devices of a type: the one written for the type, or else the one for all.
    ///
    /// Badges of a sender of Apple's own protocol are left alone: such a sender counts by itself.
    package func badgeChange(on kind: PlatformKind) -> BadgeChange? {
        guard kind.isApple else { return (kind.isWeb ? web?.appBadge : nil) ?? badge }
        guard let apple else { return BadgeChange(stored: custom["ios"]?["badge"]) ?? badge }
        guard apple.tokenUses == [.app], !apple.isVerbatim else { return nil }
        return BadgeChange(stored: apple.payload["aps"]?["badge"]) ?? (apple.type == .alert ? badge : nil)
    }

    /// Whether a badge is counted up on devices of some type, so that the number differs by device.
    var countsBadges: Bool {
        badge.isCounting || (web?.appBadge).isCounting || BadgeChange(stored: custom["ios"]?["badge"]).isCounting
            || appleBadge.isCounting
    }

    /// Without badges that count up: the same message once more counts nothing.
    var withoutCounting: Push.Content {
        guard countsBadges else { return self }
        var content = self
        if badge.isCounting { content.badge = nil }
        if (web?.appBadge).isCounting { content.web?.appBadge = nil }
        if BadgeChange(stored: custom["ios"]?["badge"]).isCounting {
            content.custom["ios"] = custom["ios"]?.removing(["badge"])
        }
        if appleBadge.isCounting,
            case .object(let payload)? = JSONValue.object(apple?.payload ?? [:]).removing(["aps", "badge"])
        {
            content.apple?.payload = payload
        }
        return content
    }

    private var appleBadge: BadgeChange? {
        apple.flatMap { $0.isVerbatim ? nil : BadgeChange(stored: $0.payload["aps"]?["badge"]) }
    }
}

extension BadgeChange? {
    fileprivate var isCounting: Bool { if case .add? = self { true } else { false } }
}

extension BadgeChange {
    /// Reads a value that was checked before: a number, or a text that spells one or counts up.
    init?(stored value: JSONValue?) {
        switch value {
        case .integer(let number): self = .set(Self.kept(number))
        case .number:
            guard let number = value?.wholeNumber else { return nil }
            self = .set(Self.kept(number))
        case .string(let text):
            if let change = BadgeChange(counting: text) {
                self = change
            } else if let number = Int64(text) {
                self = .set(Self.kept(number))
            } else {
                return nil
            }
        default: return nil
        }
    }
}
