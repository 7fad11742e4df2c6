import FoundationEssentials
import KeyFiles

/// A message as it is published to an ntfy server: a text with headers or parameters, or JSON with a topic. Source: ntfy, "Publishing".
enum NtfyMessage {
    static func publication(_ call: PublisherRoutes.Call, now: Instant) throws(InvalidInput) -> Publication {
        guard let topic = call.topic else { return try json(call, now) }
        let text = String(decoding: call.body, as: UTF8.self)
        guard text.utf8.elementsEqual(call.body) else {
            throw InvalidInput(field: "body", "is not text: attach files by a URL, in the header Attach")
        }
        // A header has no line ends: `\n` stands for one. Source: ntfy, `server.go`, parsePublishParams.
        let header = call.value("X-Message", "Message", "m").map { decodedWord($0).replacing(#"\n"#, with: "\n") }
        var publication = try fields(call, now, body: text.trimmed.isEmpty ? header : text, topic: topic)
        publication.show(tags(call))
        return publication
    }

    /// Reads headers and parameters, but not tags: JSON may have another title for them.
    private static func fields(
        _ call: PublisherRoutes.Call, _ now: Instant, body: String?, topic: String
    ) throws(InvalidInput) -> Publication {
        let text = body?.trimmed ?? ""
        var publication = Publication(
            title: call.value("X-Title", "Title", "ti", "t").map(decodedWord), body: text.isEmpty ? "triggered" : text,
            link: call.value("X-Click", "Click"), topic: topic)
        publication.priority = try priority(call.value("X-Priority", "Priority", "prio", "p"))
        publication.image = call.value("X-Attach", "Attach", "a")
        publication.sendAt = try call.value("X-Delay", "Delay", "X-At", "At", "X-In", "In").map {
            (text) throws(InvalidInput) in try time(text, now)
        }
        return publication
    }

    private static func tags(_ call: PublisherRoutes.Call) -> [String] {
        let text = call.value("X-Tags", "Tags", "Tag", "ta").map(decodedWord) ?? ""
        // A word that stands at a comma is one only without it.
        return text.split(separator: ",").map { decodedWord(String($0).trimmed) }
    }

    /// JSON goes before headers, which senders such as Apprise mix with it.
    private static func json(_ call: PublisherRoutes.Call, _ now: Instant) throws(InvalidInput) -> Publication {
        let members = try JSONObject.body(call.body).mapValues { member in
            member.stringValue.map { .string($0.trimmed) } ?? member
        }
        guard let topic = try members.text("topic") else { throw InvalidInput.missing("topic") }
        var publication = try fields(call, now, body: try members.text("message"), topic: topic)
        if let title = try members.text("title") { publication.title = title }
        if let link = try members.text("click") { publication.link = link }
        if let image = try members.text("attach") { publication.image = image }
        // Programs in Go write 0 where they mean none.
        if let level = members["priority"], !level.isNull, level.wholeNumber != 0 {
            publication.priority = try priority(level.flat)
        }
        if let delay = try members.text("delay") { publication.sendAt = try time(delay, now) }
        if let own = members["tags"], !own.isNull {
            publication.show(try own.strings("tags"))
        } else {
            publication.show(tags(call))
        }
        if let actions = members["actions"], !actions.isNull { publication.data["actions"] = actions }
        return publication
    }

    private static let priorityNames = ["min": 1, "low": 2, "default": 3, "high": 4, "max": 5, "urgent": 5]

    private static func priority(_ text: String?) throws(InvalidInput) -> Int {
        // `Priority: u=1` is of HTTP itself (RFC 9218), which browsers and proxies add.
        guard let text = text?.lowercased(), !text.hasPrefix("u=") else { return 3 }
        if let number = Int64(text), Publication.priorities ~= number { return Int(number) }
        guard let number = priorityNames[text] else {
            throw InvalidInput(
                field: "priority",
                "is '\(text.prefix(32))', it has to be from 1 to 5, or min, low, default, high or max")
        }
        return number
    }

    private static let units: [(names: [String], seconds: Int64)] = [
        (["s", "sec", "secs", "second", "seconds"], 1), (["m", "min", "mins", "minute", "minutes"], 60),
        (["h", "hour", "hours"], 3_600), (["d", "day", "days"], 86_400),
    ]
    /// Source: ntfy, "Scheduled delivery": from ten seconds to three days.
    private static let delays: ClosedRange<Int64> = 10...259_200

    /// A time as seconds since 1970, or a duration such as `30min`, `2 hours`.
    private static func time(_ text: String, _ now: Instant) throws(InvalidInput) -> Instant {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = String(text.dropFirst(digits.count)).trimmed.lowercased()
        guard digits.utf8.count <= 12, let number = Int64(digits), let delay = seconds(number, unit, now) else {
            throw InvalidInput(
                field: "delay",
                "is '\(text.prefix(32))', it has to be a Unix time, or a duration such as 30min, 2h or 1 day")
        }
        guard delays ~= delay else {
            throw InvalidInput(
                field: "delay", "is \(delay) s from now, it has to be from \(delays.lowerBound) s to 3 days")
        }
        return now + .seconds(delay)
    }

    private static func seconds(_ number: Int64, _ unit: String, _ now: Instant) -> Int64? {
        if unit.isEmpty { return number - now.milliseconds / 1_000 }
        return units.first { $0.names.contains(unit) }.map { number * $0.seconds }
    }

    /// Titles that are not ASCII may be encoded in a header. Source: RFC 2047; ntfy, "Publishing".
    private static func decodedWord(_ text: String) -> String {
        var (decoded, wasWord) = ("", false)
        for (index, part) in text.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
            let word = Self.decoded(word: part)
            // A long title is several words, and the blanks between them are none of its own. Source: RFC 2047 §6.2.
            if index > 0, word == nil || !wasWord { decoded += " " }
            decoded += word ?? String(part)
            wasWord = word != nil
        }
        return decoded
    }

    /// nil where the text is no encoded word in a charset that ntfy knows.
    private static func decoded(word text: Substring) -> String? {
        let parts = text.split(separator: "?", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0] == "=", parts[4] == "=" else { return nil }
        let encoding = parts[2].lowercased()
        let isBase64 = encoding == "b"
        guard isBase64 || encoding == "q",
            let bytes = isBase64 ? Base64.decode(loose: parts[3].utf8) : quoted(parts[3].utf8)
        else { return nil }
        switch parts[1].lowercased() {
        case "utf-8", "us-ascii": return String(decoding: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }

    /// Decodes `=` and two hex digits, and `_` for a blank. Source: RFC 2047 §4.2.
    private static func quoted(_ text: Substring.UTF8View) -> [UInt8] {
        var (bytes, rest) = ([UInt8](), text)
        while let byte = rest.popFirst() {
            let code = byte == UInt8(ascii: "=") ? [UInt8](hex: rest.prefix(2))?.first : nil
            if code != nil { rest = rest.dropFirst(2) }
            bytes.append(code ?? (byte == UInt8(ascii: "_") ? 0x20 : byte))
        }
        return bytes
    }
}

extension Publication {
    /// Puts the emoji of known tags before the title, as ntfy's apps do; the others are for the app.
    mutating func show(_ tags: [String]) {
        let tags = tags.map(\.trimmed).filter { !$0.isEmpty }
        let emoji = tags.compactMap { Self.emoji[$0] }
        let others = tags.filter { Self.emoji[$0] == nil }
        if !emoji.isEmpty {
            let shown = emoji.joined(separator: " ")
            if let title { self.title = "\(shown) \(title)" } else if let body { self.body = "\(shown) \(body)" }
        }
        if !others.isEmpty { data["tags"] = .array(others.map(JSONValue.string)) }
    }

    /// The tags of ntfy's examples and of monitoring. Source: ntfy, "Emoji reference", by the short codes of GitHub.
    private static let emoji = [
        "+1": "👍", "-1": "👎", "warning": "⚠️", "rotating_light": "🚨", "triangular_flag_on_post": "🚩", "skull": "💀",
        "facepalm": "🤦", "no_entry": "⛔", "no_entry_sign": "🚫", "cd": "💿", "loudspeaker": "📢", "computer": "💻",
        "white_check_mark": "✅", "heavy_check_mark": "✔️", "x": "❌", "tada": "🎉", "partying_face": "🥳", "fire": "🔥",
        "bell": "🔔", "no_bell": "🔕", "email": "📧", "house": "🏠", "door": "🚪", "lock": "🔒", "unlock": "🔓", "key": "🔑",
        "bug": "🐛", "rocket": "🚀", "construction": "🚧", "hourglass": "⌛", "clock": "🕰️", "chart_with_upwards_trend": "📈",
        "floppy_disk": "💾", "battery": "🔋", "electric_plug": "🔌", "thermometer": "🌡️", "droplet": "💧", "zap": "⚡",
        "eyes": "👀", "information_source": "ℹ️", "question": "❓", "exclamation": "❗", "red_circle": "🔴",
        "green_circle": "🟢",
        "yellow_circle": "🟡", "package": "📦", "package_open": "📂", "wave": "👋", "heart": "❤️", "star": "⭐",
    ]
}
