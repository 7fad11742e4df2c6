package import FoundationEssentials

/// The payload for a service worker: a JSON object, the sender's own members with `body` and `receiptId`.
package struct WebPayload: Sendable, Hashable {
    package let bytes: [UInt8]

    /// The rest of 4,096 bytes after encryption. Source: RFC 8291 §4.
    package static let bytesMax = 3_993

    /// - Parameter receiptID: nil leaves it out.
    /// - Throws: `InvalidInput` when the sender's part is not an object, or the whole is too large.
    package init(_ content: Push.Content, receiptID: UUID?) throws(InvalidInput) {
        var members = try content.members("web") ?? [:]
        guard members["receiptId"] == nil else {
            throw InvalidInput(field: "message.custom.web.receiptId", "is reserved: the server writes it")
        }
        if members["body"] == nil, let body = content.body { members["body"] = .string(body) }
        if let receiptID { members["receiptId"] = .string(receiptID.lowercased) }
        bytes = JSONValue.object(members).encoded
        guard bytes.count <= Self.bytesMax else {
            throw InvalidInput(
                field: "message", "makes a web payload of \(bytes.count) bytes, Web Push takes \(Self.bytesMax)")
        }
    }
}
