import FoundationEssentials

/// The part of a push that is the same for all devices.
public struct PAPMessage: Sendable, Hashable {
    public let content: [UInt8]
    public let contentType: String
    /// Unix seconds until which the gateway tries; nil leaves it to the gateway.
    public let deliverBefore: Int64?

    /// Source: BlackBerry, "Push Service SDK", content limits.
    public static let contentBytesMax = 8 * 1_024

    public init(
        content: [UInt8], contentType: String = "text/plain; charset=utf-8", deliverBefore: Int64? = nil
    ) throws(PAPError) {
        guard !content.isEmpty else { throw PAPError("content is empty") }
        guard content.count <= Self.contentBytesMax else {
            throw PAPError("content is \(content.count) bytes, the push service takes \(Self.contentBytesMax)")
        }
        guard contentType.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
            throw PAPError("content type holds other than visible ASCII")
        }
        self.content = content
        self.contentType = contentType
        self.deliverBefore = deliverBefore
    }

    /// The request for one device: the control entity, then the content. Source: WAP-247 PAP §7, §8.
    func body(for device: PAPDevice, from applicationID: String, boundary: String) -> [UInt8] {
        let before = deliverBefore.map { #" deliver-before-timestamp="\#(Self.timestamp($0))""# } ?? ""
        let control = """
            <?xml version="1.0"?>\r
            <!DOCTYPE pap PUBLIC "-//WAPFORUM//DTD PAP 2.1//EN" "http://www.openmobilealliance.org/tech/DTD/pap_2.1.dtd">\r
            <pap><push-message push-id="\(Self.escaped(device.pushID))" source-reference="\(Self.escaped(applicationID))"\(before)>\
            <address address-value="\(Self.escaped(device.address))"/>\
            <quality-of-service delivery-method="unconfirmed"/></push-message></pap>\r

            """
        var body = Array("--\(boundary)\r\nContent-Type: application/xml; charset=UTF-8\r\n\r\n\(control)".utf8)
        body += Array("--\(boundary)\r\nContent-Type: \(contentType)\r\n\r\n".utf8)
        body += content
        body += Array("\r\n--\(boundary)--\r\n".utf8)
        return body
    }

    /// `2026-01-01T00:00:00Z`. Source: RFC 3339 §5.6.
    private static func timestamp(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
    }
}

/// One device of a push.
public struct PAPDevice: Sendable, Hashable {
    /// A PIN or a token.
    public let address: String
    /// The id of this push's message to this device; the same when it is sent again.
    public let pushID: String

    public init(address: String, pushID: String) throws(PAPError) {
        guard !address.isEmpty, (address + pushID).utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
            throw PAPError("address is empty or holds other than visible ASCII")
        }
        // It would be sent to all devices. Source: BlackBerry, "Push Service SDK", broadcast pushes.
        guard address.lowercased() != "push_all" else { throw PAPError("address means every device") }
        self.address = address
        self.pushID = pushID
    }
}

/// Why something cannot be sent, detected beforehand.
public struct PAPError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
