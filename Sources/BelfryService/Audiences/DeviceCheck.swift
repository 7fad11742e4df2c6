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

extension DeviceCheck {
    /// - Parameter ids: the topics of a range of labels.
    func holds(_ device: CheckedDevice, ids: (LabelRange) throws -> Set<Int64>) rethrows -> Bool {
        try isNegated != matches(device, ids: ids)
    }

    private func matches(_ device: CheckedDevice, ids: (LabelRange) throws -> Set<Int64>) rethrows -> Bool {
        switch test {
        case .imported: return device.isImported
        case .property(let property, let test): return device.matches(test, of: property)
        case .share(let share): return share.holds(device.holder)
        case .labels(let range):
            let ids = try ids(range)
            return device.topics.contains(where: ids.contains)
        }
    }
}

extension CheckedDevice {
    fileprivate func matches(_ test: PropertyTest, of property: DeviceProperty) -> Bool {
        switch property {
        case .os: Self.matches(about.os, test)
        case .model: Self.matches(about.model, test)
        case .manufacturer: Self.matches(about.manufacturer, test)
        case .osVersion: matchesVersion(test)
        case .lastSeen: UserAttribute.time(registeredAt).matches(test)
        case .created: createdAt.map { UserAttribute.time($0).matches(test) } ?? false
        case .userAttribute(let name): user.attributes[name]?.matches(test) ?? false
        case .userTimeZone: Self.matches(user.timeZone, test)
        // They have lists.
        case .language, .timeZone, .country, .appVersion, .attribute: false
        }
    }

    private func matchesVersion(_ test: PropertyTest) -> Bool {
        guard let own = about.osVersion else { return false }
        switch test {
        case .exists: return true
        case .equals(let values): return values.contains { VersionOrder.key(of: $0.text) == VersionOrder.key(of: own) }
        case .within: return false
        case .compare(let comparison, let value):
            guard let own = VersionOrder(own), let other = VersionOrder(value.text) else { return false }
            return comparison.holds(own, other)
        }
    }

    private static func matches(_ text: String?, _ test: PropertyTest) -> Bool {
        guard let text = text?.asName.caseFolded else { return false }
        guard case .equals(let values) = test else { return test == .exists }
        return values.contains { $0.text.caseFolded == text }
    }
}

extension UserAttribute {
    /// Values of different types are never equal, nor in an order.
    package func matches(_ test: PropertyTest) -> Bool {
        switch test {
        case .exists: return true
        case .within: return false
        case .equals(let values): return values.contains { $0.indexed == indexed }
        case .compare(let comparison, let value):
            let (own, other) = (indexed, value.indexed)
            guard own.first == other.first else { return false }
            return comparison.holds(OrderedBytes(own), OrderedBytes(other))
        }
    }
}

private struct OrderedBytes: Comparable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}
