/// The payload for a Windows Phone: the XML of a toast or a tile, or the app's own bytes.
///
/// Source: PCF Push API 1.6, "Custom fields for Windows Phone pushes"; Microsoft, "Toasts", "Tiles for Windows Phone".
package struct WindowsPhonePayload: Sendable, Hashable {
    package let kind: Kind
    package let bytes: [UInt8]

    package enum Kind: Sendable, Hashable, CaseIterable {
        case toast, tile, raw

        /// The limits that libraries for MPNS observed; they are no longer published.
        package var bytesMax: Int { self == .raw ? 1_024 : 3_072 }
    }

    /// nil when the push has nothing that a phone could show.
    package init?(_ content: Push.Content) throws(InvalidInput) {
        try WindowsTemplate.checkWindowsPhone(content)
        guard let custom = try content.members("windowsPhone") else {
            guard content.shownTexts.isEmpty else {
                try self.init(.toast, Self.toast(content, [:]))
                return
            }
            guard !content.shared.data.isEmpty else { return nil }
            try self.init(.raw, bytes: JSONValue.object(content.shared.data).encoded)
            return
        }
        let field = "message.custom.windowsPhone"
        let fields = try custom.members("template_fields", in: field)
        switch try custom.text("template", in: field) {
        case "raw": try self.init(.raw, bytes: JSONValue.object(fields).encoded)
        case "toast": try self.init(.toast, Self.toast(content, fields))
        case "tile": try self.init(.tile, Self.tile(nil, content.shownTexts.first, fields))
        case "flipTile": try self.init(.tile, Self.tile("FlipTile", content.shownTexts.first, fields))
        case "cycleTile": try self.init(.tile, Self.tile("CycleTile", content.shownTexts.first, fields))
        default: try self.init(.tile, Self.tile("IconicTile", content.shownTexts.first, fields))
        }
    }

    private init(_ kind: Kind, _ element: String) throws(InvalidInput) {
        try self.init(kind, bytes: Array(#"<?xml version="1.0" encoding="utf-8"?>\#(element)"#.utf8))
    }

    private init(_ kind: Kind, bytes: [UInt8]) throws(InvalidInput) {
        guard bytes.count <= kind.bytesMax else {
            throw .tooLarge("a windowsPhone", bytes: bytes.count, "MPNS takes", limit: kind.bytesMax)
        }
        self.kind = kind
        self.bytes = bytes
    }

    private static func toast(_ content: Push.Content, _ fields: JSONObject) -> String {
        let texts = content.shownTexts
        let parts = [
            ("wp:Text1", texts.first), ("wp:Text2", fields["subtitle"]?.plainText ?? texts.dropFirst().first),
            ("wp:Param", fields["parameter"]?.plainText ?? content.shared.query),
        ]
        return notification(XML.element("wp:Toast", [:], elements(parts)))
    }

    /// Elements are named like the fields, capitalized. The title is that of the push, or else its body.
    ///
    /// - Parameter template: nil for the flat tile of Windows Phone 7.
    private static func tile(_ template: String?, _ body: String?, _ fields: JSONObject) -> String {
        var parts: [(String, String?)] = []
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) where key != "tileId" {
            if case .array(let images) = value {
                parts += images.enumerated().map { ("wp:CycleImage\($0.offset + 1)", $0.element.plainText) }
            } else {
                parts.append(("wp:\(key.prefix(1).uppercased())\(key.dropFirst())", value.plainText))
            }
        }
        parts.append(("wp:Title", body))
        let tile = XML.element(
            "wp:Tile", ["Id": fields["tileId"]?.plainText, "Template": template], elements(parts))
        return notification(tile, version: template == nil ? nil : "2.0")
    }

    private static func elements(_ parts: [(String, String?)]) -> String {
        parts.compactMap { name, text in text.map { XML.element(name, [:], $0.xmlText) } }.joined()
    }

    private static func notification(_ inner: String, version: String? = nil) -> String {
        XML.element("wp:Notification", ["xmlns:wp": "WPNotification", "Version": version], inner)
    }
}

extension SharedFields {
    /// The query that the first page of the app is opened with: a phone opens no address of the web. Source: Microsoft, "Toasts for Windows
    /// Phone 8", `wp:Param`.
    fileprivate var query: String? {
        var values = data.filter { !$0.value.isNull }
        if values["link"] == nil { values["link"] = link.map(JSONValue.string) }
        let pairs = values.texts.map { "\($0.key.percentEncoded)=\($0.text.percentEncoded)" }
        return pairs.isEmpty ? nil : "?" + pairs.joined(separator: "&")
    }
}
