package import FoundationEssentials

/// The values of a push's placeholders on one device.
package final class PersonalizedValues: Sendable {
    package let values: Values
    private let links: LinkSigner?

    /// The store's values for the device and its user. A badge is the number after the push has counted.
    package struct Values: Sendable, Hashable {
        package var badge: Int64 = 0
        package var deviceUUID: UUID?
        /// Another UUID of the device, by which senders may know it.
        package var otherUUID: UUID?
        package var userID: String?
        package var language: String?
        package var timeZone: String?
        package var attributes: [String: UserAttribute] = [:]

        package init(badge: Int64 = 0) { self.badge = badge }
    }

    package init(_ values: Values, links: LinkSigner? = nil) {
        self.values = values
        self.links = links
    }

    package var badge: Int64 { values.badge }

    package func text(of placeholder: Placeholder) -> String {
        let own =
            if let form = placeholder.form {
                value(of: placeholder.source).flatMap { form.text(of: $0, in: values.timeZone) }
            } else {
                own(placeholder.source)
            }
        let text = own ?? placeholder.fallback ?? ""
        return placeholder.isInURL ? text.percentEncoded : text
    }

    /// The source's value with its type.
    private func value(of source: Placeholder.Source) -> UserAttribute? {
        switch source {
        case .badge: .number(Double(values.badge))
        case .attribute(let name): values.attributes[name]
        case .value(_, let value): value
        default: own(source).map(UserAttribute.text)
        }
    }

    /// The source's value on the device; nil for none, and for an empty text.
    private func own(_ source: Placeholder.Source) -> String? {
        let text: String? =
            switch source {
            case .badge: String(values.badge)
            case .deviceID: values.deviceUUID?.lowercased
            case .userID: values.userID
            case .userLanguage: values.language
            case .userTimeZone: values.timeZone
            case .attribute(let name): values.attributes[name]?.text
            case .value(_, let value): value?.text
            case .signedLink(let url): links?.link(url, for: values) ?? url
            case .text(let text): text
            case .encrypted(let content):
                [values.deviceUUID, values.otherUUID].lazy.compactMap(\.self).compactMap { content.messages[$0] }.first
            case .translated(let text): text.text(for: values.language).replacing { self.text(of: $0) }
            }
        return text.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// The kinds of values that the placeholders of a push need.
package struct PersonalizationNeeds: Sendable, Hashable {
    /// The kept number, whether the push counts or not.
    package private(set) var badge = false
    package private(set) var device = false
    package private(set) var user = false
    package private(set) var attributes: Set<String> = []
    package private(set) var links = false

    package init(_ placeholders: [Placeholder]) {
        for placeholder in placeholders {
            switch placeholder.source {
            case .badge: badge = true
            case .deviceID, .encrypted: device = true
            case .userID, .userLanguage, .userTimeZone: user = true
            case .attribute(let name):
                user = true
                attributes.insert(name)
            case .signedLink: (links, device, user) = (true, true, true)
            case .text, .value: break
            case .translated(let text):
                user = true
                formUnion(PersonalizationNeeds(text.all.flatMap(\.placeholders)))
            }
            // A time is by the clocks of the user.
            if placeholder.form?.isInZone ?? false { user = true }
        }
    }

    private mutating func formUnion(_ other: Self) {
        (badge, device, links) = (badge || other.badge, device || other.device, links || other.links)
        attributes.formUnion(other.attributes)
    }

    /// Whether the device's row is read.
    package var row: Bool { device || user }
    package var isEmpty: Bool { !badge && !row }
}

/// A request for the values that a push shows on the devices of a batch.
package struct FillingRequest: Sendable {
    package let batch: Batch
    package let applicationKey: Key<Application>
    /// The devices that are sent to now, ascending.
    package let devices: [Key<Device>]
    /// The change that the push makes to the number kept for each.
    package let badge: BadgeChange?
    package let needs: PersonalizationNeeds
}

extension Push.Content {
    /// Whether the content differs by device, on devices of some type. It is cheap: contents are asked for each batch.
    package var isPersonal: Bool { variesInText || countsBadges }

    /// Whether its texts differ by device.
    package var variesInText: Bool { isTemplate || !translations.isEmpty || encrypted != nil }

    /// The content that one device gets.
    package func filled(with filling: PersonalizedValues) throws(InvalidInput) -> Push.Content {
        try filledTexts(with: filling).showing(badge: filling.badge)
    }

    /// The content with the texts that one device gets, and badges that still count up.
    package func filledTexts(with filling: PersonalizedValues) throws(InvalidInput) -> Push.Content {
        try replacingPlaceholders { filling.text(of: $0) }
    }

    /// The longest form, for the check at acceptance: numbers at their greatest. Attributes and user ids, whose length is not
    /// known yet, count with the fallback or some bytes. None is shorter than its mark, and a badge has one digit more for it.
    package func longest() throws(InvalidInput) -> Push.Content {
        try replacingPlaceholders(\.longest).showing(badge: BadgeChange.keptMax * 10)
    }

    /// The content with a number in place of each text that counts up.
    package func showing(badge number: Int64) -> Push.Content {
        guard countsBadges else { return self }
        var shown = self
        if case .object(var ios)? = custom["ios"], let count = ios["badge"]?.showing(badge: number) {
            ios["badge"] = count
            shown.custom["ios"] = .object(ios)
        }
        if let apple, !apple.isVerbatim, case .object(var aps)? = apple.payload["aps"],
            let badge = aps["badge"]?.showing(badge: number)
        {
            aps["badge"] = badge
            shown.apple = apple.saying(apple.payload.merging(["aps": .object(aps)]) { $1 })
        }
        shown.web = web?.showing(badge: number)
        shown.badge = badge?.showing(badge: number)
        return shown
    }
}

extension JSONValue {
    /// nil unless it counts up.
    fileprivate func showing(badge number: Int64) -> JSONValue? {
        stringValue.flatMap(BadgeChange.init(counting:)).map { _ in .integer(number) }
    }
}

extension BadgeChange {
    fileprivate func showing(badge number: Int64) -> BadgeChange {
        if case .add = self { .set(number) } else { self }
    }
}

extension WebMessage {
    fileprivate func showing(badge number: Int64) -> WebMessage {
        appBadge.map { WebMessage(self, appBadge: $0.showing(badge: number)) } ?? self
    }
}

extension Placeholder {
    /// The least bytes that are counted for each.
    private static let bytesMin = 16

    /// The longest text, where that is known.
    fileprivate var longest: String {
        let text =
            switch source {
            case .badge: String(BadgeChange.keptMax)
            case .deviceID: String(repeating: "x", count: 36)
            case .userLanguage, .userTimeZone: String(repeating: "x", count: UserProfile.tagBytesMax)
            case .signedLink(let url): url + String(repeating: "x", count: LinkSigner.addedBytesMin)
            case .text(let text), .value(_, .text(let text)?): isInURL ? text.percentEncoded : text
            case .value(_, let value): value?.text ?? ""
            case .userID, .attribute: ""
            case .encrypted(let content): content.longest
            case .translated(let text):
                text.all.map { $0.replacing(\.longest) }.max { $0.utf8.count < $1.utf8.count } ?? ""
            }
        if case .translated = source { return text.padded(to: Self.bytesMin) }
        if let form {
            // A byte becomes three with percent signs.
            let bytes = max(form.bytesMax, fallback?.utf8.count ?? 0) * (isInURL ? 3 : 1)
            return "".padded(to: max(bytes, Self.bytesMin))
        }
        let longest = [text, fallback.map { isInURL ? $0.percentEncoded : $0 } ?? ""].max {
            $0.utf8.count < $1.utf8.count
        }
        return (longest ?? "").padded(to: Self.bytesMin)
    }
}

extension String {
    fileprivate func padded(to count: Int) -> String {
        self + String(repeating: "x", count: max(0, count - utf8.count))
    }
}
