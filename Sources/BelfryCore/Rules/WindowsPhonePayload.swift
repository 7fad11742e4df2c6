/// The payload for a Windows Phone: the XML of a toast or a tile, or the app's own bytes.
///
/// Source: PCF Push API 1.6, "Custom fields for Windows Phone pushes"; Microsoft, "Toasts", "Tiles for Windows Phone".
package struct WindowsPhonePayload: Sendable, Hashable {
    package let kind: Kind
    package let bytes: [UInt8]

    package enum Kind: Sendable, Hashable, CaseIterable {
        case toast, tile, raw

        /// No longer published; the limits that libraries for MPNS observed.
        package var bytesMax: Int { self == .raw ? 1_024 : 3_072 }
    }

    /// nil when the push has nothing that a phone could show.
    package init?(_ content: Push.Content) throws(InvalidInput) {
        try WindowsTemplate.checkWindowsPhone(content)
        guard let custom = try content.members("windowsPhone") else {
            guard let body = content.body else { return nil }
            try self.init(.toast, Self.toast(body, [:]))
            return
        }
        let field = "message.custom.windowsPhone"
        let fields = try custom.members("template_fields", in: field)
        switch try custom.text("template", in: field) {
        case "raw": try self.init(.raw, bytes: JSONValue.object(fields).encoded)
        case "toast": try self.init(.toast, Self.toast(content.body, fields))
        case "tile": try self.init(.tile, Self.tile(nil, content.body, fields))
        case "flipTile": try self.init(.tile, Self.tile("FlipTile", content.body, fields))
        case "cycleTile": try self.init(.tile, Self.tile("CycleTile", content.body, fields))
        default: try self.init(.tile, Self.tile("IconicTile", content.body, fields))
        }
    }

    private init(_ kind: Kind, _ element: String) throws(InvalidInput) {
        try self.init(kind, bytes: Array(#"<?xml version="1.0" encoding="utf-8"?>\#(element)"#.utf8))
    }

    private init(_ kind: Kind, bytes: [UInt8]) throws(InvalidInput) {
        guard bytes.count <= kind.bytesMax else {
            throw InvalidInput(
                field: "message", "makes a windowsPhone payload of \(bytes.count) bytes, MPNS takes \(kind.bytesMax)")
        }
        self.kind = kind
        self.bytes = bytes
    }

    private static func toast(_ body: String?, _ fields: [String: JSONValue]) -> String {
        let parts = [
            ("wp:Text1", body), ("wp:Text2", fields["subtitle"]?.plainText),
            ("wp:Param", fields["parameter"]?.plainText),
        ]
        return notification(XML.element("wp:Toast", [:], elements(parts)))
    }

    /// Elements are named like the fields, capitalized. The body of the push is the title.
    ///
    /// - Parameter template: nil for the flat tile of Windows Phone 7.
    private static func tile(_ template: String?, _ body: String?, _ fields: [String: JSONValue]) -> String {
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
        parts.compactMap { name, text in text.map { XML.element(name, [:], $0.xml) } }.joined()
    }

    private static func notification(_ inner: String, version: String? = nil) -> String {
        XML.element("wp:Notification", ["xmlns:wp": "WPNotification", "Version": version], inner)
    }
}
