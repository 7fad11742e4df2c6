import BelfryCore

/// A field that several platforms share, and where its value goes on each.
struct ComposeSpread: Sendable {
    /// In a request of the admin API.
    let places: [([String], JSONValue)]

    /// Which fields are shared.
    enum Sharing: Sendable { case all, withoutData, none }

    /// What the fields say, in the places that the request has for it.
    static func all(
        _ form: FormData, kinds: [PlatformKind], over root: JSONValue
    ) throws(InvalidInput) -> [ComposeSpread] {
        let places = Places(kinds, root)
        var spreads: [ComposeSpread] = []
        for (name, paths) in places.texts {
            let text = form[name]
            guard !text.isEmpty else { continue }
            var values = paths.map { ($0, JSONValue.string(text)) }
            if name == "picture" { values += places.picture }
            spreads.append(ComposeSpread(places: values))
        }
        if let body = root["message"]?["body"] {
            spreads.append(ComposeSpread(places: places.bodies.map { ($0, body) }))
        }
        guard let data = try ComposeKey([], "", .json, name: "data").value(in: form) else { return spreads }
        guard case .object(let members) = data else {
            throw InvalidInput(field: "data", "has to be an object, it is \(data.typeName)")
        }
        var values = members.flatMap { name, value in places.data.map { ($0 + [name], value) } }
        if let whole = places.wholeData { values.append((whole, data)) }
        return spreads + [ComposeSpread(places: values)]
    }

    /// The fields that a request's values can be shown in, with their text, and the places that they stand for.
    static func shared(
        in json: JSONValue, kinds: [PlatformKind], _ sharing: Sharing
    ) -> [(name: String, text: String, places: [[String]])] {
        let places = Places(kinds, json)
        var fields: [(name: String, text: String, places: [[String]])] = []
        for (name, paths) in places.texts {
            guard let first = paths.first, let text = json.value(at: first)?.stringValue, text == text.trimmed,
                !text.isEmpty, !text.utf8.contains(0x0A), !text.utf8.contains(0x0D)
            else { continue }
            var stood = paths.filter { json.value(at: $0)?.stringValue == text }
            if name == "picture" { stood += places.picture.filter { json.value(at: $0.0) == $0.1 }.map(\.0) }
            fields.append((name, text, stood))
        }
        if let body = json["message"]?["body"] {
            fields.append(("", "", places.bodies.filter { json.value(at: $0) == body }))
        }
        if sharing == .all, let data = Self.data(in: json, places, beside: fields.flatMap(\.places)) {
            fields.append(data)
        }
        return fields
    }

    private static func data(
        in json: JSONValue, _ places: Places, beside taken: [[String]]
    ) -> (name: String, text: String, places: [[String]])? {
        guard let first = places.shownData ?? places.wholeData, var found = json.value(at: first) else { return nil }
        for path in taken where path.starts(with: first) {
            guard let rest = found.removing(path.dropFirst(first.count)) else { return nil }
            found = rest
        }
        guard case .object(let members) = found, !members.isEmpty else { return nil }
        var stood = places.data.flatMap { place in
            members.filter { json.value(at: place + [$0.key]) == $0.value }.map { place + [$0.key] }
        }
        if let whole = places.wholeData, json.value(at: whole) == found { stood.append(whole) }
        return ("data", found.pretty, stood)
    }
}

/// Where the shared fields go, for the platforms of an application and for what a request has already.
private struct Places {
    private(set) var texts: [(name: String, paths: [[String]])] = []
    /// What goes with a picture.
    private(set) var picture: [([String], JSONValue)] = []
    private(set) var bodies: [[String]] = []
    /// Objects that get each member of the data.
    private(set) var data: [[String]] = []
    /// The one of them that has nothing else.
    private(set) var shownData: [String]?
    /// Where the data goes as one value.
    private(set) var wholeData: [String]?

    init(_ kinds: [PlatformKind], _ root: JSONValue) {
        var (title, link, image, sound): ([[String]], [[String]], [[String]], [[String]]) = ([], [], [], [])
        let message = root["message"]
        let custom = ["message", "custom"]
        if let apns = message?["apns"], kinds.contains(where: \.isApple) {
            if (apns["type"]?.stringValue ?? "alert") == "alert" {
                let payload = ["message", "apns", "payload"]
                title.append(payload + ["aps", "alert", "title"])
                sound.append(payload + ["aps", "sound"])
                link.append(payload + ["link"])
                image.append(payload + ["image"])
                picture = [(payload + ["aps", "mutable-content"], .integer(1))]
                data.append(payload)
            }
        } else if kinds.contains(.ios) {
            let ios = custom + ["ios"]
            title.append(ios + ["alert", "title"])
            sound.append(ios + ["sound"])
            link.append(ios + ["extra", "link"])
            image.append(ios + ["extra", "image"])
            picture = [(ios + ["mutable-content"], .integer(1))]
            shownData = ios + ["extra"]
            data.append(ios + ["extra"])
        }
        if kinds.contains(where: \.isAndroidLike) {
            let android = custom + ["android"]
            title.append(android + ["title"])
            link.append(android + ["link"])
            image.append(android + ["image"])
            data.append(android)
        }
        if kinds.contains(.web) {
            let isDeclared = message?["web"] != nil
            let web = isDeclared ? ["message", "web"] : custom + ["web"]
            title.append(web + ["title"])
            link.append(web + ["navigate"])
            image.append(web + ["image"])
            wholeData = web + ["data"]
            if isDeclared { bodies.append(web + ["body"]) }
        }
        texts = [("title", title), ("link", link), ("picture", image), ("sound", sound)]
    }
}
