/// The change that a push makes to the number on the app's icon, which is kept for each device.
package enum BadgeChange: Sendable, Hashable {
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

/// Counts up the badges of devices that several pushes reach, in as few steps as possible.
///
/// A run has changes of one kind, so its devices are changed by one statement for each number. The number that each push
/// shows is computed back from the final numbers.
package struct BadgeCount: Sendable {
    package struct Step: Sendable {
        /// The amount to add, or the value to set.
        package let number: Int64
        package let devices: [Key<Device>]
    }

    package let isAdding: Bool
    private let requests: [(change: Int64, devices: [Key<Device>])]
    private var totals: [Key<Device>: Int64] = [:]

    /// - Parameter requests: changes of one kind, with the devices of each.
    package init(isAdding: Bool, _ requests: [(change: Int64, devices: [Key<Device>])]) {
        self.isAdding = isAdding
        self.requests = requests
        for request in requests {
            for device in request.devices {
                totals[device] = isAdding ? totals[device, default: 0] + request.change : request.change
            }
        }
    }

    /// The changes to write; each device is in one of them.
    package var steps: [Step] {
        Dictionary(grouping: totals.keys) { totals[$0] ?? 0 }.sorted { $0.key < $1.key }
            .map { Step(number: $0.key, devices: $0.value.sorted()) }
    }

    /// The numbers that each request shows on each of its devices.
    ///
    /// - Parameter ends: the numbers after the steps; not needed where they were set.
    package func numbers(_ ends: [Key<Device>: Int64]) -> [[Int64]] {
        var counted: [Key<Device>: Int64] = [:]
        return requests.map { request in
            request.devices.map { device in
                guard isAdding else { return request.change }
                counted[device, default: 0] += request.change
                return max(0, (ends[device] ?? 0) - (totals[device] ?? 0) + (counted[device] ?? 0))
            }
        }
    }
}

/// The badges that a batch shows on its devices, as they are stored beside it: for each a number of up to five bytes, seven bits
/// each, the lowest first.
package enum BadgeList {
    package static func encode(_ numbers: [Int64]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(numbers.count)
        for number in numbers {
            var rest = UInt64(BadgeChange.kept(number))
            while rest >= 0x80 {
                bytes.append(UInt8(rest & 0x7F) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        return bytes
    }

    /// nil unless the list has exactly `count` numbers.
    package static func decode(_ bytes: [UInt8], count: Int) -> [Int64]? {
        var numbers: [Int64] = []
        var number: UInt64 = 0
        var shift: UInt64 = 0
        for byte in bytes {
            guard shift < 35 else { return nil }
            number |= UInt64(byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 {
                numbers.append(Int64(number))
                (number, shift) = (0, 0)
            }
        }
        return numbers.count == count && shift == 0 ? numbers : nil
    }
}
