import FoundationEssentials
import Synchronization

/// Encodes replies with their values of JSON as they were written, for which Foundation's encoder has neither long numbers nor an order.
///
/// Each value is encoded as a mark, a text that no caller knows. Its own text takes the place of the mark at the end.
package final class WrittenJSON: Sendable {
    private let secret = UUID().uuidString
    private let texts = Mutex<[[UInt8]]>([])

    fileprivate static var key: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "written-json") }

    /// The members of a reply are in the order of their keys.
    package static func encode(_ reply: some Encodable) throws -> [UInt8] {
        let written = WrittenJSON()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if let key { encoder.userInfo[key] = written }
        return written.filled(Array(try encoder.encode(reply)))
    }

    fileprivate func mark(_ value: JSONValue) -> String {
        texts.withLock { texts in
            texts.append(value.encoded)
            return "\(secret)-\(texts.count - 1)"
        }
    }

    private func filled(_ bytes: [UInt8]) -> [UInt8] {
        let texts = texts.withLock { $0 }
        guard !texts.isEmpty else { return bytes }
        let parts = bytes.split(separator: Array("\"\(secret)-".utf8), omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(into: Array(parts[0])) { filled, part in
            let place = part.prefix { $0 != UInt8(ascii: "\"") }
            if let place = Int(String(decoding: place, as: UTF8.self)) { filled += texts[place] }
            filled += part.dropFirst(place.count + 1)
        }
    }
}

extension JSONValue: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        guard let key = WrittenJSON.key, let written = encoder.userInfo[key] as? WrittenJSON else {
            throw EncodingError.invalidValue(
                self, .init(codingPath: encoder.codingPath, debugDescription: "JSON is written by WrittenJSON alone"))
        }
        try container.encode(written.mark(self))
    }
}
