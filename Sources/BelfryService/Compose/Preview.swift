import FoundationEssentials

/// A push as a device shows it, and the payload that makes it look so.
struct Preview: Component {
    /// Classes of the style sheet.
    enum Shape: String, Sendable { case phone, watch, android, browser, toast, plain }

    var shape: Shape
    var label: String
    /// The name of the app.
    let app: String
    var title = ""
    var subtitle = ""
    var body = ""
    var picture: String?
    var badge: String?
    var actions: [String] = []
    /// Parts that cannot be drawn, in words.
    var note = ""
    /// The payload for the provider; nil where another picture has it.
    var payload: String?
    /// The size of the payload against the provider's limit, in words.
    var size: String?
    var bytes = 0
    var limit = 0
    /// On the clock of the lock screen.
    var time = Instant.zero

    init(_ shape: Shape, _ label: String, _ app: String) {
        self.shape = shape
        self.label = label
        self.app = app
    }

    /// Whether there is anything to see.
    var isShown: Bool { !(title.isEmpty && subtitle.isEmpty && body.isEmpty) }

    mutating func measure(_ bytes: Int, of limit: Int, _ taker: String, _ head: String = "") {
        (self.bytes, self.limit) = (bytes, limit)
        size = "\(head)\(bytes.grouped) of \(limit.grouped) bytes that \(taker) takes"
    }

    var content: [any HTML] {
        Tag("figure", ["class": "preview \(shape.rawValue)"]) {
            Tag("figcaption") {
                label
                if let badge {
                    " "
                    Tag("span", ["class": "badge bad"], badge)
                }
            }
            Tag("div", ["class": "screen"]) {
                if shape == .phone || shape == .android {
                    Tag("time", ["class": "clock", "datetime": time.text], String(time.minute.suffix(5)))
                }
                Tag("div", ["class": opens ? "push short" : "push"]) {
                    text
                    if !opens { more }
                }
            }
            if opens {
                Tag("details") {
                    Tag("summary", "Opened")
                    Tag("div", ["class": "screen"]) {
                        Tag("div", ["class": "push"]) {
                            text
                            more
                        }
                    }
                }
            }
            Tag("p", ["class": "hint"], note)
            if let size {
                Tag("p", ["class": "size"]) {
                    Tag("meter", ["aria-label": size, "min": 0, "max": limit, "value": bytes])
                    " \(size)"
                }
            }
            if let payload {
                Tag("details") {
                    Tag("summary", "Payload")
                    Tag("pre", ["tabindex": 0]) { Tag("code", payload) }
                }
            }
        }
    }

    /// Without the payload, which Review has.
    var brief: Preview {
        var preview = self
        preview.payload = nil
        return preview
    }

    /// Whether a device shows a part of it until it is opened.
    private var opens: Bool {
        [.phone, .android, .browser].contains(shape)
            && (picture != nil || !actions.isEmpty || body.count > 120 || body.contains(where: \.isNewline))
    }

    @HTMLBuilder private var text: [any HTML] {
        Tag("small") {
            Tag("span", ["class": "letter", "aria-hidden": "true"], String(app.prefix(1)))
            Tag("span", ["class": "sender", "dir": "auto"], app)
            Tag("span", "now")
        }
        Tag("b", ["dir": "auto"], title)
        Tag("b", ["class": "sub", "dir": "auto"], subtitle)
        Tag("p", ["dir": "auto"], body)
    }

    /// Pages load nothing from other servers, so a picture is named.
    @HTMLBuilder private var more: [any HTML] {
        if let picture { Tag("i", "Picture, which this page may not load: \(picture)") }
        Tag("div", ["class": "taps"]) { actions.map { Tag("span", ["dir": "auto"], $0) } }
    }
}

/// Pictures of a push beside one another.
struct Previews: Component {
    private let previews: [Preview]

    init(_ previews: [Preview]) { self.previews = previews }

    var content: [any HTML] { Tag("div", ["class": "previews"]) { previews } }
}

/// Pictures of a push, each made of the payload that the provider of a platform gets.
extension Preview {
    /// - Parameters:
    ///   - shown: the content with the values of one device; nil shows placeholders as they are written.
    ///   - name: of the application, which stands where devices show it.
    ///   - time: when it is sent.
    static func all(
        of content: Push.Content, shown: Push.Content? = nil, on kinds: Set<PlatformKind>, for name: String,
        at time: Instant
    ) -> [Preview] {
        let maker = PreviewMaker(
            content: shown ?? content.showing(badge: 1), longest: (try? content.longest()) ?? content, name: name,
            time: time)
        return PlatformKind.allCases.filter(kinds.contains).flatMap(maker.previews).map { preview in
            var preview = preview
            preview.time = time
            return preview
        }
    }
}

/// Renders the payloads of one push.
private struct PreviewMaker {
    /// The content with the values of one device.
    let content: Push.Content
    /// The content with the longest payload, where it differs by device.
    let longest: Push.Content
    let name: String
    let time: Instant
    let receiptID = UUID()

    func previews(_ kind: PlatformKind) -> [Preview] {
        switch kind.traits.payload {
        case .apple(let use): apple(kind, use)
        case .android: [android(kind)].compactMap(\.self)
        case .web: [browser()].compactMap(\.self)
        case .windows8: [windows()].compactMap(\.self)
        case .windowsPhone: [windowsPhone()].compactMap(\.self)
        case .bb10: [blackBerry()].compactMap(\.self)
        // Its receiver decides.
        case .webhook: []
        }
    }

    // MARK: Apple

    private func apple(_ kind: PlatformKind, _ use: AppleTokenUse) -> [Preview] {
        guard let payload = try? IOSPayload(content, for: use, receiptID: receiptID, sentAt: time),
            let json = try? JSONValue(json: payload.bytes)
        else { return [] }
        let most = (try? IOSPayload(longest, for: use, receiptID: receiptID, sentAt: .distantFuture))?.bytes.count
        var preview = Preview(use == .app ? .phone : .plain, use == .app ? "iPhone" : kind.title, name)
        preview.payload = json.pretty
        preview.measure(
            most ?? payload.bytes.count, of: content.apple?.type.payloadBytesMax(for: use) ?? IOSPayload.bytesMax,
            "APNs")
        let alert = json["aps"]?["alert"]
        preview.title = alert?["title"]?.stringValue ?? alert?["title-loc-key"]?.stringValue ?? ""
        preview.subtitle = alert?["subtitle"]?.stringValue ?? ""
        preview.body = alert?.stringValue ?? alert?["body"]?.stringValue ?? alert?["loc-key"]?.stringValue ?? ""
        preview.badge = json["aps"]?["badge"].map(\.flat)
        if json["aps"]?["mutable-content"] != nil { preview.picture = json[SharedFields.pictureKey]?.stringValue }
        preview.note = note(json["aps"], use)
        guard use == .app, preview.isShown else { return [preview] }
        var watch = preview
        (watch.shape, watch.label) = (.watch, "Apple Watch")
        (watch.payload, watch.size, watch.badge) = (nil, nil, nil)
        watch.note = "While the iPhone is locked. It gets the iPhone's payload."
        return [preview, watch]
    }

    private func note(_ aps: JSONValue?, _ use: AppleTokenUse) -> String {
        var parts: [String] = []
        if use != .app {
            parts.append("The app or the system decides what it shows.")
        } else if aps?["alert"] == nil {
            parts.append(aps?["badge"] == nil ? "Nothing is shown: it wakes the app." : "Only the badge changes.")
        }
        if let alert = aps?["alert"], alert["loc-key"] != nil || alert["title-loc-key"] != nil {
            parts.append("The app has the texts of the keys.")
        }
        if aps?["mutable-content"] == .integer(1) { parts.append("The app may add to it, such as a picture.") }
        if let sound = aps?["sound"] { parts.append("Sound: \(sound["name"]?.flat ?? sound.flat).") }
        if let category = aps?["category"]?.stringValue { parts.append("Buttons of the category \(category).") }
        return parts.joined(separator: " ")
    }

    // MARK: Android

    private func android(_ kind: PlatformKind) -> Preview? {
        guard let payload = try? AndroidPayload(content, kind: kind, receiptID: receiptID, sentAt: time) else {
            return nil
        }
        let most = (try? AndroidPayload(longest, kind: kind, receiptID: receiptID, sentAt: .distantFuture)) ?? payload
        var preview = Preview(.android, kind.title, name)
        // An app of GCM's time shows what it likes of its data.
        let notice = kind == .androidFCM || kind == .fcmTopic ? payload.notice : nil
        if let notice {
            (preview.title, preview.body, preview.picture) = (notice.title ?? "", notice.body ?? "", notice.image)
            preview.badge = notice.badge?.json.flat
        } else if !payload.isSilent {
            (preview.title, preview.body) = (
                payload.data["title"]?.stringValue ?? "", payload.data["message"]?.stringValue ?? ""
            )
            preview.picture = payload.data["image"]?.stringValue
        }
        preview.note =
            payload.isSilent
            ? "Nothing is shown: the app gets the data."
            : notice == nil
                ? "The app gets the data and shows it."
                : "The system shows it; the app gets the data, and shows them where both are too large."
        var shown: JSONObject = ["data": .object(payload.data)]
        shown["collapse_key"] = payload.collapseKey.map(JSONValue.string)
        shown["notification"] = notice.map { notice in
            let texts = ["title": notice.title, "body": notice.body, "image": notice.image]
            return .object(JSONObject(texts.compactMapValues(\.self)))
        }
        preview.payload = JSONValue.object(shown).pretty
        preview.measure(
            most.dataBytes, of: AndroidPayload.bytesMax(for: kind), "the service", "Data: ")
        return preview
    }

    // MARK: Browsers

    private func browser() -> Preview? {
        guard let payload = try? WebPayload(content, receiptID: receiptID),
            let json = try? JSONValue(json: payload.bytes)
        else { return nil }
        let most = (try? WebPayload(longest, receiptID: receiptID))?.bytes.count
        var preview = Preview(.browser, "Browser", name)
        let shown = json["notification"] ?? json
        preview.title = shown["title"]?.stringValue ?? "The site's name"
        preview.body = shown["body"]?.stringValue ?? ""
        preview.picture = shown["image"]?.stringValue
        preview.badge = json["app_badge"].map(\.flat)
        if case .array(let actions)? = shown["actions"] {
            preview.actions = actions.prefix(2).compactMap { $0["title"]?.stringValue }
        }
        preview.note = shown["navigate"]?.stringValue.map { "A click opens \($0)" } ?? "A click opens the site."
        preview.payload = json.pretty
        preview.measure(most ?? payload.bytes.count, of: WebPayload.bytesMax, "the push service")
        return preview
    }

    // MARK: Windows and BlackBerry

    private func windows() -> Preview? {
        guard let payload = try? Windows8Payload(content) else { return nil }
        var preview = Preview(.toast, "Windows", name)
        let texts = String(decoding: payload.bytes, as: UTF8.self).texts(in: "text")
        preview.title = texts.count > 1 ? texts[0] : ""
        preview.body = texts.count > 1 ? texts.dropFirst().joined(separator: "\n") : texts.first ?? ""
        preview.picture = String(decoding: payload.bytes, as: UTF8.self).imageSource
        preview.note = payload.kind == .toast ? "" : "A \(payload.kind.rawValue), not a toast."
        preview.payload = String(decoding: payload.bytes, as: UTF8.self)
        let most = (try? Windows8Payload(longest))?.bytes.count
        preview.measure(most ?? payload.bytes.count, of: Windows8Payload.bytesMax, "WNS")
        return preview
    }

    private func windowsPhone() -> Preview? {
        guard let payload = try? WindowsPhonePayload(content) else { return nil }
        var preview = Preview(.toast, "Windows Phone", name)
        let xml = String(decoding: payload.bytes, as: UTF8.self)
        preview.title = (xml.texts(in: "wp:Text1") + xml.texts(in: "wp:Title")).first ?? ""
        preview.body = xml.texts(in: "wp:Text2").first ?? ""
        preview.payload = xml
        let most = (try? WindowsPhonePayload(longest))?.bytes.count
        preview.measure(most ?? payload.bytes.count, of: payload.kind.bytesMax, "MPNS")
        return preview
    }

    private func blackBerry() -> Preview? {
        guard let payload = try? BB10Payload(content) else { return nil }
        var preview = Preview(.toast, "BlackBerry 10", name)
        preview.body = String(decoding: payload.bytes, as: UTF8.self)
        preview.payload = preview.body
        let most = (try? BB10Payload(longest))?.bytes.count
        preview.measure(most ?? payload.bytes.count, of: BB10Payload.bytesMax, "the service")
        return preview
    }
}

/// They read scalars: to Swift, a `>` with a combining mark behind it is another character.
extension String {
    /// The texts of an XML document's elements of a name, which hold nothing but text.
    fileprivate func texts(in element: String) -> [String] {
        components(between: "<\(element)", "</\(element)>").compactMap { part in
            let scalars = part.unicodeScalars
            return scalars.firstIndex(of: ">").map { Substring(scalars[$0...].dropFirst()).withoutXMLEscapes }
        }
    }

    /// The address of the first `image` of a toast.
    fileprivate var imageSource: String? {
        components(between: "<image ", "/>").first.flatMap { String($0).components(between: "src=\"", "\"").first }?
            .withoutXMLEscapes
    }

    private func components(between opening: String, _ closing: String) -> [Substring] {
        var parts: [Substring] = []
        var rest = unicodeScalars[...]
        while let start = rest.firstRange(of: opening.unicodeScalars) {
            rest = rest[start.upperBound...]
            guard let end = rest.firstRange(of: closing.unicodeScalars) else { break }
            parts.append(Substring(rest[..<end.lowerBound]))
            rest = rest[end.upperBound...]
        }
        return parts
    }
}

extension Substring {
    fileprivate var withoutXMLEscapes: String {
        let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&")]
        return String(
            names.reduce(String.UnicodeScalarView(unicodeScalars)) {
                $0.replacing($1.0.unicodeScalars, with: $1.1.unicodeScalars)
            })
    }
}
