/// The payload for a Windows 8 device: the XML of a toast, a tile or a badge, or the app's own bytes.
///
/// Source: PCF Push API 1.6, "Custom fields for Windows 8 pushes"; Microsoft, "Toast schema", "Tile schema", "Badge schema".
package struct Windows8Payload: Sendable, Hashable {
    package let kind: Kind
    package let bytes: [UInt8]

    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case toast, tile, badge, raw
    }

    package static let bytesMax = 5_000

    /// nil when the push has nothing that a Windows 8 device could show.
    package init?(_ content: Push.Content) throws(InvalidInput) {
        try WindowsTemplate.checkWindows8(content)
        let shared = content.shared
        guard let custom = try content.members("windows8") else {
            if content.shownTexts.isEmpty, !shared.data.isEmpty {
                try self.init(.raw, bytes: JSONValue.object(shared.data).encoded)
                return
            }
            guard let name = content.toastTemplate else { return nil }
            try self.init(
                .toast, Self.toast(name, content.toastFields([:], of: name), options: shared.toastOptions([:])))
            return
        }
        let field = "message.custom.windows8"
        let fields = try custom.members("template_fields", in: field)
        switch try custom.text("type", in: field) {
        case "raw": try self.init(.raw, bytes: JSONValue.object(fields).encoded)
        case "badge":
            guard let value = fields["badge_value_integer"] ?? fields["badge_value_string"] else { return nil }
            try self.init(.badge, XML.element("badge", ["value": value.plainText]))
        case "tile":
            let name = try custom.text("template_name", in: field)
            try self.init(.tile, XML.element("tile", [:], Self.visual(name, fields)))
        default:
            let name = try custom.text("template_name", in: field)
            let options = shared.toastOptions(try custom.members("options", in: field))
            try self.init(.toast, Self.toast(name, content.toastFields(fields, of: name), options: options))
        }
    }

    private init(_ kind: Kind, _ xml: String) throws(InvalidInput) {
        try self.init(kind, bytes: Array(#"<?xml version="1.0" encoding="utf-8"?>\#(xml)"#.utf8))
    }

    private init(_ kind: Kind, bytes: [UInt8]) throws(InvalidInput) {
        guard bytes.count <= Self.bytesMax else {
            throw .tooLarge("a windows8", bytes: bytes.count, "WNS takes", limit: Self.bytesMax)
        }
        self.kind = kind
        self.bytes = bytes
    }

    private static func toast(
        _ name: String, _ fields: JSONObject, options: JSONObject
    ) -> String {
        let audio = XML.element(
            "audio",
            [
                "src": options["audioSrc"]?.plainText, "loop": options["audioLoop"]?.plainText,
                "silent": options["audioSilent"]?.plainText,
            ])
        return XML.element(
            "toast", ["launch": options["launch"]?.plainText, "duration": options["duration"]?.plainText],
            visual(name, fields) + (audio == "<audio/>" ? "" : audio))
    }

    /// Images and texts are numbered from 1, each kind on its own.
    private static func visual(_ name: String, _ fields: JSONObject) -> String {
        func numbered(_ prefix: String) -> [(Int, String)] {
            fields.compactMap { key, value in
                guard key.hasPrefix(prefix), let number = Int(key.dropFirst(prefix.count)) else { return nil }
                return (number, value.plainText ?? "")
            }.sorted { $0.0 < $1.0 }
        }
        let images = numbered("imgSrc").map { XML.element("image", ["id": "\($0)", "src": $1]) }
        let texts = numbered("textField").map { XML.element("text", ["id": "\($0)"], $1.xmlText) }
        return XML.element(
            "visual", [:], XML.element("binding", ["template": name], (images + texts).joined()))
    }
}

extension Push.Content {
    /// The title and the text, without missing ones.
    var shownTexts: [String] { [shared.title, body].compactMap(\.self) }

    /// The template that has places for all that is shown; nil where nothing is. Source: Microsoft, "The toast template catalog".
    fileprivate var toastTemplate: String? {
        guard !shownTexts.isEmpty else { return nil }
        return "Toast\(shared.image == nil ? "" : "ImageAnd")Text\(shownTexts.count > 1 ? "02" : "01")"
    }

    /// The fields of a toast's template. Title, text and picture fill the places that the sender left empty.
    fileprivate func toastFields(_ fields: JSONObject, of name: String) -> JSONObject {
        let places = WindowsTemplate.toastPlaces(name)
        var fields = fields
        let texts = places.texts > 1 ? shownTexts : [body ?? shared.title].compactMap(\.self)
        for (index, text) in texts.enumerated() where fields["textField\(index + 1)"] == nil {
            fields["textField\(index + 1)"] = .string(text)
        }
        if places.images > 0, fields["imgSrc1"] == nil { fields["imgSrc1"] = shared.image.map(JSONValue.string) }
        return fields
    }
}

extension SharedFields {
    /// The options of a toast, with launch and sound where the sender's own part has none.
    fileprivate func toastOptions(_ options: JSONObject) -> JSONObject {
        guard !isEmpty else { return options }
        var options = options
        if options["launch"] == nil { options["launch"] = launch.map(JSONValue.string) }
        if options["audioSrc"] == nil { options["audioSrc"] = toastSound.map(JSONValue.string) }
        return options
    }

    /// The one text that an app gets when its toast is clicked: the link, or data as JSON with the link among them.
    private var launch: String? {
        guard !data.isEmpty else { return link }
        var members = data
        if members["link"] == nil { members["link"] = link.map(JSONValue.string) }
        return JSONValue.object(members).flat
    }

    /// Windows plays sounds of its own, by their names. Source: Microsoft, "Toast schema", `audio`.
    private var toastSound: String? {
        if sound == "default" { return "ms-winsoundevent:Notification.Default" }
        return sound.flatMap { $0.hasPrefix("ms-winsoundevent:") ? $0 : nil }
    }
}

extension JSONValue {
    /// A scalar in the form for XML; nil for null, arrays and objects.
    var plainText: String? {
        switch self {
        case .string(let text): text
        case .integer(let number): String(number)
        case .bool(let flag): String(flag)
        case .number(let number): wholeNumber.map { String($0) } ?? number.text
        case .null, .array, .object: nil
        }
    }
}
