/// A payload that was encoded once for all devices, with marks in place of the values that differ by device.
///
/// A mark passes through the encoders as text does. It carries a quotation mark, whose encoded form shows how a
/// device's text has to be escaped in its place, however deep JSON lies within JSON. U+FDD0 and U+FDD1 are no
/// characters; a text that has them anyway stays as it is. Source: Unicode, noncharacters.
package struct PayloadTemplate: Sendable {
    private var pieces: [Piece] = []
    private let placeholders: [Placeholder]
    private var literalBytes = 0
    /// The bytes of the marks in the data before its last encoding.
    private var innerMarkBytes = 0

    fileprivate enum Piece: Sendable {
        case bytes([UInt8])
        case placeholder(Int, Escape, isPage: Bool)
        case badge
    }

    fileprivate enum Escape: Sendable {
        case none
        /// Within this many nested strings of JSON.
        case json(Int)
        case xml
    }

    private static let opening: [UInt8] = [0xEF, 0xB7, 0x90]
    private static let closing: [UInt8] = [0xEF, 0xB7, 0x91]

    static func mark(_ index: Int) -> String { mark("\(index)") }
    /// The mark of the badge, as a text; the number has no quotes.
    package static let badgeMark = mark("n")
    /// The mark of a link that begins with one, for a place that takes pages only: where the text is none, it is the site's root.
    static func pageMark(_ link: String) -> String? {
        guard link.utf8.starts(with: opening) else { return nil }
        return String(decoding: opening + Array("p".utf8) + Array(link.utf8.dropFirst(opening.count)), as: UTF8.self)
    }

    private static func mark(_ name: String) -> String {
        String(decoding: opening + Array("\(name)\"".utf8) + closing, as: UTF8.self)
    }

    /// - Parameter payload: rendered from `ContentTemplate.content`.
    package init(_ payload: [UInt8], _ template: ContentTemplate) {
        placeholders = template.placeholders
        var start = 0
        var index = 0
        while index + 6 < payload.count {
            guard payload[index] == 0xEF, let mark = Mark(payload, at: index, count: placeholders.count) else {
                index += 1
                continue
            }
            // The number takes the place of the text and its quotes.
            append(payload[start..<index - mark.quotes])
            pieces.append(mark.index.map { .placeholder($0, mark.escape, isPage: mark.isPage) } ?? .badge)
            innerMarkBytes += mark.innerBytes
            index = mark.end + mark.quotes
            start = index
        }
        append(payload[start...])
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) {
        guard !bytes.isEmpty else { return }
        literalBytes += bytes.count
        pieces.append(.bytes(Array(bytes)))
    }

    /// Whether all devices get the same payload.
    package var isConstant: Bool { pieces.count <= 1 && literalBytes > 0 }

    /// The payload of a device; nil where it would be longer.
    package func payload(for filling: PersonalizedValues, bytesMax: Int) -> [UInt8]? {
        let texts = placeholders.map { filling.text(of: $0) }
        var payload: [UInt8] = []
        payload.reserveCapacity(literalBytes + 64)
        for piece in pieces {
            switch piece {
            case .bytes(let bytes): payload += bytes
            case .badge: payload += String(filling.badge).utf8
            case .placeholder(let index, let escape, let isPage):
                payload.append(isPage && !texts[index].isPage ? "/" : texts[index], escape)
            }
            guard payload.count <= bytesMax else { return nil }
        }
        return payload
    }

    /// The bytes of the data of a device before the last encoding, such as the values of a map of texts.
    ///
    /// - Parameter marked: the bytes of the data with marks.
    package func innerBytes(of marked: Int, for filling: PersonalizedValues) -> Int {
        var bytes = marked - innerMarkBytes
        for piece in pieces {
            switch piece {
            case .bytes: continue
            case .badge: bytes += String(filling.badge).utf8.count
            case .placeholder(let index, let escape, _):
                var text: [UInt8] = []
                text.append(filling.text(of: placeholders[index]), escape.inner)
                bytes += text.count
            }
        }
        return bytes
    }

    private struct Mark {
        /// nil for the badge.
        let index: Int?
        let isPage: Bool
        /// The quotes on either side that go with it.
        let quotes: Int
        let escape: Escape
        /// The index behind the mark.
        let end: Int
        let innerBytes: Int

        /// nil where there is none.
        init?(_ payload: [UInt8], at start: Int, count: Int) {
            guard payload[start...].starts(with: PayloadTemplate.opening) else { return nil }
            var place = start + 3
            var number = 0
            let isBadge = payload[place] == UInt8(ascii: "n")
            isPage = payload[place] == UInt8(ascii: "p")
            if isBadge || isPage { place += 1 }
            while !isBadge, place < payload.count, place < start + 6, 0x30...0x39 ~= payload[place] {
                number = number * 10 + Int(payload[place] - 0x30)
                place += 1
            }
            let name = place - start - 3
            guard name > (isPage ? 1 : 0), let quote = Self.quote(in: payload, at: place) else { return nil }
            guard payload[(place + quote.bytes)...].starts(with: PayloadTemplate.closing) else { return nil }
            end = place + quote.bytes + 3
            escape = quote.escape
            innerBytes = 6 + name + quote.innerBytes
            if isBadge {
                guard case .json(1) = escape, start > 0, payload[start - 1] == 0x22, end < payload.count,
                    payload[end] == 0x22
                else { return nil }
                (index, quotes) = (nil, 1)
            } else {
                guard number < count else { return nil }
                (index, quotes) = (number, 0)
            }
        }

        /// Finds how the quotation mark at a place was escaped, and its length in bytes after and before the last encoding.
        private static func quote(
            in payload: [UInt8], at place: Int
        ) -> (escape: Escape, bytes: Int, innerBytes: Int)? {
            let rest = payload[place...].prefix(8)
            if rest.first == 0x22 { return (.none, 1, 1) }
            if rest.starts(with: "&quot;".utf8) { return (.xml, 6, 1) }
            if rest.starts(with: #"\""#.utf8) { return (.json(1), 2, 1) }
            if rest.starts(with: #"\\\""#.utf8) { return (.json(2), 4, 2) }
            if rest.starts(with: #"\\\\\\\""#.utf8) { return (.json(3), 8, 4) }
            return nil
        }
    }
}

extension PayloadTemplate.Escape {
    /// The escape before the last encoding.
    fileprivate var inner: Self {
        if case .json(let depth) = self, depth > 1 { .json(depth - 1) } else { .none }
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: String, _ escape: PayloadTemplate.Escape) {
        switch escape {
        case .none: self += text.utf8
        case .xml: self += text.xmlAttribute.utf8
        case .json(let depth): append(jsonText: Array(text.utf8), depth: depth)
        }
    }

    private mutating func append(jsonText text: [UInt8], depth: Int) {
        guard depth > 1 else { return append(jsonEscaped: text) }
        var inner: [UInt8] = []
        inner.append(jsonEscaped: text)
        append(jsonText: inner, depth: depth - 1)
    }
}

/// A content whose texts have marks in place of their placeholders, ready to be rendered.
package struct ContentTemplate: Sendable {
    package let content: Push.Content
    let placeholders: [Placeholder]

    /// nil where all devices get the same.
    package init?(_ content: Push.Content) throws(InvalidInput) {
        guard content.isPersonal else { return nil }
        placeholders = try content.placeholders()
        let places = Dictionary(uniqueKeysWithValues: placeholders.enumerated().map { ($1, $0) })
        self.content = try content.replacingPlaceholders { $0.textForAll ?? PayloadTemplate.mark(places[$0] ?? 0) }
    }
}

extension Placeholder {
    /// The text of a value of the message itself, which all devices get alike.
    fileprivate var textForAll: String? {
        switch source {
        case .text, .value:
            form?.isInZone == true ? nil : PersonalizedValues(PersonalizedValues.Values()).text(of: self)
        default: nil
        }
    }
}
