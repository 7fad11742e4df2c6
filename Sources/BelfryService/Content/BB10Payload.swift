/// The payload for a BlackBerry 10 device: the sender's own text for this platform, or title and body. Data without a text are sent
/// as JSON.
///
/// Source: PCF Push API 1.6, `message.custom.bb10`.
package struct BB10Payload: Sendable, Hashable {
    package let bytes: [UInt8]

    package static let bytesMax = 8 * 1_024

    /// nil when the push has no text.
    package init?(_ content: Push.Content) throws(InvalidInput) {
        switch content.custom["bb10"] {
        case nil, .null, .string(""): bytes = content.text
        case .string(let text): bytes = Array(text.utf8)
        case let value?: throw InvalidInput(field: "message.custom.bb10", "has to be a string, it is \(value.typeName)")
        }
        guard !bytes.isEmpty else { return nil }
        guard bytes.count <= Self.bytesMax else {
            throw .tooLarge("a bb10", bytes: bytes.count, limit: Self.bytesMax)
        }
    }
}

extension Push.Content {
    /// The title and the body, each on a line of its own.
    fileprivate var text: [UInt8] {
        if shownTexts.isEmpty, !shared.data.isEmpty { return JSONValue.object(shared.data).encoded }
        return Array(shownTexts.joined(separator: "\n").utf8)
    }
}
