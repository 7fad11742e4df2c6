import CQrencode

/// A picture that a phone's camera reads.
package struct QRCode: Sendable {
    /// Modules on a side, with the quiet zone around them.
    package let size: Int
    /// The dark modules as the path of an SVG.
    package let path: String
    /// The text for screen readers.
    package let label: String

    /// Source: ISO/IEC 18004 §6.3.8.
    private static let quietZone = 4

    /// nil when the text is too long for any code, over 2,331 bytes.
    package init?(_ text: String, label: String) {
        guard let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M) else { return nil }
        defer { QRcode_free(code) }
        let width = Int(code.pointee.width)
        var path = ""
        for y in 0..<width {
            // The lowest bit says whether a module is dark.
            for x in 0..<width where code.pointee.data[y * width + x] & 1 == 1 {
                path += "M\(x + Self.quietZone) \(y + Self.quietZone)h1v1h-1z"
            }
        }
        size = width + 2 * Self.quietZone
        self.path = path
        self.label = label
    }
}
