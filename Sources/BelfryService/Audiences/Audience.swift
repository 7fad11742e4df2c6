/// The recipients of a push: an expression over posting lists, scanned platform by platform.
package indirect enum Audience: Sendable, Hashable {
    case list(PostingList)
    /// Devices in at least one of the lists; none when empty.
    case any([Audience])
    /// Devices in every list. Never empty.
    case all([Audience])
    /// Devices of the first that are not in the second.
    case except(Audience, Audience)
    /// Devices of the first whose rows fulfil every check.
    case checked(Audience, [DeviceCheck])
    /// The devices that an expression means, with the expression.
    case meant(by: AudienceExpression, Audience)
}

extension Audience {
    /// The audience with its names in their normal forms, each once.
    package var normalized: Audience {
        switch self {
        case .list(.topic(let name)): .list(.topic(name.asName.caseFolded))
        case .list(.customUser(let id)): .list(.customUser(id.asName))
        case .list: self
        case .any(let parts): .any(parts.map(\.normalized).withoutRepeats)
        case .all(let parts): .all(parts.map(\.normalized))
        case .except(let whole, let part): .except(whole.normalized, part.normalized)
        // They came later than names without a normal form.
        case .checked, .meant: self
        }
    }
}

/// An ascending list of the devices of one platform that have something in common.
package enum PostingList: Sendable, Hashable {
    /// All active devices.
    case active
    /// Active devices whose system shows notifications with buttons.
    case interactive
    /// All devices ever registered, inactive ones too: they get an answer instead of silence.
    case registered
    /// Active devices subscribed to a topic, by its name as `Topic.normalized` has it.
    case topic(String)
    /// Active devices of one custom user id, with case.
    case customUser(String)
    /// The given devices, in ascending order. Devices of other platforms are not in the list.
    case devices([Key<Device>])
    /// Devices of the batches of a push, inactive ones too.
    case sent(Key<Push>, SentPart)
    /// Devices whose apps reported so of a push, inactive ones too.
    case reported(PushReport, Key<Push>)
    /// Devices that reported a geofence, inactive ones too.
    case geofence(Key<Geofence>)
    /// Active devices with a label.
    case label(DeviceLabel)
    /// Active devices with a label of a range.
    case labels(LabelRange)
    /// All active devices of these platforms, none of others.
    case platforms([Key<Platform>])
}

/// A part of the devices of a push, by their answers. The raw values are in the stored form.
package enum SentPart: String, Sendable, Hashable {
    case all = "sent"
    /// Without devices that were not there to be told, or whose delivery was cancelled.
    case there
    /// Devices that the push went to, or goes to.
    case told
    /// Devices that the push went to.
    case reached

    /// - Parameter answer: nil for one that cannot be read.
    package func includes(_ answer: Answer?) -> Bool {
        switch answer {
        case .accepted, .unknown: true
        case .pending: self != .reached
        case .gone, .skipped(.inactive), .skipped(.missing), .skipped(.cancelled), nil: self == .all
        case .expired, .skipped, .refused: self == .all || self == .there
        }
    }
}

// An audience is stored with its push, in prefix notation: ["all:2", "any:2", "topic:news", "topic:town hall", "interactive"].

extension Audience {
    /// Far above what an expression with segments in segments needs.
    private static let depthMax = 256

    /// Decodes the stored form. Throws `InvalidInput` if it is malformed.
    package init(stored text: [UInt8]) throws(InvalidInput) {
        var words: [String] = []
        try JSONReader.list(text) { reader, index throws(InvalidInput) in
            words.append(try reader.string("audience[\(index)]") ?? "")
        }
        var rest = words[...]
        guard let audience = Audience(&rest, depth: 1), rest.isEmpty else {
            throw InvalidInput(field: "audience", "is malformed")
        }
        self = audience
    }

    /// The stored form.
    package var storedText: String {
        var words: [String] = []
        append(to: &words)
        return JSONValue.strings(words).storedText
    }

    private func append(to words: inout [String]) {
        let (name, parts): (String, [Audience])
        switch self {
        case .list(let list): return words.append(list.word)
        case .any(let audiences): (name, parts) = ("any", audiences)
        case .all(let audiences): (name, parts) = ("all", audiences)
        case .except(let whole, let part): (name, parts) = ("except", [whole, part])
        case .checked(let whole, let checks):
            words.append("checked:\(checks.count)")
            words += checks.map(\.word)
            return whole.append(to: &words)
        case .meant(let expression, let audience):
            words.append("meant:\(expression.json.storedText)")
            return audience.append(to: &words)
        }
        words.append("\(name):\(parts.count)")
        for part in parts { part.append(to: &words) }
    }

    /// Takes one expression from the front; nil if the words are malformed.
    private init?(_ words: inout ArraySlice<String>, depth: Int) {
        guard depth <= Self.depthMax, let word = words.popFirst() else { return nil }
        if let list = PostingList(word: word) {
            self = .list(list)
            return
        }
        let (name, rest) = word.splitAtColon
        if name == "meant" {
            guard let value = try? JSONValue(json: rest?.utf8 ?? "".utf8[...]),
                let expression = try? AudienceExpression(stored: value),
                let audience = Audience(&words, depth: depth + 1)
            else { return nil }
            self = .meant(by: expression, audience)
            return
        }
        guard let count = rest.flatMap({ Int($0) }), 0...words.count ~= count else { return nil }
        if name == "checked" {
            let checks = words.prefix(count).compactMap(DeviceCheck.init)
            words = words.dropFirst(count)
            guard checks.count == count, let whole = Audience(&words, depth: depth + 1) else { return nil }
            self = .checked(whole, checks)
            return
        }
        var parts: [Audience] = []
        for _ in 0..<count {
            guard let part = Audience(&words, depth: depth + 1) else { return nil }
            parts.append(part)
        }
        switch name {
        case "any": self = .any(parts)
        case "all" where count > 0: self = .all(parts)
        case "except" where count == 2: self = .except(parts[0], parts[1])
        default: return nil
        }
    }
}

extension PostingList {
    fileprivate var word: String {
        switch self {
        case .active: "active"
        case .interactive: "interactive"
        case .registered: "registered"
        case .topic(let name): "topic:\(name)"
        case .customUser(let id): "custom_user:\(id)"
        case .devices(let devices): "devices:\(devices.map(\.description).joined(separator: ","))"
        case .sent(let push, let part): "\(part.rawValue):\(push)"
        case .reported(let report, let push): "\(report.rawValue):\(push)"
        case .geofence(let geofence): "geofence:\(geofence)"
        case .label(let label): "label:\(label.name)"
        case .labels(let range): "labels:\(range.from)\u{3}\(range.end)"
        case .platforms(let platforms): "platforms:\(platforms.map(\.description).joined(separator: ","))"
        }
    }

    fileprivate init?(word: String) {
        switch word.splitAtColon {
        case ("active", nil): self = .active
        case ("interactive", nil): self = .interactive
        case ("registered", nil): self = .registered
        case ("topic", let name?): self = .topic(String(name))
        case ("custom_user", let id?): self = .customUser(String(id))
        case ("devices", let keys?):
            guard let devices = Self.keys(keys, of: Device.self) else { return nil }
            self = .devices(devices)
        case ("platforms", let keys?):
            guard let platforms = Self.keys(keys, of: Platform.self) else { return nil }
            self = .platforms(platforms)
        case (let name, let key?) where SentPart(rawValue: String(name)) != nil:
            guard let push = Int64(key), let part = SentPart(rawValue: String(name)) else { return nil }
            self = .sent(Key(push), part)
        case (let name, let key?) where PushReport(rawValue: String(name)) != nil:
            guard let push = Int64(key), let report = PushReport(rawValue: String(name)) else { return nil }
            self = .reported(report, Key(push))
        case ("geofence", let key?):
            guard let key = Int64(key) else { return nil }
            self = .geofence(Key(key))
        case ("label", let name?):
            guard let label = DeviceLabel(stored: String(name)) else { return nil }
            self = .label(label)
        case ("labels", let names?):
            let ends = names.split(separator: "\u{3}", omittingEmptySubsequences: false).map(String.init)
            guard ends.count == 2 else { return nil }
            self = .labels(LabelRange(from: ends[0], end: ends[1]))
        default: return nil
        }
    }

    private static func keys<Row>(_ text: Substring, of _: Row.Type) -> [Key<Row>]? {
        let words = text.split(separator: ",")
        let keys = words.compactMap { Int64($0) }.map { Key<Row>($0) }
        return keys.count == words.count ? keys : nil
    }
}

extension String {
    fileprivate var splitAtColon: (Substring, Substring?) {
        guard let colon = utf8.firstIndex(of: UInt8(ascii: ":")) else { return (self[...], nil) }
        return (self[..<colon], self[utf8.index(after: colon)...])
    }
}
