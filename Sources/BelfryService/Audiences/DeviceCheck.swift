import FoundationEssentials

/// A condition that is looked up in the rows of devices, one by one, since no list has it.
package struct DeviceCheck: Sendable, Hashable {
    package let test: Test
    package let isNegated: Bool

    package enum Test: Sendable, Hashable {
        case imported
        case property(DeviceProperty, PropertyTest)
        case share(AudienceShare)
        /// A range of labels that has more lists than are merged. Made while lists are read, and never stored.
        case labels(LabelRange)
    }

    package init(_ test: Test, isNegated: Bool = false) { (self.test, self.isNegated) = (test, isNegated) }

    var readsUsers: Bool {
        switch test {
        case .property(.userAttribute, _), .property(.userTimeZone, _): true
        default: false
        }
    }

    package var negated: DeviceCheck { DeviceCheck(test, isNegated: !isNegated) }
}

// A check is stored as the term that it comes from: `check:{"os":"ios"}`, or `unless:` where it must not hold.

extension DeviceCheck {
    init?(word: String) {
        let isNegated = word.hasPrefix("unless:")
        guard isNegated || word.hasPrefix("check:"), let colon = word.utf8.firstIndex(of: UInt8(ascii: ":")),
            let value = try? JSONValue(json: word.utf8[word.utf8.index(after: colon)...]),
            case .term(let term)? = try? AudienceExpression(stored: value)
        else { return nil }
        switch term {
        case .imported: self.init(.imported, isNegated: isNegated)
        case .property(let property, let test): self.init(.property(property, test), isNegated: isNegated)
        case .share(let share): self.init(.share(share), isNegated: isNegated)
        default: return nil
        }
    }

    var word: String {
        let term: AudienceTerm =
            switch test {
            case .imported: .imported
            case .property(let property, let test): .property(property, test)
            case .share(let share): .share(share)
            case .labels: preconditionFailure("it is not stored")
            }
        return (isNegated ? "unless:" : "check:") + AudienceExpression.term(term).json.storedText
    }
}

/// A device as far as checks look at it.
struct CheckedDevice {
    let registeredAt: Instant
    /// nil where it is not known.
    let createdAt: Instant?
    let about: Device.About
    let isImported: Bool
    /// The user, or the device itself where it has none.
    let holder: String
    let user: UserProfile
    /// The ids of its topics and labels.
    let topics: [Int64]
}

/// A check whose values are in the form that they are compared in: a list has a thousand, and devices are millions.
package struct PreparedCheck {
    let check: DeviceCheck
    /// The keys of the values that a property is compared with.
    private let keys: Set<[UInt8]>

    init(_ check: DeviceCheck) {
        self.check = check
        switch check.test {
        case .property(let property, .equals(let values)): keys = Set(values.map(property.key(of:)))
        case .property(let property, .compare(_, let value)): keys = [property.key(of: value)]
        default: keys = []
        }
    }

    /// - Parameter ids: the topics of a range of labels.
    func holds(_ device: CheckedDevice, ids: (LabelRange) throws -> Set<Int64>) rethrows -> Bool {
        try check.isNegated != matches(device, ids: ids)
    }

    private func matches(_ device: CheckedDevice, ids: (LabelRange) throws -> Set<Int64>) rethrows -> Bool {
        switch check.test {
        case .imported: return device.isImported
        case .property(let property, let test):
            return device.value(of: property).map { matches(property.key(of: $0), test, of: property) } ?? false
        case .share(let share): return share.holds(device.holder)
        case .labels(let range):
            let ids = try ids(range)
            return device.topics.contains(where: ids.contains)
        }
    }

    private func matches(_ key: [UInt8], _ test: PropertyTest, of property: DeviceProperty) -> Bool {
        switch test {
        case .exists: return true
        case .within: return false
        case .equals: return keys.contains(key)
        case .compare(let comparison, _):
            guard let other = keys.first, property.isOrdered(key, other) else { return false }
            return comparison.holds(OrderedBytes(bytes: key), OrderedBytes(bytes: other))
        }
    }
}

extension CheckedDevice {
    fileprivate func value(of property: DeviceProperty) -> UserAttribute? {
        switch property {
        case .os: about.os.map { .text($0.asName) }
        case .model: about.model.map { .text($0.asName) }
        case .manufacturer: about.manufacturer.map { .text($0.asName) }
        case .osVersion: about.osVersion.map { .text($0) }
        case .lastSeen: .time(registeredAt)
        case .created: createdAt.map { .time($0) }
        // Expressions have texts without the blanks around them.
        case .userAttribute(let name):
            if case .text(let text)? = user.attributes[name] { .text(text.asName) } else { user.attributes[name] }
        case .userTimeZone: user.timeZone.map { .text($0.asName) }
        // They have lists.
        case .language, .timeZone, .country, .appVersion, .attribute: nil
        }
    }
}

extension DeviceProperty {
    /// The form in which values are equal, and in order.
    fileprivate func key(of value: UserAttribute) -> [UInt8] {
        switch self {
        case .lastSeen, .created, .userAttribute: value.indexed
        case .osVersion: Array(VersionOrder.key(of: value.text).utf8)
        default: Array(value.text.caseFolded.utf8)
        }
    }

    /// Whether one may be more than the other: values of different types are in no order, nor are names.
    fileprivate func isOrdered(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        switch self {
        case .lastSeen, .created, .userAttribute: one.first == other.first
        case .osVersion: VersionOrder.isOrdered(one) && VersionOrder.isOrdered(other)
        default: false
        }
    }
}

private struct OrderedBytes: Comparable {
    let bytes: [UInt8]

    static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}
